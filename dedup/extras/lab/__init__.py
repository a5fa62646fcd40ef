"""The lab, the extra `lab`: every method of the field on the user's own articles, and a truth.

Nothing but its own commands imports it. What people say of pairs is kept by `dedup.extras.judging`.
"""
