"""The cost of a run, estimated before pairs are compared: texts, keys, pairs, and the keys with most pairs.

An estimate makes and groups fingerprints, at a cost in proportion to the number of articles. It compares no
pairs, because the number of pairs can be many times as large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.extras.spark.engine import GroupedCorpus, grouped
from dedup.extras.spark.fingerprinting import Taken, take
from dedup.extras.spark.options import CorpusState, Options
from dedup.extras.spark.options import head as head_of
from dedup.extras.spark.reading import configured
from dedup.extras.spark.rounds import histogram_of, key_sizes
from dedup.extras.spark.schema import KIND_NAMES
from dedup.extras.spark.steps import Told

KEYS_SHOWN = 10  # number of keys that an estimate lists: the keys with most pairs
PAIR_BYTES = 48  # bytes of a pair in a shuffle: two ids, two packed counts, the kind of the pair's key

SEED = 1  # fixed, so that the same input gives the same sample


@dataclass(slots=True)
class WorstKey(Answer):
    """A key that many texts share.

    Attributes:
        kind: sentence, bucket, content or pinned pair.
        key: hash of the sentence, bucket or content, or number of the pinned pair.
        texts: different texts with the key.
        source_id: source_id of the earliest article with the key.
    """

    kind: str
    key: int
    texts: int
    pairs: int
    source_id: str


@dataclass(slots=True)
class WorkEstimate(Answer):
    """The expected work of a run. Numbers from a sample are scaled up, except `common`, `keys` and `head`.

    Attributes:
        sample: share of the input that was read; 1 for all of it.
        articles: readable articles.
        texts: different texts.
        common: common sentences, which make no pairs.
        keys: keys that several texts share.
        pairs: pairs of texts that share a key, counted once for each shared key.
        head: maximum number of earliest texts of each key that the first round compares.
        first_round: pairs of the first round, counted as in `pairs`.
        step_bytes: stored size of the steps before the first round.
        pair_bytes: size of the pairs of the first round, before compression.
        worst: keys with most pairs first; their `texts` are not scaled.
        report: counts of refused and repaired rows.
    """

    sample: float
    articles: int
    texts: int
    common: int
    keys: int
    pairs: int
    head: int
    first_round: int
    step_bytes: int
    pair_bytes: int
    worst: list[WorstKey] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)


def estimate(
    df: DataFrame,
    *,
    work: str,
    corpus: CorpusState | None = None,
    options: Options | None = None,
    mapping: Mapping[str, str] | None = None,
    added_at: datetime | None = None,
    sample: float = 1.0,
    told: Told | None = None,
) -> WorkEstimate:
    """Estimate the work of `deduplicate` with the same arguments.

    Args:
        work: a folder for the estimate alone, not the folder of a run.
        sample: the share of the articles that is read. A small share misses keys that few texts share.

    Raises:
        InputError: columns are missing or of a wrong type, or `sample` is out of range.
    """
    if not 0 < sample <= 1:
        raise InputError(f"a sample is a share above 0 and at most 1, not {sample}")
    corpus, options = corpus or CorpusState(), options or Options()
    if sample < 1:
        df = df.sample(fraction=sample, seed=SEED)
    with configured(df.sparkSession, options.configuration()):
        taken = take(
            df, corpus, options, work=work, mapping=mapping, added_at=added_at, told=told, sample=sample
        )
        return _estimated(taken, corpus, options, sample)


def _estimated(taken: Taken, corpus: CorpusState, options: Options, sample: float) -> WorkEstimate:
    steps = taken.steps
    found = grouped(taken, corpus, options)
    sizes = steps.table("sizes", lambda: key_sizes(found.groups))
    histogram = histogram_of(sizes)
    texts, share = steps.rows("nodes"), 1 / sample
    head = head_of(histogram, options.head_minimum, options.budget_for(texts))
    # Pairs grow with the square of the share, because both articles of a pair must be in the sample.
    pairs = _pairs(histogram, max(histogram, default=0)) * share**2
    first = _pairs(histogram, head) * share**2
    return WorkEstimate(
        sample=sample,
        articles=round(steps.rows("order") * share),
        texts=round(texts * share),
        common=steps.rows("common"),
        keys=sum(histogram.values()),
        pairs=round(pairs),
        head=head,
        first_round=round(first),
        step_bytes=round(sum(steps.sizes().values()) * share),
        pair_bytes=round(first * PAIR_BYTES),
        worst=_worst(found, sizes, share),
        report=taken.about["input"],
    )


def _pairs(histogram: Mapping[int, int], head: int) -> int:
    return sum(keys * (min(nodes, head) * (min(nodes, head) - 1) // 2) for nodes, keys in histogram.items())


def _worst(found: GroupedCorpus, sizes: DataFrame, share: float) -> list[WorstKey]:
    top = sizes.orderBy(fn.desc("nodes"), "kind", "key").limit(KEYS_SHOWN)
    first = found.groups.join(fn.broadcast(top), ["kind", "key"]).where("place = 1")
    named = found.articles.select(fn.col("id").alias("node"), "source_id")
    rows = first.join(named, "node").select("kind", "key", "nodes", "source_id").collect()
    worst = []
    for row in sorted(rows, key=lambda row: (-row.nodes, row.kind, row.key)):
        pairs = round(row.nodes * (row.nodes - 1) // 2 * share**2)
        worst.append(WorstKey(KIND_NAMES[row.kind], row.key, row.nodes, pairs, row.source_id))
    return worst
