"""SEKE (2022): keyphrases by attention received and by nearness to their text."""

from indexer.errors import TRAINING, require

require(*TRAINING, extra="train", purpose="Training")
