"""Tables that compare what this program does with what was published, one file per table."""
