"""Phrase-BERT (EMNLP 2021): vectors of phrases that stand alone."""
