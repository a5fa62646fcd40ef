"""Questions of pages about a corpus: every one is bounded, read-only, and found by an index.

One module per question; `reading.py` has what they share. `browsing.py` hands them on.
"""
