"""Contrastive keyphrase extraction (SEKE 2022): how phrases weigh against their text."""
