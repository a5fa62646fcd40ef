"""Marks made on Spark, for a corpus too large for one machine; `dedup.spark` has the public names.

Executors import only modules that need no database, so nothing from `postgres/` or `commands/`.
"""
