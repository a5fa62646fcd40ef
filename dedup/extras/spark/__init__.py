"""The same marks on Spark, for corpora that one machine is too small for; `dedup.spark` has the public names.

Executors import only modules that need no database: none of `postgres/`, none of `commands/`.
"""
