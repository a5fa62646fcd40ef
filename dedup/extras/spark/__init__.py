"""Marks computed on Spark, for a corpus too large for one machine. `dedup.spark` exports the public names.

Executors have no database, so the modules that executors run import nothing from `postgres/` or `commands/`.
"""
