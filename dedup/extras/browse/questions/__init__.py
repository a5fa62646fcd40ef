"""Answer questions of pages about a corpus: read-only, bounded and through indexes. See `browsing.py`."""
