"""UCTopic (ACL 2022): vectors of phrases in their context."""

from indexer.errors import TRAINING, require

require(*TRAINING, extra="train", purpose="Training")
