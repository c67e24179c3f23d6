"""SimCKP (EMNLP Findings 2023): contrastive ranking of keyphrases, present and absent."""

from indexer.errors import TRAINING, require

require(*TRAINING, extra="train", purpose="Training")
