"""`indexer retrain`: adapt the encoder to a collection, judge it, and switch to it only if it is better.

opening        `open_retrainer`: from the settings to a `Retrainer`
run            all steps, each of which can be resumed
snapshot       documents of the collection, written to a file, so that a run can be repeated
candidates     encoders that are trained on the snapshot
probe          texts that no training sees, the same ones each night
measure        metrics of an encoder on the probe; ground_truth: on the user's labelled examples
judge, gate    the old and the new encoder compared: better, and nothing worse than its limit
prune          removes generations and encoders that are no longer needed

Documents come from the engine; a new generation goes to the engine, its bundle to the home. Imported by
indexer.collection, indexer.cli, indexer.web and workers.
"""
