"""Evaluation of encoders, topics and search in tables with published figures, one file per task."""
