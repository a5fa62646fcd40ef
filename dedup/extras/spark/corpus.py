"""Reads the folder of `dedup export corpus` (see `dedup.extras.spark.exchange`), wherever Spark can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.spark import failures
from dedup.extras.spark.exchange import CORPUS_FILE, Basis
from dedup.extras.spark.options import Pins
from dedup.extras.spark.schema import FINGERPRINT
from dedup.rules.relation import Relation
from dedup.text.punkt import PunktModel


@dataclass(frozen=True, slots=True)
class CorpusState:
    """What marks depend on beside the articles of the input."""

    settings: Settings = field(default_factory=Settings)
    pins: Pins = field(default_factory=Pins)
    models: Mapping[str, PunktModel] = field(default_factory=dict)  # besides the shipped English ones
    known: DataFrame | None = None  # fingerprints that are there already
    horizon: int | None = None  # articles before it do not take part; microseconds since 1970, UTC

    @classmethod
    def read(cls, spark: SparkSession, folder: str, hash_key: str = "") -> CorpusState:
        """The corpus of an exported folder, whose name is any URL that Spark reads.

        `hash_key` is that of a corpus that has one, where the folder does not hold it. An InputError where
        the folder is not whole, the hash key is missing or another one, or this program would make other
        fingerprints.
        """
        folder = folder.rstrip("/")
        try:
            told = _json(spark, f"{folder}/{CORPUS_FILE}")[0]
            basis = Basis.read(told, f"{folder}/{CORPUS_FILE}")
            models = {
                found["language"]: PunktModel.from_files(found)
                for found in (_json(spark, f"{folder}/models/*.json") if basis.models else [])
            }
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
        pins = Pins(pairs, sentences)
        checksums = {language: model.checksum for language, model in models.items()}
        differences = basis.differences(Basis.of(settings, checksums, pins.digest(), basis.horizon))
        if differences:
            raise InputError(f"{folder} does not agree with this program: {'; '.join(differences)}")
        return cls(settings, pins, models, known, basis.horizon)


def _json(spark: SparkSession, path: str) -> list[dict[str, Any]]:
    """One object a file."""
    rows = spark.read.text(path, wholetext=True).collect()
    return [dict(json.loads(row.value)) for row in rows]
