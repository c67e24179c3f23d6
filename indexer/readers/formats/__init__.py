"""One file for each format. A module here is a reader as soon as it declares:

SUFFIXES          names of its files end in these, without the dot; a final .gz is not counted
parse or read     parse(file, options) -> Page, where a file is one document (see `indexer.readers.single`);
                  read(file, options) -> Iterator[Document | InputError], where it holds records
MAGIC             optional: the first bytes of such a file; an upload that begins otherwise is refused
HEADER_LINES      optional: lines that are not records, for estimates

Libraries of a format are imported inside its functions. Nothing else has to be changed for a new format.
"""
