"""The programs that are measured, one per file. Each runs alone in its process and prints one line of JSON.

`work` is the time of the call that matters, with everything imported and the model loaded.
"""
