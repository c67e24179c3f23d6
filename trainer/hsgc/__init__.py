"""HS-GC (LREC-COLING 2024): document vectors that fall into clusters."""

from indexer.errors import TRAINING, require

require(*TRAINING, extra="train", purpose="Training")
