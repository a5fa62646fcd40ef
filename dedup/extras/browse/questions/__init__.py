"""Questions of pages about a corpus: bounded, read-only, answered by indexes. `browsing.py` lists them."""
