"""Read tables of articles with Spark; needs the extra `spark`."""

from dedup.base.extras import of_extra

with of_extra("dedup.spark", "spark"):
    from dedup.extras.spark.reading import read_table

__all__ = ["read_table"]
