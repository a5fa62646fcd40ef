"""Pairs chosen for people to judge (`sampling`), and what follows: `estimate`, `tuning`, `judgements`.

`truth` holds the marks against a file of known duplicates. `dedup.extras.judging.storing` keeps the
answers; other methods than dedup's own are the lab's matter.
"""
