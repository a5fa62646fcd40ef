"""Read what pages show of a corpus: a limited number of rows, through indexes. See `browsing.py`."""
