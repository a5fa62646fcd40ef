"""Spark reads the same articles from a table as `dedup load` reads from the file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.base.article import Article, storable
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.spark.exchange import text_digest
from dedup.files.readers import Reject, Repair, read_articles
from dedup.files.report import NUMBER
from dedup.text.fingerprint import Fingerprinter, TextTask, fingerprint_task
from tests.extras.spark.runs import reading

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ADDED = datetime(2026, 11, 1, tzinfo=UTC)
"""`added_at` of articles that have none."""

SECOND = 1_000_000
PAST_9999 = 253_402_300_800 * SECOND

BODY = (
    "The council of the city said on Monday that it would close the old bridge over the river for repairs"
    " that are to take two years. Nobody at the meeting asked what the ferry would cost in the mean time."
)


def utf8(values: list[bytes | None]) -> pa.Array:
    """Return a column of texts from bytes, even if these are no valid UTF-8."""
    found = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(found), found.buffers())


def hostile_values() -> pa.Table:
    """Return texts, ids and other fields as hostile files may have them."""
    rows: list[tuple[bytes | None, bytes | None, bytes | None, bytes | None]] = [
        (b"plain", BODY.encode(), b"A title", b"en"),
        (b"no text", None, b"t", None),
        (b"empty", b"", None, None),
        (b"blank", b" \n ", None, None),
        (b"nul in text", f"{BODY[:60]}\0{BODY[60:]}".encode(), b"t", b"en"),
        (b"nul in title", BODY.encode(), b"a\0b", b"en"),
        (b"bad text", b"\xff\xfe broken", b"t", b"en"),
        (b"bad title", BODY.encode(), b"\xc3(", b"en"),
        (b"surrogate", b"\xed\xa0\x80" + BODY.encode(), b"t", b"en"),
        (b"\xff", BODY.encode(), b"t", b"en"),
        (b"a\0b", BODY.encode(), b"t", b"en"),
        (b"", BODY.encode(), b"t", b"en"),
        (b"  ", BODY.encode(), b"t", b"en"),
        (None, BODY.encode(), b"t", b"en"),
        (b"i" * 1_025, BODY.encode(), b"t", b"en"),
        (b"long title", BODY.encode(), b"t" * 16_385, b"en"),
        (b"language", BODY.encode(), b"", b"EN-gb"),
        (b"long language", BODY.encode(), None, b"e" * 65),
        ("Größe €".encode(), b"Ein kurzer Text. Noch einer.", "Überschrift".encode(), b"de"),
        (b"too long", b"word " * 3_600_000, b"t", b"en"),
        (b"failed: long", b"word " * 210_000, b"t", b"en"),
        (b"comes twice", BODY.encode(), b"t", b"en"),
        (b"comes twice", b"Another text.", b"t", b"en"),
    ]
    ids, texts, titles, languages = zip(*rows, strict=True)
    return pa.table(
        {"id": utf8([*ids]), "body": utf8([*texts]), "headline": utf8([*titles]), "lang": utf8([*languages])}
    )


def times(kind: Any, values: list[Any], added: Any = None) -> pa.Table:
    """Return articles with a column of times, and with integers as ids."""
    count = len(values)
    column = pa.array(values, kind)
    table = pa.table(
        {
            "Id": pa.array(range(count), pa.int32()),
            "text": [f"{BODY} {i}" for i in range(count)],
            "date": column,
        }
    )
    return table if added is None else table.append_column("added_at", pa.array([added] * count))


def nested() -> pa.Table:
    """Return a table with names within structs, several columns for a field, numbers in place of texts, and
    unneeded columns."""
    publisher = pa.StructArray.from_arrays(
        [pa.array(["Courier", None, "Herald"]), pa.array([1, 2, 3])], ["Name", "code"]
    )
    return pa.table(
        {
            "_id": ["a", "b", "c"],
            "content": [BODY, "", None],
            "body": ["", BODY, BODY[:40]],
            "title": pa.array([1, 2.5, None], pa.float64()),
            "publisher": publisher,
            "source": pa.array([["x"], None, ["y"]]),
            "link": pa.array([b"http://a", None, b"c"], pa.binary()),
            "lang": pa.array([True, None, False]),
            "date": pa.array([20240501, 1_700_000_000, 123], pa.int64()),
            "added_at": pa.array([1_700_000_000.5, None, 1e300]),
            "ignored": pa.array([{"k": 1}, None, None], pa.map_(pa.string(), pa.int64())),
        }
    )


def scoped(kind: Any, values: list[Any]) -> pa.Table:
    """Articles with a column of scopes."""
    ids = [f"scope {number}" for number in range(len(values))]
    return pa.table({"id": ids, "text": [BODY] * len(ids), "Scope": pa.array(values, kind)})


NANOSECONDS = [1_700_000_000_123_456_789, -1_500, -999, 0, None, 86_400_000_000_000]
MICROSECONDS = [1_700_000_000_123_456, -62_135_596_800 * SECOND, PAST_9999, -1, None]
TABLES: dict[str, Callable[[], pa.Table]] = {
    "values": hostile_values,
    "nested": nested,
    "nanoseconds with a zone": lambda: times(pa.timestamp("ns", "America/New_York"), NANOSECONDS),
    "nanoseconds without": lambda: times(pa.timestamp("ns"), NANOSECONDS),
    "microseconds with a zone": lambda: times(pa.timestamp("us", "UTC"), MICROSECONDS),
    "microseconds without": lambda: times(pa.timestamp("us"), MICROSECONDS),
    "milliseconds": lambda: times(
        pa.timestamp("ms", "UTC"), [1_700_000_000_123, -1, PAST_9999 // 1000, None]
    ),
    "dates": lambda: times(pa.date32(), [19_000, -719_162, 2_932_897, None]),
    "words": lambda: times(
        pa.string(), ["2024-05-01", "Wed, 01 May 2024 12:00:00 GMT", "05/01/2020", "", None, "1700000000"]
    ),
    "numbers": lambda: times(
        pa.int64(), [1_700_000_000, 1_700_000_000_123, 20_240_501, 5, -1_700_000_000, None]
    ),
    "decimals": lambda: times(pa.decimal128(20, 3), [None, Decimal("1700000000.123")]),
    "scopes": lambda: scoped(pa.string(), ["ann", "bob", " ann", "Größe €", "a\0b", "", "x" * 1_025, None]),
    "scopes that are integers": lambda: scoped(pa.int64(), [1, -7, 2**62, None]),
    "scopes that are floats": lambda: scoped(pa.float64(), [1.0, 2.5, None]),
    "scopes that are booleans": lambda: scoped(pa.bool_(), [True, False, None]),
    "dates and added_at": lambda: times(pa.date32(), [2_932_897, None], datetime(2020, 1, 1)),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_a_file(spark: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / "articles.parquet"
    pq.write_table(TABLES[name](), path, version="2.6", store_schema=False)
    run = reading(spark, path, tmp_path / "work", added_at=ADDED)
    settings = Settings()
    fingerprinter = Fingerprinter(settings)
    articles: dict[str, list[Article]] = {}
    refused: list[tuple[str | None, str]] = []
    repaired: list[str] = []
    # A cluster reads each row alone, so it cannot refuse a whole file for its dates.
    with read_articles(path, max_record_bytes=17_000_000, lose_dates=True) as reader:
        for item in reader:
            if isinstance(item, Reject):
                refused.append((item.source_id, item.reason))
            elif isinstance(item, Repair):
                repaired.append(item.reason)
            else:
                articles.setdefault(item.source_id, []).append(item)
    twice = {id: found for id, found in articles.items() if len(found) > 1}
    refused += [(id, "the source_id comes more than once") for id, found in twice.items() for _ in found]
    assert comparable(run.refused) == comparable(refused)
    assert sum(run.report["repaired"].values()) == len(repaired)
    assert run.report["articles"] == len(refused) + len(articles) - len(twice)
    expected = {}
    for id, [article] in ((id, found) for id, found in articles.items() if id not in twice):
        text = storable(article.text)
        task = TextTask(0, 0, article.language, article.title, text, scope=article.scope)
        made = fingerprint_task(fingerprinter, task)
        digest = text_digest(article.language, article.title, text, article.scope)
        kept = made.fingerprint
        expected[id] = (
            article.published_at,
            article.added_at or ADDED,
            digest,
            made.reason,
            kept
            and (
                kept.version,
                kept.content_hash,
                kept.sentence_hashes,
                kept.signature.tobytes(),
                kept.buckets,
            ),
            kept and (kept.word_count, kept.shingle_count),
        )
    assert run.articles == expected
    assert expected


def comparable(refused: list[tuple[str | None, str]]) -> list[tuple[str, str]]:
    """Return refusals without the ids and sizes of too long rows, because file readers count these
    differently."""
    found = []
    for id, reason in refused:
        long = "the limit is" in reason
        found.append(("" if long else str(id), NUMBER.sub("…", reason) if long else reason))
    return sorted(found)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("'a' AS id", "has no column for text"),
        ("'a' AS text, 1 AS n", "has no column for source_id"),
        ("1.5D AS id, 'a' AS text", "column 'id' is of type double, which cannot be a source_id"),
        ("'a' AS id, X'00' AS text", "column 'text' is of type binary, which cannot be a text"),
        ("'a' AS id, array('x') AS body", "column 'body' is of type array, which cannot be a text"),
        (
            "'a' AS id, 'b' AS text, true AS date",
            "column 'date' is of type boolean, which cannot be a published_at",
        ),
    ],
)
def test_a_table_that_cannot_be_one_of_articles_is_refused_before_anything_runs(
    spark: Any, tmp_path: Path, columns: str, says: str
) -> None:
    from dedup.extras.spark.fingerprinting import fingerprint
    from dedup.extras.spark.options import CorpusState
    from dedup.extras.spark.steps import SparkSteps

    steps = SparkSteps(spark, str(tmp_path / "work"), "")
    with pytest.raises(InputError, match=says):
        fingerprint(spark.sql(f"SELECT {columns}"), CorpusState(), steps)
    assert not (tmp_path / "work").exists()


def test_columns_are_found_by_the_names_that_are_given(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"key": ["a"], "meta": [{"When": "2024-05-01", "Body": BODY}], "text": ["not this"]})
    pq.write_table(table, tmp_path / "a.parquet")
    mapping = {"source_id": "key", "text": "meta.body", "published_at": "meta.when"}
    run = reading(spark, tmp_path / "a.parquet", tmp_path / "work", mapping=mapping)
    assert run.articles["a"][0] == datetime(2024, 5, 1, tzinfo=UTC)
    assert run.articles["a"][2] == text_digest(None, None, BODY)
    for wrong in ({"text": "nothing"}, {"texts": "text"}):
        with pytest.raises(InputError, match=r"nothing|unknown field 'texts'"):
            reading(spark, tmp_path / "a.parquet", tmp_path / "other", mapping={"source_id": "key", **wrong})


def test_files_that_do_not_agree_are_refused(spark: Any, tmp_path: Path) -> None:
    from dedup.extras.spark.reading import read_table

    (tmp_path / "in").mkdir()
    pq.write_table(times(pa.timestamp("ns", "UTC"), [1]), tmp_path / "in" / "a.parquet", version="2.6")
    pq.write_table(times(pa.timestamp("us", "UTC"), [1]), tmp_path / "in" / "b.parquet")
    with pytest.raises(InputError, match="same columns with the same types"):
        read_table(spark, str(tmp_path / "in"))


@pytest.mark.parametrize("format", ["json", "csv"])
def test_what_spark_reads_in_silence_is_not_read(spark: Any, format: str) -> None:
    from dedup.extras.spark.reading import read_table

    with pytest.raises(InputError, match="convert the table to Parquet"):
        read_table(spark, "file", format)


def test_a_table_that_is_not_there_is_named(spark: Any, tmp_path: Path) -> None:
    from dedup.extras.spark.reading import read_table

    with pytest.raises(InputError, match=r"nothing\.parquet cannot be read as parquet \(PATH_NOT_FOUND\)"):
        read_table(spark, str(tmp_path / "nothing.parquet"))


def test_reading_leaves_the_settings_of_the_session(spark: Any, tmp_path: Path) -> None:
    names = ("spark.sql.legacy.parquet.nanosAsLong", "spark.sql.execution.arrow.maxRecordsPerBatch")
    before = [spark.conf.get(name) for name in names]
    pq.write_table(
        times(pa.timestamp("ns"), [SECOND * 1_700_000_000_000]), tmp_path / "a.parquet", version="2.6"
    )
    reading(spark, tmp_path / "a.parquet", tmp_path / "work")
    assert [spark.conf.get(name) for name in names] == before
