"""Marks made on Spark, for a corpus too large for one machine; `dedup.spark` has the public names.

Executors import only modules without a database: nothing of `postgres/` or `commands/`.
"""
