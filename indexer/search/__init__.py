"""Search: a query string in, ranked documents with facets and highlights out.

query       the query string and filters, parsed        search     words, meaning, or both; paging
fusion      convex combination of two rankings          facets     counts over all matches
timeline    documents over time, filters by date        fields     which of the user's fields are filters or dates
related     similar documents, near topics              trends     which topics grow
results     what a search returns                       reasons    which phrases explain a hit
diversity   maximal marginal relevance, first hits      passages    the sentence nearest to the query
closeness   whether anything is near at all             spelling    words that no document has, corrected
completion  what a query that is being typed may become

In: an `Engine` and, for search by meaning, an `Encoder`. Out: `SearchResults`. Nothing here writes.
Imported by `indexer.collection`, `indexer.export`, `indexer.web`, `indexer.cli` and `trainer.evaluation`.
"""
