"""Text to sentences and candidate phrases, with offsets into the original text."""

from indexer.text.normal_forms import normal_form, stemmed
from indexer.text.prepare import Preparer

__all__ = ["Preparer", "normal_form", "stemmed"]
