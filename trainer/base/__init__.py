"""What the recipes share: the loop, losses, checkpoints, and texts to learn from."""

from indexer.errors import TRAINING, require

require(*TRAINING, extra="train", purpose="Training")
