"""Bad lines of a file are refused or repaired, with reason and id, and never silently."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.files.readers import Reject, RejectsFile, Repair, read_articles
from dedup.files.rejects import MAX_REPAIR_CHARACTERS

NO_TIME = "published_at is not a time; write it like 2024-05-01T12:00:00Z"
DEEP = "JSON is nested too deeply"
STORE = "has a NUL or a lone surrogate, which Postgres cannot store"


def line(source_id: Any = "a", text: Any = "b", **others: Any) -> bytes:
    return json.dumps({"id": source_id, "text": text, **others}).encode()


REFUSED: list[tuple[bytes, str, str | None]] = [
    (b'{"id": "1", "text": ', "broken JSON: Expecting value at column 22", None),
    (b"hello", "broken JSON: Expecting value at column 1", None),
    (b"{} {}", "broken JSON: Extra data at column 4", None),
    (b"[1, 2]", "line is not a JSON object", None),
    (b'"secret"', "line is not a JSON object", None),
    (b"NaN", "line is not a JSON object", None),
    (b"\xff\xffsecret", "line is not UTF-8", None),
    (b'{"id": "1", "text": "\xed\xa0\x80"}', "line is not UTF-8", None),
    (b"{}", "source_id is missing", None),
    (line(None), "source_id is missing", None),
    (b'{"id": "1"}', "text is missing", "1"),
    (line("1", None), "text is missing", "1"),
    (line(7, None), "text is missing", "7"),
    (line(""), "source_id is empty", None),
    (line(" \t"), "source_id is empty", None),
    (line("é" * 513), "source_id is longer than 1024 bytes", None),
    (line("a\0b"), f"source_id {STORE}", None),
    (line("a\ud800"), f"source_id {STORE}", None),
    (line(True), "source_id must be a string, not bool", None),
    (line(1.5), "source_id must be a string, not float", None),
    (line(["secret"]), "source_id must be a string, not list", None),
    (line(float("nan")), "source_id must be a string, not float", None),
    (line(1, {"secret": 1}), "text must be a string, not dict", "1"),
    (line(1, 7), "text must be a string, not int", "1"),
    (line(1, 7, title=[]), "text must be a string, not int", "1"),
    (b'{"id": 1, "text": "a", "text": "secret"}', "key 'text' appears twice", "1"),
    (b'{"id": 1, "text": "a", "te\\u0078t": null}', "key 'text' appears twice", "1"),
    (b'{"id": 1, "id": 1, "text": "a"}', "key 'id' appears twice", None),
    (
        b'{"id": 1, "text": "a", "x": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        "JSON is nested too deeply",
        None,
    ),
    (b'{"id": ' + b"1" * 5000 + b', "text": "a"}', "a number in the JSON has too many digits", None),
]

REPAIRED: list[tuple[bytes, str, str, str, Any]] = [  # line, field, reason, value, kept value
    (line(1, published_at="secret"), "published_at", NO_TIME, "secret", None),
    (line(1, pubDate="05/01/2020"), "published_at", NO_TIME, "05/01/2020", None),
    (line(1, published_at="\ud800"), "published_at", NO_TIME, "\ud800", None),
    (line(1, published_at=0), "published_at", NO_TIME, "0", None),
    (line(1, published_at=float("nan")), "published_at", NO_TIME, "NaN", None),
    (line(1, published_at="x" * 300), "published_at", NO_TIME, "x" * 100, None),
    (line(1, date=True), "published_at", "published_at must be a time, not bool", "true", None),
    (line(1, date={"day": 1}), "published_at", "published_at must be a time, not dict",
     '{"day": 1}', None),
    (
        line(1, date="0001-01-01T00:00:00+14:00"), "published_at",
        "published_at is outside the years 1 to 9999", "0001-01-01T00:00:00+14:00", None,
    ),
    (line(1, added_at=["x"]), "added_at", "added_at must be a time, not list", '["x"]', None),
    (line(1, title=[]), "title", "title must be a string, not list", "[]", None),
    (line(1, title={"raw": "x"}), "title", "title must be a string, not dict",
     '{"raw": "x"}', None),
    (line(1, url=False), "url", "url must be a string, not bool", "false", None),
    (line(1, title=float("inf")), "title", "title must be a string, not float", "Infinity", None),
    (line(1, title=2024), "title", "title is a number: taken as text", "2024", "2024"),
    (line(1, title=10**4000), "title", "title is a number: taken as text", "1" + "0" * 99, "1" + "0" * 4000),
    (line(1, url=1.5), "url", "url is a number: taken as text", "1.5", "1.5"),
    (line(1, publication=7), "publication", "publication is a number: taken as text", "7", "7"),
    (line(1, language=1), "language", "language is a number: taken as text", "1", "1"),
    (line(1, language=10**70), "language", "language is longer than 64 bytes", "1" + "0" * 70, None),
    (line(1, title="é" * 8193), "title", "title is longer than 16384 bytes", "é" * 100, None),
    (line(1, language="x" * 65), "language", "language is longer than 64 bytes", "x" * 65, None),
    (line(1, title="b\0c\ud800d"), "title", f"title {STORE}: dropped", "b\0c\ud800d", "bcd"),
    (line(1, url="\0"), "url", f"url {STORE}: dropped", "\0", None),
    (line(1, source="P\0"), "publication", f"publication {STORE}: dropped", "P\0", "P"),
    (line(1, source={"id": 1}), "publication", "publication must be a string, not dict", '{"id": 1}', None),
    (line(1, title=[[[]]] * 1000), "title", "title must be a string, not list",
     ("[" + "[[]], " * 20)[:100], None),
]  # fmt: skip


def test_the_table_has_forty_kinds() -> None:
    assert len(REFUSED) + len(REPAIRED) >= 40


@pytest.mark.parametrize(("content", "reason", "source_id"), REFUSED)
def test_a_line_that_is_no_article_is_refused_and_the_rest_is_read(
    tmp_path: Path, content: bytes, reason: str, source_id: str | None
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line("first") + b"\n\n" + content + b"\r\n" + line("last"))
    reader = read_articles(path, lose_dates=True)
    assert list(reader) == [
        Article("first", "b"),
        Reject(str(path), 3, reason, content + b"\r", None, source_id),
        Article("last", "b"),
    ]
    assert reader.understood.records == 3
    assert "secret" not in reason


@pytest.mark.parametrize(("content", "field", "reason", "value", "kept"), REPAIRED)
def test_a_bad_field_loses_the_field_and_not_the_article(
    tmp_path: Path, content: bytes, field: str, reason: str, value: str, kept: Any
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line("first") + b"\n" + content + b"\n" + line("last"))
    reader = read_articles(path, lose_dates=True)
    expected: dict[str, Any] = {field: kept}
    assert list(reader) == [
        Article("first", "b"),
        Repair(str(path), 2, "1", field, reason, value),
        Article("1", "b", **expected),
        Article("last", "b"),
    ]
    assert reader.understood.records == 3
    assert len(value) <= MAX_REPAIR_CHARACTERS
    assert "secret" not in reason


CSV_LINES: list[tuple[bytes, str, str | None, str | None, str]] = [  # row, outcome, id, field, reason
    (b"1", "refused", None, None, "the row has 1 column, the header 5"),
    (b"1,b,c,d,e,f", "refused", None, None, "the row has 6 columns, the header 5"),
    (b",b,,,", "refused", None, None, "source_id is empty"),
    (b'1,"a" b,,,', "refused", None, None,
     "broken CSV: text follows a closing quote; a quote within quotes must be doubled"),
    (b"1,a\rb,,,", "refused", None, None, "broken CSV: a carriage return outside quotes"),
    (b"1,caf\xe9,,,", "refused", None, None, "line is not UTF-8"),
    (b"1\0,b,,,", "refused", None, None, f"source_id {STORE}"),
    (b"1,b,05/01/2020,,", "repaired", "1", "published_at", NO_TIME),
    (b"1,b,,t\0,", "repaired", "1", "title", f"title {STORE}: dropped"),
    (b"1,b,,," + b"x" * 65, "repaired", "1", "language", "language is longer than 64 bytes"),
]  # fmt: skip


@pytest.mark.parametrize("delimiter", [b",", b";", b"\t", b"|"])
@pytest.mark.parametrize(("row", "outcome", "source_id", "field", "reason"), CSV_LINES)
def test_bad_rows_of_csv(
    tmp_path: Path,
    row: bytes,
    outcome: str,
    source_id: str | None,
    field: str | None,
    reason: str,
    delimiter: bytes,
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join([b"id,text,date,title,language", row, b"2,c,,,"]).replace(b",", delimiter))
    bad, *articles = read_articles(path, lose_dates=True)
    assert isinstance(bad, Reject | Repair)
    assert isinstance(bad, Repair) == (outcome == "repaired")
    assert (bad.line, bad.source_id, getattr(bad, "field", None), bad.reason) == (2, source_id, field, reason)
    assert [article.source_id for article in articles if isinstance(article, Article)][-1] == "2"


def test_bad_rows_of_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    latin = pa.array([b"ok", b"ok", b"ok", b"caf\xe9", b"ok"], pa.binary()).view(pa.string())
    late = pa.array([0, 10**12, None, 0, 0], pa.int64()).cast(pa.timestamp("s"))
    columns = {
        "id": ["1", "2", None, "4", "5"],
        "text": latin,
        "date": late,
        "title": [1.5, None, None, None, float("nan")],
        "source": [None, None, None, None, [1, 2]],
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    found = [
        (type(item).__name__, item.source_id, getattr(item, "field", None), getattr(item, "reason", None))
        for item in read_articles(tmp_path / "a.parquet", lose_dates=True)
    ]
    assert found == [
        ("Repair", "1", "title", "title is a number: taken as text"),
        ("Article", "1", None, None),
        ("Repair", "2", "published_at", "published_at cannot be read"),
        ("Article", "2", None, None),
        ("Reject", None, None, "source_id is missing"),
        ("Reject", "4", None, "text cannot be read"),
        ("Repair", "5", "title", "title must be a string, not float"),
        ("Repair", "5", "publication", "publication must be a string, not list"),
        ("Article", "5", None, None),
    ]


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9)
NAMES = st.sampled_from(
    ["id", "text", "title", "Headline", "date", "pubDate", "source", "source.name", "x", "lang"]
)
RECORDS = st.dictionaries(
    NAMES, VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(NAMES, VALUES, max_size=2)
)


@pytest.mark.long("dedup", "migrations")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, max_size=8))
def test_nothing_is_silent(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path, rejects = tmp_path / "a.jsonl", tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    rejects.unlink(missing_ok=True)
    reader = read_articles(path, lose_dates=True)
    items = list(reader)
    with RejectsFile(rejects) as file:
        for item in items:
            if not isinstance(item, Article):
                file.write(item)
        rows = [json.loads(text) for text in rejects.read_text().splitlines()] if rejects.exists() else []
        articles = [item for item in items if isinstance(item, Article)]
        rejects_read = [item for item in items if isinstance(item, Reject)]
        assert len(articles) + len(rejects_read) == reader.understood.records == len(records)
        assert len(rejects_read) == sum(row["outcome"] == "refused" for row in rows)
        assert len(rows) == len(items) - len(articles)
    for item, following in pairwise(items):
        if isinstance(item, Repair):
            assert isinstance(following, Article | Repair)
            assert following.source_id == item.source_id
    assert not items or not isinstance(items[-1], Repair)
    assert reader.understood.without_date == sum(article.published_at is None for article in articles)
    for field, names in reader.understood.fields.items():
        held = sum(getattr(article, field) not in (None, "") for article in articles)
        repaired = sum(isinstance(item, Repair) and item.field == field for item in items)
        assert sum(names.values()) + len(rejects_read) >= held
        assert sum(names.values()) <= held + repaired + len(rejects_read)


def test_a_date_in_any_form_of_a_feed_is_the_same_time(tmp_path: Path) -> None:
    forms = ["2020-11-10T08:00:00Z", "Tue, 10 Nov 2020 08:00:00 GMT", 1604995200, "1604995200", 1604995200000]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(line(str(n), pubDate=form) for n, form in enumerate(forms)))
    assert {getattr(a, "published_at", a) for a in read_articles(path, lose_dates=True)} == {
        datetime(2020, 11, 10, 8, tzinfo=UTC)
    }
