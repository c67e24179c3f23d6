"""SimCKP (EMNLP Findings 2023): contrastive ranking of keyphrases, present and absent."""
