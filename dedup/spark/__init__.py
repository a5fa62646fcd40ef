"""Find duplicates with Spark in a corpus too large for one machine (docs/spark.md); needs the extra `spark`.

    from dedup.spark import deduplicate

    result = deduplicate(df, work="s3://bucket/work")

The result has the tables `marks`, `matches`, `common_sentences`, `fingerprints` and `refused`, and `report`.
"""

from dedup.base.extras import of_extra

with of_extra("dedup.spark", "spark"):
    from dedup.extras.spark.engine import deduplicate
    from dedup.extras.spark.options import Options, Pins
    from dedup.extras.spark.results import Result

__all__ = ["Options", "Pins", "Result", "deduplicate"]
