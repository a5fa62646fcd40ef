"""Parameters of a run on Spark: the state of the corpus, and options, on which no mark depends."""

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

# Places in the smallest head: the first few of edited copies decide most of a story.
HEAD_MINIMUM = 16

# Pairs of places that a round may join for each entry of a group: the most that a head of 16 costs.
PAIRS_PER_ENTRY = 8

# Duplicates among undecided nodes that one task decides: 32 MB of numbers, and about two seconds.
EDGES_IN_ONE_TASK = 2_000_000

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class Pins:
    """Pins of pairs and sentences (docs/semantics.md, sections 2 and 4).

    Raises:
        InputError: a pair of an article with itself, or one pair with two relations.
    """

    # Two source_ids to their relation; a pair with an absent article has no effect.
    pairs: Mapping[tuple[str, str], Relation] = field(default_factory=dict)
    # Sentence hash to True for a sentence that is always common, False for one that never is.
    sentences: Mapping[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        said: dict[tuple[str, str], Relation] = {}
        for (one, other), relation in self.pairs.items():
            if one == other:
                raise InputError(f"a pin is of two articles, not of {one!r} and itself")
            pair = (min(one, other), max(one, other))
            if said.setdefault(pair, Relation(relation)) != relation:
                raise InputError(f"the pair {pair[0]!r}, {pair[1]!r} is pinned in two ways")
        object.__setattr__(self, "pairs", said)


@dataclass(frozen=True, slots=True)
class CorpusState:
    """Parameters that marks depend on besides the articles of the input."""

    settings: Settings = field(default_factory=Settings)
    pins: Pins = field(default_factory=Pins)
    models: Mapping[str, PunktModel] = field(default_factory=dict)  # besides the shipped English ones
    known: DataFrame | None = None  # fingerprints of earlier runs or an export
    horizon: int | None = None  # articles before it are refused; microseconds since 1970, UTC

    @classmethod
    def read(cls, spark: SparkSession, folder: str, hash_key: str = "") -> CorpusState:
        """Read an exported folder at any URL that Spark reads.

        `hash_key` is needed if the corpus has a key that the folder does not hold. Raises InputError: the
        folder is incomplete, the hash key is missing or wrong, or this program would make other fingerprints.
        """
        folder = folder.rstrip("/")
        try:
            told = _json(spark, f"{folder}/{CORPUS_FILE}")[0]
            basis = Basis.read(told, f"{folder}/{CORPUS_FILE}")
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
                f"{folder} cannot be read ({failures.named(error)}); it is to be a whole folder of"
                " `dedup export corpus`"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder} is damaged ({type(error).__name__}); export the corpus again"
            ) from None
        key = told.get("hash_key") or hash_key
        if basis.hash_key_digest and not key:
            raise InputError(
                f"the corpus of {folder} has a hash key: give it, or export with --include-hash-key"
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
    """How the work is divided. No option changes the result.

    Attributes:
        head_minimum: members of a key that each round compares with each other at least.
        budget: pairs that a round may join, where that leaves more than the minimum; None: in proportion to
            the corpus.
        collapse: whether articles with equal fingerprints are treated as one.
        partitions: of shuffled data; None leaves it to the session.
        edges_in_one_task: duplicates among undecided articles that one task decides; more are first peeled
            off by all.
        allow_pairs: a round that would join more pairs raises an error that shows the worst keys; None
            allows any number.

    Raises:
        InputError: a number out of range.
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
        """Return the pairs that a round may join if the groups have so many entries."""
        return PAIRS_PER_ENTRY * entries if self.budget is None else self.budget

    def configuration(self) -> dict[str, str]:
        """Return the settings of the session during a run."""
        return {} if self.partitions is None else {SHUFFLE_PARTITIONS: str(self.partitions)}

    def digest(self) -> str:
        """Return a text that is equal for options under which a run can continue."""
        values = asdict(self)
        del values["allow_pairs"]  # it only ends a run, and is raised to continue it
        return json.dumps(values, sort_keys=True)


def head(sizes: Mapping[int, int], minimum: int, budget: int) -> int:
    """Return the largest head w with sum over keys of min(n, w)^2 / 2 <= budget, but at least `minimum`.

    `sizes`: number n of undecided nodes under a key to the number of keys with so many.
    """

    def twice(w: int) -> int:
        return sum(keys * min(n, w) ** 2 for n, keys in sizes.items())

    return max(minimum, bisect_right(range(1, max(sizes, default=0) + 1), 2 * budget, key=twice))


def _json(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    rows = spark.read.text(path, wholetext=True).collect()
    return [dict(json.loads(row.value)) for row in rows]
