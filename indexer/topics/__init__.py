"""Topics: what the product is about. Fit, permanent ids, labels, explanations.

models/     the topic models, one file each, and their registry: a sample of phrases in, a `TopicFit` out
fits        a fit as the catalog stores it, with the permanent ids of its topics
lineage     which new topic continues which old one     labels     readable names from typical phrases
history     how users address a topic, its past         explain    why a document has its topics
drift       are new documents unlike the old ones?      map        topics as circles in a plane

In: arrays of vectors, rows of the engine, fits of the catalog. Out: records, which `pipeline` writes.
Imported by `indexer.pipeline`, `indexer.search` and everything above them.
"""
