"""UCTopic (ACL 2022): vectors of phrases in context, and CCL, its fine-tuning on a collection's own clusters."""
