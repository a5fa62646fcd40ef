"""What pages ask of a corpus: every question is bounded, read-only, and found by an index.

One module per question; `reading.py` has what they share. The door to them is `dedup/api/browsing.py`.
"""
