"""Dicts of a program are read like the lines of a JSON file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.progress import SilentProgress
from dedup.files.readers import ArticleReader, Item, Reject, Repair, read_file, rejects_path
from dedup.files.reading import Reading
from dedup.files.report import LoadReport
from dedup.files.rows import ROWS, GivenRows, find_rows
from tests.files.test_readers import Stdin


def opened(rows: object) -> GivenRows:
    found = find_rows(rows)
    assert callable(found)
    return found


def read(rows: object, bound: int = 1_000, **options: Any) -> list[Item]:
    with ArticleReader(opened(rows), Reading(**options), bound) as reader:
        return list(reader)


def outcome(item: Item) -> object:
    """Return the parts of an item that are equal for a dict and for a line of JSON."""
    return (type(item), item.line, item.reason) if isinstance(item, Reject | Repair) else item


NAMES = st.sampled_from(["id", "ID", "text", "body", "title", "source", "date", "authors", "kept", "x"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=3)
    | st.sampled_from(["a", "2024-05-01"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "id"]), inner, max_size=2)
    ),
    max_leaves=3,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=4)


@pytest.mark.long("dedup", "migrations")
@given(rows=RECORDS)
def test_dicts_are_read_as_the_same_lines_of_json_are(rows: list[dict[str, Any]]) -> None:
    before = json.dumps(rows)
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with mock.patch.object(sys, "stdin", Stdin(content)):
        lines = [*ArticleReader("-", Reading(lose_dates=True))]
    assert [*map(outcome, read(rows, lose_dates=True))] == [*map(outcome, lines)]
    assert json.dumps(rows) == before, "reading does not change the program's dicts"


def test_rows_may_be_any_iterable_and_any_mapping() -> None:
    row = {"guid": 7, "fulltxt": "Words.", "when": datetime(2024, 5, 1, tzinfo=UTC), "desk": "city"}
    fields = {"text": "fulltxt", "published_at": "when"}
    article = Article("7", "Words.", published_at=datetime(2024, 5, 1, tzinfo=UTC), kept={"desk": "city"})
    for rows in ([row], iter([row]), (MappingProxyType(row),)):
        assert read(rows, fields=fields, keep=["desk"]) == [article]
    with pytest.raises(InputError, match="<rows>: none of the first 1 records has 'fulltext'"):
        read([row], fields={"text": "fulltext"})


def test_missing_values_of_pandas_are_missing() -> None:
    class NoTime(datetime):
        def __ne__(self, other: object) -> bool:
            return True

    rows = [{"id": "a", "text": "b", "title": float("nan"), "date": NoTime(2024, 1, 1)}]
    assert read(rows) == [Article("a", "b")]


@given(number=st.integers(1 - 2**53, 2**53 - 1))
def test_a_whole_number_may_be_a_float_that_pandas_made(number: int) -> None:
    rows = [{"id": float(number), "text": "b", "scope": float(number)}]
    assert read(rows) == [Article(str(number), "b", scope=str(number))]


def test_a_float_that_is_no_certain_number_is_no_id() -> None:
    found = read([{"id": value, "text": "b"} for value in (1.5, 2.0**53, float("inf"))])
    assert {item.reason for item in found if isinstance(item, Reject)} == {
        "source_id must be a string, not float"
    }
    assert len(found) == 3


class BrokenDict(dict[str, Any]):
    def values(self) -> Any:
        raise RuntimeError("words of an article")


def test_bad_rows_are_refused_one_by_one() -> None:
    endless: dict[str, Any] = {"id": "e", "title": "t"}
    endless["text"] = endless
    bad = ["words", {"id": "b", 3: "text"}, {"id": "c", "text": "x" * 1_001}, {"text": 5, "id": "d"}, endless]
    found = read([{"id": "a", "text": "b"}, *bad, BrokenDict(), {"_source": {"text": "z"}, "_id": "y"}])
    assert [item for item in found if not isinstance(item, Reject)] == [Article("a", "b"), Article("y", "z")]
    refused = [item for item in found if isinstance(item, Reject)]
    assert [(item.file, item.line) for item in refused] == [(ROWS, number) for number in range(2, 8)]
    assert [item.reason for item in refused] == [
        "it is not a dict as the first row is, but of the type str",
        "a key of the dict is not a text",
        "the record has 1,002 bytes, the limit is 1,000",
        "text must be a string, not int",
        "text must be a string, not dict",
        "it cannot be read (RuntimeError)",
    ]


def test_a_printed_report_says_why_rows_were_refused(tmp_path: Path) -> None:
    report = LoadReport()
    rows: list[dict[Any, Any]] = [{"text": "b"}] * 5 + [{"id": "a"}, {"id": "b", "text": 5}]
    rows += [{"id": f"c{kind}", "text": [5] if kind else 1.5} for kind in range(2)]
    rows += [{"id": "x", "text": "x" * 1_001}, {"id": None, 3: "text"}]
    rejects = tmp_path / "rejects.jsonl"
    options: Any = {"max_record_bytes": 1_000, "progress": SilentProgress(), "stop": lambda: False}
    found = read_file(opened(rows), Reading(), report, rejects=rejects, **options)
    assert [*found] == []
    assert str(report).splitlines() == [
        "read 11 lines: 0 new, 0 changed, 0 same, 0 superseded, 11 refused",
        "  refused: 5 for: source_id is missing (line 1, line 2, line 3, …)",
        "  refused: 1 for: text is missing (a)",
        "  refused: 1 for: text must be a string, not int (b)",
        "  refused: 1 for: text must be a string, not float (c0)",
        "  refused: 1 for: text must be a string, not list (c1)",
        "  and 2 more reasons",
        f"  each refused line: see {rejects}",
    ]


def test_an_answer_of_a_service_holds_several_articles() -> None:
    articles = [{"id": "a", "text": "b"}, {"id": "c", "text": "d"}]
    assert read([{"status": "ok", "articles": articles}]) == [Article("a", "b"), Article("c", "d")]


def test_rows_before_an_error_of_the_program_are_read() -> None:
    def rows() -> Iterator[dict[str, str]]:
        yield {"id": "a", "text": "b"}
        raise RuntimeError("the source failed")

    reader = ArticleReader(opened(rows()), Reading())
    assert next(reader) == Article("a", "b")
    with pytest.raises(RuntimeError, match="the source failed"):
        next(reader)


def test_articles_and_other_things_are_no_rows() -> None:
    article = Article("a", "b")
    for articles in ([article], iter([article]), []):
        found = find_rows(articles)
        assert not callable(found)
        assert [*found] == ([article] if articles != [] else [])
    with pytest.raises(InputError, match="load takes a path, articles, dicts or a table, not int"):
        find_rows(5)


def test_the_refused_rows_have_a_file() -> None:
    assert str(rejects_path(opened([{}]))) == "rows.rejects.jsonl"
