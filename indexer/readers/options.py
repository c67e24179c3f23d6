"""What a user may say about the files to read."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.errors import QueryError

_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class ReadOptions:
    """Names of fields and limits. An empty name means the usual ones, see `indexer.readers.fields`."""

    text_field: str = ""  # several, separated by commas, are joined by a blank line
    title_field: str = ""
    id_field: str = ""
    delimiter: str = ""  # of CSV; empty = tab for .tsv, else found in the first line
    max_bytes: int = 10_000_000  # title and text of one document, as UTF-8
    seconds: float = 60.0  # for a file that is one document

    def __post_init__(self) -> None:
        delimiter = _DELIMITER_NAMES.get(self.delimiter, self.delimiter)
        if len(delimiter) > 1 or delimiter in {"\n", "\r", '"'}:
            raise QueryError(f"The delimiter is {self.delimiter!r}; it must be one character, or 'tab'.")
        if self.max_bytes < 1:
            raise QueryError(f"max_bytes is {self.max_bytes}; it must be at least 1.")
        object.__setattr__(self, "delimiter", delimiter)

    @property
    def longest_line(self) -> int:
        """Bytes of one line or page that may be held: escapes, tags and other fields need room too."""
        return max(4 * self.max_bytes, 1_000_000)
