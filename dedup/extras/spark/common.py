"""The common sentences by aggregation (docs/semantics.md, section 2): no list of carriers is gathered.

Carriers and agreeing pairs are counted by Spark in whole numbers, each node with the weight of its class.
`rules.common` decides and divides, in Python, so that the floats are those of every engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from dedup.base.settings import Settings
from dedup.extras.spark.schema import COMMON, columns
from dedup.rules.common import effective_stories, is_common


def common(nodes: DataFrame, settings: Settings, pins: Mapping[int, bool]) -> DataFrame:
    """Schema `COMMON`. `pins`: sentence hash to whether the sentence is always or never common."""
    carried = nodes.select("weight", "buckets", fn.explode("sentence_hashes").alias("sentence"))
    counted = carried.groupBy("sentence").agg(fn.sum("weight").alias("carriers"))
    many = fn.col("carriers") > settings.common_stories
    if pins:
        said = nodes.sparkSession.createDataFrame(list(pins.items()), "sentence long, always boolean")
        counted = counted.join(said, "sentence", "full").where("coalesce(always, true)")
        counted = counted.where(many | fn.col("always"))
        counted = counted.withColumn("carriers", fn.coalesce("carriers", fn.lit(0)))
    else:
        counted = counted.where(many).withColumn("always", fn.lit(None).cast("boolean"))
    banded = carried.join(counted.select("sentence"), "sentence").select(
        "sentence", "weight", fn.posexplode("buckets").alias("band", "bucket")
    )
    # In decimals: n (n - 1) fits into a long, but not the sum over the bands of ten billion carriers.
    alike = banded.groupBy("sentence", "band", "bucket").agg(
        fn.sum("weight").cast("decimal(18,0)").alias("n")
    )
    pairs = alike.groupBy("sentence").agg(fn.sum(fn.col("n") * (fn.col("n") - 1)).alias("pairs"))
    judged = partial(_judged, bands=settings.buckets, limit=settings.common_stories)
    found = counted.join(pairs, "sentence", "left")
    return found.select(
        "sentence", "carriers", fn.coalesce("pairs", fn.lit(0)).cast("decimal(38,0)").alias("pairs"), "always"
    ).mapInArrow(judged, COMMON)


def _judged(batches: Iterator[pa.RecordBatch], bands: int, limit: int) -> Iterator[pa.RecordBatch]:
    """Those that are common, from (sentence, carriers, agreeing pairs, whether it is pinned)."""
    for batch in batches:
        found: list[tuple[int, int, float]] = []
        for sentence, carriers, pairs, always in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            if always or is_common(carriers, int(pairs), bands, limit):
                found.append((sentence, carriers, effective_stories(carriers, int(pairs), bands)))
        types = (pa.int64(), pa.int64(), pa.float64())
        arrays = [pa.array([row[i] for row in found], kind) for i, kind in enumerate(types)]
        yield pa.RecordBatch.from_arrays(arrays, columns(COMMON))
