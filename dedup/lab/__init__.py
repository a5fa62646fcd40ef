"""The lab: every method of the field on the user's own articles, judged by people (extra `dedup[lab]`).

The core does not import it. Read next: `documents.py`.
"""
