"""Training: texts or an indexed collection in, a bundle out.

base/        what all recipes share: corpus, pairs, losses, loop, checkpoints
uctopic/ phrase_bert/ seke/ hsgc/ simckp/   one folder per paper; papers do not import each other
retrain/     adapt the encoder of a collection, measure it, switch or refuse
evaluation/  the tables of the papers, measured here

Imported by workers, collection, web and cli. Needs the extra `train`, except `evaluation` and the decisions of `retrain`.
"""
