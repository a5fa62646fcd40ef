"""The HTTP door, for scrapers in other languages: the extra `serve`.

It stands before the Python API: every answer is that of a `Deduplicator`, as JSON.
"""
