"""Keyphrases of one document: candidate phrases with vectors in, the best ones with scores out.

scoring     similarity and attention without training (SEKE 2022): the default
ranker      a learned ranker, when the bundle has one (SimCKP)
absent      keyphrases that fit a document and do not occur in it

In: mention vectors, attention and positions as arrays. Out: `Keyphrase` records. Nothing here reads or writes an engine.
Imported by `indexer.pipeline`, `models` (which load a ranker) and everything above them.
"""
