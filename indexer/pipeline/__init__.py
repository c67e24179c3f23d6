"""The pipeline: from stored documents to keyphrases, topics and vectors, in steps that may each run twice.

run               one run on one machine: store, prepare, encode, decide, write
steps             the steps for one chunk of documents; workers call the same ones
windows           documents cut into windows that an encoder takes whole
duplicates        near duplicates among the mined documents
finalize          the end of a run: topics, final keyphrases, phrase rows, labels
next_generation   a second set of rows, mined with another encoder, and the switch to it
drift_check       how far a collection has moved since its topics were fitted
metrics           counters and timers for Prometheus

In: documents from `readers` (through `runs`), an `Encoder`. Out: rows in the engine, states in the catalog.
Imported by `indexer.runs`, `trainer.retrain`, `workers`, `indexer.collection`.
"""
