"""The lab, the extra `lab`: methods of the field on your own articles, compared with a truth.

Only its own commands import it. `dedup.extras.judging` keeps the judgements of pairs.
"""
