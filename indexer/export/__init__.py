"""Results as text and files, for people and programs.

serialize   records as plain data: the names in --json and in the API
formatting  numbers, times and events in words          tables     CSV, JSON Lines and Parquet, row by row
parquet     typed columns (needs pyarrow)

In: records of `search` and `topics`. Out: dicts, strings, files. Imported by collection, web and cli.
"""
