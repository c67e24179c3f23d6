"""`indexer retrain`: adapt the encoder to a collection, judge it, and let it take over only if it is better.

snapshot    documents of the collection, written down, so that the run can be repeated
probe       texts that no training sees, the same ones each night
measure     what an encoder makes of the probe
gate        old beside new: better, and nothing worse than its limit
"""
