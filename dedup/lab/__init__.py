"""The lab: every method of the field on the user's own articles, held against a truth (extra `newsdedup[lab]`).

Nothing but its own commands and `dedup judge pairs` imports it. What people say of pairs is `dedup.judging`.
"""
