"""JSON in other forms than an object per line: arrays, answers of services, objects over several lines."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.files.document import ENDS_EARLY, NO_LIST, find_articles, is_document, read_values
from dedup.files.readers import Item, Reject, read_articles
from dedup.files.report import Understanding
from dedup.files.source import LineSource

STORY = {
    "source": {"id": None, "name": "Post"},
    "author": None,
    "title": "Late",
    "url": "https://post.example/1",
    "publishedAt": "2024-05-01T12:00:00Z",
    "content": 'The "ferry" {was] late',
}
OTHER = {**STORY, "url": "https://post.example/2"}
NEWSAPI = {"status": "ok", "totalResults": 2, "articles": [STORY, OTHER]}
GUARDIAN = {"response": {"status": "ok", "tags": ["a", {"items": [{"b": 1}]}], "results": [STORY, OTHER]}}
FEED = {"version": "https://jsonfeed.org/version/1.1", "title": "One, two: [three]", "items": [STORY, OTHER]}
SEARCH = {
    "took": 3,
    "hits": {"total": {"value": 2}, "hits": [{"_id": "1", "_source": STORY}, {"_id": "2", "_source": OTHER}]},
}
ARTICLES = [
    Article(str(one["url"]), str(one["content"]), "Late", str(one["url"]), "Post", "2024-05-01T12:00:00Z")
    for one in (STORY, OTHER)
]


def read(path: Path, content: bytes, **options: Any) -> tuple[list[Item], Understanding]:
    path.write_bytes(content)
    with read_articles(path, lose_dates=True, **options) as reader:
        return list(reader), reader.understood


def reasons(items: list[Item]) -> list[str]:
    return [item.reason for item in items if isinstance(item, Reject)]


@pytest.mark.parametrize(
    "answer",
    [
        [STORY, OTHER],
        NEWSAPI,
        GUARDIAN,
        FEED,
        {"meta": {"items": 2}, "data": [STORY, OTHER], "links": {"items": [{"next": "x"}]}},
        {"my key": {"items": [STORY, OTHER]}},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "A.JSON.gz"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_an_answer_of_a_service_is_its_articles(
    tmp_path: Path, answer: Any, indent: int | None, name: str, line_end: str
) -> None:
    content = ("\ufeff\n" + json.dumps(answer, indent=indent).replace("\n", line_end)).encode()
    items, understood = read(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    assert items == ARTICLES
    assert understood.fields["publication"] == {"source.name": 2}
    assert understood.ids_from_url == 2


@pytest.mark.parametrize("indent", [None, 1])
def test_what_a_search_engine_found_has_its_article_within(tmp_path: Path, indent: int | None) -> None:
    items, understood = read(tmp_path / "a.json", json.dumps(SEARCH, indent=indent).encode())
    assert [item.source_id for item in items] == ["1", "2"]
    assert understood.ids_from_url == 0
    lines = "".join(json.dumps(hit) + "\n" for hit in SEARCH["hits"]["hits"])  # type: ignore[index]
    assert read(tmp_path / "a.jsonl", lines.encode())[0] == items


def test_what_wordpress_answers_is_read_with_its_tags_taken_out(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    post = {
        "id": 7,
        "date": "2018-05-03T14:30:00",
        "link": "https://blog.example/7",
        "title": {"rendered": "Ferry &amp; pier"},
        "content": {"rendered": "<p>The ferry was late.</p>\n<p>Nobody minded.</p>", "protected": False},
    }
    (article,), _ = read(tmp_path / "posts.json", json.dumps([post]).encode(), html=True)
    assert article == Article(
        "7",
        "The ferry was late.\nNobody minded.",
        "Ferry & pier",
        "https://blog.example/7",
        published_at="2018-05-03T14:30:00",
    )


def test_what_mongodb_exports_has_its_types_taken_off(tmp_path: Path) -> None:
    row = {"_id": {"$oid": "5a"}, "text": "a", "date": {"$date": {"$numberLong": "1525353000000"}}}
    items, _ = read(tmp_path / "a.json", json.dumps([row]).encode())
    assert items == [Article("5a", "a", published_at="2018-05-03T13:10:00Z")]


def test_objects_over_several_lines_are_articles_one_after_the_other(tmp_path: Path) -> None:
    rows = [{"id": number, "text": "a\nb"} for number in range(3)]
    content = "\n".join(json.dumps(row, indent=2) for row in rows)
    assert read(tmp_path / "a.json", content.encode())[0] == [Article(str(n), "a\nb") for n in range(3)]


def test_pages_of_answers_in_one_file_are_read_as_one(tmp_path: Path) -> None:
    pages = [{"page": number, "articles": [{"id": number, "text": "x"}]} for number in range(3)]
    wanted = [Article(str(number), "x") for number in range(3)]
    for content in (
        "\n".join(json.dumps(page, indent=1) for page in pages),
        "\n".join(map(json.dumps, pages)),
        json.dumps(pages),
        json.dumps(pages, indent=1),
    ):
        for name in ("a.json", "a.jsonl"):
            assert read(tmp_path / name, content.encode())[0] == wanted


def test_an_article_that_is_broken_costs_no_other(tmp_path: Path) -> None:
    pieces = [
        b'{"id": 1, "text": "a"}',
        b'{"id": 2, "text": "caf\xe9"}',
        b'{"id": 3, "text": "tab\tand \0"}',
        b'{"id": 4 "text": "b"}',
        b'{"id": 5, "id": 6, "text": "b"}',
        b'{"id": 7, "text": ["secret"]}',
        b"null, 7",
        b'[{"id": 8, "text": "within"}]',
        b'{"id": 9, "text": "last"}',
    ]
    items, understood = read(tmp_path / "a.json", b"[" + b",\n".join(pieces) + b"]")
    articles = [item.source_id for item in items if isinstance(item, Article)]
    assert articles == ["1", "3", "8", "9"]
    assert [(r.line, r.reason) for r in items if isinstance(r, Reject)] == [
        (2, "value is not UTF-8"),
        (4, "broken JSON: Expecting ',' delimiter at column 10"),
        (5, "key 'id' appears twice"),
        (6, "text must be a string, not list"),
        (7, "broken JSON: Expecting value at column 1"),
    ]
    assert next(r.raw for r in items if isinstance(r, Reject)) == pieces[1]
    assert understood.likely_encoding == "cp1252"


@pytest.mark.parametrize("path", [(), ("articles",), ("response", "docs")])
def test_a_file_that_breaks_off_says_so_and_keeps_what_came_before(
    tmp_path: Path, path: tuple[str, ...]
) -> None:
    rows: Any = [{"id": str(number), "text": "a [{"} for number in range(3)]
    for key in reversed(path):
        rows = {"n": 1, key: rows}
    whole = json.dumps(rows, indent=1).encode()
    begun = whole.index(b'"0"')
    for cut in range(begun, len(whole), 3):
        (tmp_path / "a.json").write_bytes(whole[:cut])
        with read_articles(tmp_path / "a.json") as reader:
            *articles, last = reader
        assert isinstance(last, Reject)
        assert (last.reason, reader.truncated) == (ENDS_EARLY, True)
        assert articles == [Article(str(number), "a [{") for number in range(len(articles))]
        assert len(articles) == len(re.findall(rb'"a \[\{"\s*\}', whole[:cut]))


def test_a_value_that_has_no_list_is_refused(tmp_path: Path) -> None:
    content = b'{\n"articles": [{"id": 1, "text": "a"}]}\n{"message": "too many requests"} oops'
    items, _ = read(tmp_path / "a.json", content)
    assert items[0] == Article("1", "a")
    assert reasons(items) == [NO_LIST, NO_LIST]


@pytest.mark.long("dedup", "migrations")
def test_an_article_that_is_too_long_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b'[{"id": 1, "text": "a"}, {"id": 2, "text": "')
        for _ in range(64):
            file.write(b'\\"' * 524_288)
        file.write(b'"}, {"id": 3, "text": "c"}]')
    tracemalloc.start()
    try:
        first, long, last = read_articles(path, max_record_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()
    assert (first, last) == (Article("1", "a"), Article("3", "c"))
    assert isinstance(long, Reject)
    assert long.reason == "the record has 67,108,885 bytes, the limit is 1,000,000"
    assert long.length == 67_108_885


@pytest.mark.parametrize("piece", ['"', '\\"', "[", '{"a":', '"items":[', "\\"])
def test_the_look_at_the_beginning_is_a_short_one(tmp_path: Path, piece: str) -> None:
    (tmp_path / "a.json").write_bytes(b'{\n"a": ' + piece.encode() * 1_000_000)
    began = time.process_time()
    with read_articles(tmp_path / "a.json") as reader:
        assert reader.understood.format == "json"
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "first",
    [
        b'{"id": "1", "text": "torn off',
        b'{"id": 1, "text": ',
        b"{",
        b"{what}",
        b"{} {}",
        b"\xff{",
        b'{"\xff":',
        b'{"x": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        b'{"text": "' + b"x" * 100_000,
    ],
)
def test_a_bad_first_line_does_not_cost_the_others(tmp_path: Path, first: bytes) -> None:
    reject, article = read(tmp_path / "a.jsonl", first + b'\n{"id": "2", "text": "b"}\n')[0]
    assert isinstance(reject, Reject)
    assert article == Article("2", "b")


@pytest.mark.parametrize(
    ("bracket", "rest"), [("{", '"id": 1, "text": "a"}'), ("[", '{"id": 1, "text": "a"}]')]
)
def test_a_bracket_alone_is_known_on_standard_input_once_its_line_is_there(
    monkeypatch: pytest.MonkeyPatch, bracket: str, rest: str
) -> None:
    read_end, write = os.pipe()
    with os.fdopen(read_end, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stdin}))
        # The line comes in two pieces. The format must be known after the line, before any more bytes come.
        os.write(write, b"\n \n" + bracket.encode())
        later = threading.Timer(0.05, os.write, (write, b"\n"))
        later.start()
        reader = read_articles("-")
        assert reader.understood.format == "json"
        later.join()
        os.write(write, rest.encode())
        os.close(write)
        assert list(reader) == [Article("1", "a")]


@pytest.mark.parametrize("content", [b"{", b"[", b" {  ", b"{ \r"])
def test_a_bracket_that_is_all_there_is_is_a_bad_line(content: bytes) -> None:
    with mock.patch.object(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(content)})):
        (reject,) = read_articles("-")
    assert isinstance(reject, Reject)
    assert reject.raw == content


def test_with_every_line_a_line_of_several_articles_is_refused(tmp_path: Path) -> None:
    content = "\n".join(map(json.dumps, (NEWSAPI, [STORY], STORY))).encode()
    assert reasons(read(tmp_path / "a.jsonl", content, every_line=True)[0]) == [
        "it holds several articles; give each its own line",
        "line is not a JSON object",
        "source_id is missing",
    ]


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"articles": []},
        {"articles": ["a"]},
        {"articles": {"a": 1}},
        {"x": [{}]},
        {"a": {"b": {"items": [{}]}}},
    ],
)
def test_a_record_that_holds_no_articles_is_said_to_lack_its_fields(record: dict[str, Any]) -> None:
    assert find_articles(record) is None


RECORDS = st.dictionaries(
    st.text(max_size=5) | st.sampled_from(["id", "text", "articles", "items"]),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)
FIELDS = st.fixed_dictionaries(
    {
        "id": st.text(max_size=3) | st.integers(0, 9) | st.none(),
        "text": st.text() | st.none() | st.integers(),
    },
    optional={
        "title": st.text() | st.lists(st.text(), max_size=2),
        "x": RECORDS,
        "date": st.text(max_size=9),
    },
)
BETWEEN = rb"[ \t\r\n,]"
PLAIN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


class Given(LineSource):
    """A source that returns the given bytes in pieces of a given size."""

    def __init__(self, content: bytes, size: int = 65_536) -> None:
        self.chunks = iter([content[at : at + size] for at in range(0, len(content), size)])
        self.start, self.bytes_total, self.max_line_bytes = content, len(content), 10**9
        self.truncated, self.partial = False, b""


@pytest.mark.long("dedup", "migrations")
@given(st.lists(RECORDS, min_size=1, max_size=4), st.booleans())
def test_lines_of_json_are_never_taken_for_something_else(records: list[Any], is_ascii: bool) -> None:
    lines = "\n".join(json.dumps(record, ensure_ascii=is_ascii) for record in records)
    assert not is_document(Given(lines.encode("utf-8", "surrogatepass")), named_json=True)[0]


@pytest.mark.long("dedup", "migrations")
@given(RECORDS.filter(bool), st.sampled_from([0, 2, "\t"]))
def test_an_object_over_several_lines_is_always_known(record: Any, indent: Any) -> None:
    assert is_document(Given(json.dumps(record, indent=indent).encode()), named_json=False)[0]


@pytest.mark.long("dedup", "migrations")
@PLAIN
@given(
    st.lists(RECORDS, max_size=4),
    st.sampled_from([(), ("articles",), ("a", "docs"), None]),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.integers(1, 40),
)
def test_it_is_cut_into_the_values_that_a_parser_finds(
    records: list[Any], path: tuple[str, ...] | None, indent: int | None, is_ascii: bool, size: int
) -> None:
    whole: Any = records
    for key in reversed(path or ()):
        whole = {"before": [["]"], {key: {}}], key: whole, "after": {"{": [{}]}}
    every = records if path is None else [whole]
    content = "\n".join(json.dumps(one, indent=indent, ensure_ascii=is_ascii) for one in every)
    source = Given(content.encode("utf-8", "surrogatepass"), size)
    found = [
        json.loads((raw or b"").decode("utf-8", "surrogatepass")) for _, raw in read_values(source, path)
    ]
    assert json.dumps(found) == json.dumps(records)
    assert not source.truncated


@PLAIN
@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"[", b"]", b"{", b"}", b'"', b"\\", b",", b" ", b"a"])).map(b"".join),
    st.sampled_from([(), ("items",), None]),
    st.integers(1, 9),
)
def test_no_byte_of_a_list_is_lost_whatever_it_holds(
    content: bytes, path: tuple[str, ...] | None, size: int
) -> None:
    source = Given(content, size)
    pieces = [raw for _, raw in read_values(source, path)]
    assert pieces == [raw for _, raw in read_values(Given(content), path)]
    if path is None:
        kept = b"".join(raw or b"" for raw in pieces) + source.partial
        assert [byte for byte in kept if byte not in b" \t\r\n,"] == [
            b for b in content if b not in b" \t\r\n,"
        ]


@pytest.mark.long("dedup", "migrations")
@PLAIN
@given(
    st.lists(FIELDS, max_size=5), st.sampled_from([(), ("articles",), ("response", "results")]), st.booleans()
)
def test_an_array_reads_as_its_lines_do(
    tmp_path: Path, rows: list[dict[str, Any]], path: tuple[str, ...], indented: bool
) -> None:
    whole: Any = rows
    for key in reversed(path if rows else ()):
        whole = {key: whole}
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    wanted, _ = read(tmp_path / "a.jsonl", lines.encode())
    found, _ = read(tmp_path / "a.json", json.dumps(whole, indent=1 if indented else None).encode())
    assert [_plain(item) for item in found] == [_plain(item) for item in wanted]


def _plain(item: Item) -> Any:
    """Return an item without the file's name, its place in the file, and its original bytes."""
    if isinstance(item, Article):
        return item
    return (item.reason, item.source_id, getattr(item, "value", None))
