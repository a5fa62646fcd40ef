"""Parameters of a run on Spark: the state of the corpus, and options that change no mark."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.spark import failures
from dedup.extras.spark.exchange import CORPUS_FILE, Basis, pins_digest
from dedup.extras.spark.schema import FINGERPRINT
from dedup.rules.pair import Relation
from dedup.text.punkt import PunktModel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Minimum of the head (see `rounds.py`): most edited copies of a story are duplicates of its first few texts.
HEAD_MINIMUM = 16

# Maximum number of pairs of a round, per row of the table `groups`, if the head is above the minimum. The
# table has a row per key and node. With a head of 16, a key of n nodes has at most min(n, 16)^2 / 2 pairs, so
# a round has at most 8 pairs per row.
PAIRS_PER_ENTRY = 8

# Maximum number of pairs of duplicates that one task decides: 32 MB of numbers, and about two seconds.
EDGES_IN_ONE_TASK = 2_000_000

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class Pins:
    """Pins of pairs and sentences (docs/semantics.md, sections 2 and 4).

    Raises:
        InputError: a pair names one article twice, or has two relations.

    Attributes:
        pairs: relation of each pair of source_ids; without effect if an article is not in the corpus.
        sentences: pins of sentences by the sentences' hashes: True (always common) or False (never common).
    """

    pairs: Mapping[tuple[str, str], Relation] = field(default_factory=dict)
    sentences: Mapping[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ordered: dict[tuple[str, str], Relation] = {}
        for (one, other), relation in self.pairs.items():
            if one == other:
                raise InputError(f"a pin needs two articles, not {one!r} and itself")
            pair = (min(one, other), max(one, other))
            if ordered.setdefault(pair, Relation(relation)) != relation:
                raise InputError(f"the pair {pair[0]!r}, {pair[1]!r} is pinned in two ways")
        object.__setattr__(self, "pairs", ordered)


@dataclass(frozen=True, slots=True)
class CorpusState:
    """Parameters that marks depend on besides the articles of the input."""

    settings: Settings = field(default_factory=Settings)
    pins: Pins = field(default_factory=Pins)
    models: Mapping[str, PunktModel] = field(default_factory=dict)  # by language, besides English
    known: DataFrame | None = None  # fingerprints of earlier runs or an export
    horizon: int | None = None  # articles before this time are refused; microseconds since 1970, UTC

    @classmethod
    def read(cls, spark: SparkSession, folder: str, hash_key: str = "") -> CorpusState:
        """Read a folder of `dedup export corpus`, at any URL that Spark can read.

        `hash_key` is needed if the corpus has a hash key and the folder does not hold it. Raises InputError:
        the folder is incomplete, the hash key is missing or wrong, or the program that exported differs from
        this program.
        """
        folder = folder.rstrip("/")
        try:
            about = _json(spark, f"{folder}/{CORPUS_FILE}")[0]
            basis = Basis.read(about, f"{folder}/{CORPUS_FILE}")
            files = _json(spark, f"{folder}/models/*.json") if basis.models else []
            models = {found["language"]: PunktModel.from_files(found) for found in files}
            pairs = {
                (row.source_id, row.other_source_id): Relation(row.relation)
                for row in spark.read.parquet(f"{folder}/pair_pin.parquet").collect()
            }
            sentences = {
                row.sentence_hash: row.common
                for row in spark.read.parquet(f"{folder}/sentence_pin.parquet").collect()
            }
            known = spark.read.schema(FINGERPRINT).parquet(f"{folder}/fingerprint")
        except failures.kinds() as error:
            raise InputError(
                f"{folder} cannot be read ({failures.named(error)}); give a whole folder of"
                " `dedup export corpus`"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder} is damaged ({type(error).__name__}); export the corpus again"
            ) from None
        key = about.get("hash_key") or hash_key
        if basis.hash_key_digest and not key:
            raise InputError(
                f"the corpus of {folder} has a hash key: give the key, or export with --include-hash-key"
            )
        settings = Settings(**{**basis.settings, "hash_key": key})
        corpus = cls(settings, Pins(pairs, sentences), models, known, basis.horizon)
        if differences := basis.differences(corpus.basis()):
            raise InputError(f"{folder} does not agree with this program: {'; '.join(differences)}")
        return corpus

    def basis(self) -> Basis:
        checksums = {language: model.checksum for language, model in self.models.items()}
        digest = pins_digest(self.pins.pairs, self.pins.sentences)
        return Basis.of(self.settings, checksums, digest, self.horizon)


@dataclass(frozen=True, slots=True)
class Options:
    """Options that divide the work and never change a result. Raises InputError: a number is out of range.

    Attributes:
        head_minimum: a round compares at least this number of nodes per key with each other.
        budget: maximum pairs of a round whose head is above the minimum; None: `budget_for`.
        collapse: treat articles with equal fingerprints as one.
        partitions: partitions of shuffled data; None: the session's number.
        edges_in_one_task: above this number of pairs, executors share the decisions.
        allow_pairs: a round with more pairs raises an error; None: no limit.
    """

    head_minimum: int = HEAD_MINIMUM
    budget: int | None = None
    collapse: bool = True
    partitions: int | None = None
    edges_in_one_task: int = EDGES_IN_ONE_TASK
    allow_pairs: int | None = None

    def __post_init__(self) -> None:
        for name in ("head_minimum", "budget", "partitions", "edges_in_one_task", "allow_pairs"):
            value, low = getattr(self, name), int(name in ("head_minimum", "partitions"))
            if value is not None and value < low:
                raise InputError(f"{name} must be at least {low}, not {value}")

    def budget_for(self, entries: int) -> int:
        """Return the maximum number of pairs of a round, if the table `groups` has `entries` rows."""
        return PAIRS_PER_ENTRY * entries if self.budget is None else self.budget

    def configuration(self) -> dict[str, str]:
        return {} if self.partitions is None else {SHUFFLE_PARTITIONS: str(self.partitions)}

    def digest(self) -> str:
        """Return, as JSON, the options that must stay the same if a run is continued."""
        values = asdict(self)
        del values["allow_pairs"]  # users may raise this limit to continue a run that it ended
        return json.dumps(values, sort_keys=True)


def head(sizes: Mapping[int, int], minimum: int, budget: int) -> int:
    """Return the largest head whose pairs are within `budget`, but at least `minimum`.

    `sizes` maps a number n to the number of keys with n undecided nodes. A key of n nodes counts as
    min(n, head)^2 / 2 pairs.
    """

    def twice(w: int) -> int:
        return sum(keys * min(n, w) ** 2 for n, keys in sizes.items())

    return max(minimum, bisect_right(range(1, max(sizes, default=0) + 1), 2 * budget, key=twice))


def _json(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    rows = spark.read.text(path, wholetext=True).collect()
    return [dict(json.loads(row.value)) for row in rows]
