"""Phrase-BERT (EMNLP 2021): vectors of phrases alone."""

from indexer.errors import TRAINING, require

require(*TRAINING, extra="train", purpose="Training")
