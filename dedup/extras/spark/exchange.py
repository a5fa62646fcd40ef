"""The folders that Postgres and a cluster exchange: their tables, digests, descriptions and Parquet files.

`dedup export corpus` writes a folder with known fingerprints. The Spark engine writes a folder with a result,
which `dedup import` reads. The reader checks columns, types, missing values, and NUL in texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from pyarrow import types

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.settings import Kind, Settings
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION

FORMAT = 1  # format version of both folders; raised by one when an older program could misread a newer folder

# An export ends with its CORPUS_FILE, a result with its RUN_FILE: a folder without that file is incomplete.
CORPUS_FILE, RUN_FILE = "corpus.json", "run.json"


def _table(columns: str) -> pa.Schema:
    """Return the schema of columns listed as `score double, reason string?`; `?` allows null."""
    listed = (column.split() for column in columns.split(", "))
    return pa.schema([pa.field(name, _ARROW[kind.rstrip("?")], kind[-1] == "?") for name, kind in listed])


_ARROW = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "longs": pa.list_(pa.int64()),  # no element is null
}

FINGERPRINT = _table(
    "source_id string, published_at long?, added_at long, text_digest binary, version long,"
    " content_hash long, sentence_hashes longs, signature binary, buckets longs, word_count int,"
    " shingle_count int, reason string?"
)
"""Times are microseconds since 1970, UTC. A failed article has a `reason`, and a fingerprint of zeros."""

# In an export `fingerprint` is a folder of Parquet files, and each table of pins is one file.
PAIR_PIN = _table("source_id string, other_source_id string, relation string")
SENTENCE_PIN = _table("sentence_hash long, common boolean")

MARK = _table("source_id string, status string, duplicate_of string?, score double?, reason string?")
MATCH = _table(
    "source_id string, other_source_id string, relation string, rule string, score double,"
    " sentence_jaccard double, signature_jaccard double, containment double, best_match boolean"
)
"""The columns of `dedup.match`; `source_id` is the later article of a pair."""

COMMON_SENTENCE = _table("sentence_hash long, carriers long, effective_stories double")
REFUSED = _table("source_id string?, reason string")

RESULT = {
    "mark": MARK,
    "match": MATCH,
    "common_sentence": COMMON_SENTENCE,
    "fingerprint": FINGERPRINT,
    "refused": REFUSED,
}
"""Tables of a result; each is a folder of files. `fingerprint` has a row for every article of `mark`."""


def text_digest(language: str | None, title: str | None, text: str, scope: str | None = None) -> bytes:
    """Return the SHA-256 of a text, title, language and scope, as `postgres/cluster.sql` computes it."""
    confined = "" if scope is None else f"\0{scope}"  # no stored text has a NUL
    return hashlib.sha256(f"{language or ''}\0{title or ''}\0{text}{confined}".encode()).digest()


def pins_digest(pairs: Mapping[tuple[str, str], str], sentences: Mapping[int, bool]) -> str:
    """Return the SHA-256 of pins of pairs and sentences, in hexadecimal. Their order does not matter."""
    lines = sorted("\0".join((*sorted(pair), str(relation))).encode() for pair, relation in pairs.items())
    lines += sorted(f"{sentence}\0{bool(common):d}".encode() for sentence, common in sentences.items())
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


@dataclass(frozen=True, slots=True)
class Basis(Answer):
    """Everything that marks depend on besides articles. Equal articles and equal bases give equal marks.

    Attributes:
        settings: all settings except secret ones, by name.
        digests: digest of all settings of each kind, including secret ones.
        hash_key_digest: digest that shows whether two keys are equal, without showing the keys; "" without a
            key.
        models: checksum of the trained sentence parameters, by language.
        horizon: articles before this time are outside the corpus; microseconds since 1970, UTC.
    """

    settings: dict[str, Any]
    digests: dict[str, str]
    hash_key_digest: str
    pins_digest: str
    models: dict[str, str]
    algorithm_revision: int
    unicode_version: str
    horizon: int | None

    @classmethod
    def of(cls, settings: Settings, models: Mapping[str, str], pins_digest: str, horizon: int | None) -> Self:
        key = settings.hash_key
        shown = {f.name: getattr(settings, f.name) for f in fields(settings) if not f.metadata["secret"]}
        return cls(
            shown,
            {kind: settings.digest(kind) for kind in get_args(Kind)},
            key and hashlib.sha256(f"dedup hash key\0{key}".encode()).hexdigest(),
            pins_digest,
            dict(sorted(models.items())),
            ALGORITHM_REVISION,
            UNICODE_VERSION,
            horizon,
        )

    @classmethod
    def read(cls, found: Mapping[str, Any], where: str) -> Self:
        """Return the basis in `found`, the content of file `where`. Raises InputError: invalid content."""
        if found.get("format") != FORMAT:
            raise InputError(
                f"{where} is of format {found.get('format')!r}, and this program knows {FORMAT}:"
                " use the same dedup on both sides"
            )
        types = {name: get_origin(kind) or kind for name, kind in get_type_hints(cls).items()}
        types["horizon"] = int | None
        wrong = [name for name, kind in types.items() if not isinstance(found.get(name, ...), kind)]
        if wrong:
            raise InputError(f"{where}: {wrong[0]} is missing or of a wrong type; {AGAIN}")
        return cls(**{name: found[name] for name in types})

    def differences(self, other: Basis) -> list[str]:
        """Return a description of each difference from `other`, the basis of a corpus, without secrets."""
        found = [
            f"the setting {name} is {self.settings.get(name)!r} there and {other.settings.get(name)!r} here"
            for name in sorted(self.settings.keys() | other.settings.keys())
            if self.settings.get(name) != other.settings.get(name)
        ]
        if self.hash_key_digest != other.hash_key_digest:
            found.append("the hash key differs")
        if not found:
            # The digests cover all settings, including secret ones. Compare them only if `found` is empty,
            # because a difference that is already in `found` would appear again.
            found += [
                f"the settings of the kind {kind} differ"
                for kind in get_args(Kind)
                if self.digests.get(kind) != other.digests[kind]
            ]
        found += [
            f"the sentence parameters of {language} differ"
            for language in sorted(self.models.keys() | other.models.keys())
            if self.models.get(language) != other.models.get(language)
        ]
        rest = ((words, getattr(self, name), getattr(other, name)) for name, words in _DIFFER.items())
        return found + [words.format(there, here) for words, there, here in rest if there != here]


_DIFFER = {
    "pins_digest": "the pins of pairs or sentences differ",
    "horizon": "the horizon differs",
    "algorithm_revision": "the algorithm has revision {} there and {} here",
    "unicode_version": "Unicode is of version {} there and {} here",
}

BATCH_ROWS = 5_000  # maximum number of rows read into memory at once: about 5 MB of fingerprints
FILE_ROWS = 200_000  # rows per written file: about 150 MB, because one task of a cluster reads a whole file
GROUP_ROWS = 20_000  # rows per row group, the smallest part of a file that a reader can read alone

AGAIN = "make the folder again"


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or in a folder of text files as Spark writes one."""
    try:
        parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
        found = json.loads(b"".join(part.read_bytes() for part in parts))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; is the folder whole?") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON; {AGAIN}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} is not a JSON object; {AGAIN}")
    return found


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


def write_files(folder: Path, table: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    """Write a table to a new folder, `FILE_ROWS` rows per file. An empty table is one file without rows."""
    folder.mkdir()
    file, rows = 0, FILE_ROWS
    while rows >= FILE_ROWS:
        rows = 0
        with pa.parquet.ParquetWriter(folder / f"part-{file:05}.parquet", table) as writer:
            while rows < FILE_ROWS and (batch := next(batches, None)) is not None:
                writer.write_batch(batch, row_group_size=GROUP_ROWS)
                rows += batch.num_rows
        file += 1


# Programs may write integers of 32 or 64 bits, so only the family of a type is checked (integer, float, …).
# The later cast to the wanted type raises an error if a number does not fit.
_ALIKE: tuple[Callable[[pa.DataType], bool], ...] = (
    types.is_integer,
    types.is_floating,
    types.is_boolean,
    lambda kind: types.is_string(kind) or types.is_large_string(kind),
    lambda kind: types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind),
    lambda kind: (types.is_list(kind) or types.is_large_list(kind)) and types.is_integer(kind.value_type),
)


class TableFiles:
    """A table that another program wrote: all files `*.parquet` of one folder."""

    def __init__(self, folder: Path, name: str, table: pa.Schema) -> None:
        self._table = table
        self._files = sorted(path for path in (folder / name).glob("*.parquet") if path.name[0] not in "._")
        if not self._files:
            raise InputError(f"{folder / name} holds no Parquet file; is the folder whole?")
        self.rows = sum(map(self._checked, self._files))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches of rows, whose columns have the order and the types of the schema `table`."""
        for path in self._files:
            with _readable(path), pa.parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=self._table.names):
                    yield self._as_described(path, batch)

    def _checked(self, path: Path) -> int:
        with _readable(path), pa.parquet.ParquetFile(path) as file:
            found, rows = file.schema_arrow, file.metadata.num_rows
        for column in self._table:
            if found.names.count(column.name) != 1:
                raise InputError(f"{path} has no column {column.name}; {AGAIN}")
            kind = found.field(column.name).type
            if not any(alike(column.type) and alike(kind) for alike in _ALIKE):
                raise InputError(
                    f"{path}: the column {column.name} is of type {kind}, not {column.type}; {AGAIN}"
                )
        return int(rows)

    def _as_described(self, path: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = []
        for column in self._table:
            array = batch.column(column.name).cast(column.type)  # raises an error if a number does not fit
            array.validate(full=True)  # a damaged file may hold texts that are not UTF-8
            within = array.flatten().null_count if types.is_list(column.type) else 0
            if within or (array.null_count and not column.nullable):
                raise InputError(f"{path}: values are missing in the column {column.name}; {AGAIN}")
            if (
                types.is_string(column.type)
                and pa.compute.any(pa.compute.match_substring(array, "\0")).as_py()
            ):
                raise InputError(
                    f"{path}: the column {column.name} holds a NUL, which Postgres cannot store; {AGAIN}"
                )
            arrays.append(array)
        return pa.record_batch(arrays, schema=self._table)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(
            f"{path} cannot be read as Parquet ({type(error).__name__}); check that it is complete"
        ) from None
