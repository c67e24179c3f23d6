"""Train the small English tagger that ships in `indexer/text/tagger` (UD English EWT, CC BY-SA 4.0).

    python -m tools.tagger --treebank FOLDER --raw abstracts.jsonl.gz --out indexer/text/tagger

FOLDER holds `ewt-train.conllu.gz`, `ewt-dev.conllu.gz` and `ewt-test.conllu.gz`. The result is a spaCy
pipeline: one shared tok2vec, a tagger (Penn Treebank tags) and a senter. One core is enough.

The treebank is 200,000 words of blogs, mails and reviews; what people index is something else. So every word also gets
a vector, counted in raw text of the kind that is wanted (`--raw`): words with the same neighbours get the same tags. That
is worth more than a larger network: 0.4 points of accuracy on the treebank, and 1.5 points more keyphrases among
the candidates of scientific abstracts.

A share of the training text is rewritten on the fly, because what people index is not written like a
treebank: titles in Title Case, forum posts all in lower case, headings without a full stop.
"""
