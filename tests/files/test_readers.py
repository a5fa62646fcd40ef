"""Reading files of every format: bad lines and bad files are reported, and nothing is lost silently."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files import jsonl, packed, parquet, readers, record
from dedup.files.readers import (
    DEFAULT_FIELDS,
    ArticleReader,
    Reject,
    Repair,
    read_articles,
)
from dedup.files.reading import parse_field_map
from dedup.files.record import make_article

NOON = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
DAY = datetime(2024, 5, 1, tzinfo=UTC)
ARTICLES = [
    Article("a-1", "The mayor spoke.\nHe left.", "Mayor", "https://x.org/1", "Post", NOON, NOON, "en"),
    Article("ä-2", 'Она сказала: "да", и ушла.\r\n', "Заголовок\x07", None, "Пост", None, None, "ru"),
    Article("3", "", None, None, None, None, None, None),
    Article("4", "comma, tab\t, 'quote' and \0 NUL", "t", None, None, NOON, None, None),
]
EARLY = "gzip stream ends early: the rest of the file is missing"


def as_row(article: Article) -> dict[str, Any]:
    times = {name: getattr(article, name) for name in ("published_at", "added_at")}
    return {name: getattr(article, name) for name in DEFAULT_FIELDS} | {
        name: time and time.isoformat() for name, time in times.items()
    }


def as_jsonl(articles: list[Article]) -> bytes:
    return b"".join(json.dumps(as_row(article)).encode() + b"\n" for article in articles)


def as_csv(articles: list[Article], delimiter: str = ",") -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(DEFAULT_FIELDS), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(as_row(article) for article in articles)
    return file.getvalue().encode()


def line(source_id: Any = "a", text: Any = "b", **others: Any) -> bytes:
    return json.dumps({"id": source_id, "text": text, **others}).encode() + b"\n"


class Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


class Folder:
    """A folder for files. Its methods write and read a file, and return articles and rejects separately."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader: ArticleReader

    def write(self, name: str, content: bytes) -> Path:
        path = self.path / name
        path.write_bytes(content)
        return path

    def read(self, name: str, content: bytes, **options: Any) -> tuple[list[Article], list[Reject]]:
        return self._sort(read_articles(self.write(name, content), lose_dates=True, **options))

    def read_piped(self, content: bytes, format: str) -> tuple[list[Article], list[Reject]]:
        """Read from standard input, which is faster than a file when a test reads hundreds of contents."""
        with mock.patch.object(sys, "stdin", Stdin(content)):
            return self._sort(read_articles("-", format=format))

    def _sort(self, reader: ArticleReader) -> tuple[list[Article], list[Reject]]:
        self.reader = reader
        items = list(reader)
        articles = [item for item in items if isinstance(item, Article)]
        return articles, [item for item in items if isinstance(item, Reject)]

    def refuse(self, name: str, content: bytes, **options: Any) -> str:
        with pytest.raises(InputError) as caught:
            read_articles(self.write(name, content), **options)
        return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# formats


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json", "jsonlines", "csv", "tsv", "JSONL"])
def test_articles_survive_every_text_format(folder: Folder, suffix: str, packed: bool) -> None:
    content = {"csv": as_csv(ARTICLES), "tsv": as_csv(ARTICLES, "\t")}.get(suffix, as_jsonl(ARTICLES))
    stored = gzip.compress(content) if packed else content
    assert folder.read(f"news.{suffix}" + packed * ".gz", stored) == (ARTICLES, [])
    assert folder.reader.bytes_read == folder.reader.bytes_total == len(stored)
    assert not folder.reader.truncated


def test_gzip_is_recognised_by_its_bytes_not_its_name(folder: Folder) -> None:
    assert folder.read("a.jsonl", gzip.compress(as_jsonl(ARTICLES))) == (ARTICLES, [])
    assert folder.read("b.jsonl.gz", as_jsonl(ARTICLES)) == (ARTICLES, [])


def test_gzip_of_several_members_and_padding(folder: Folder) -> None:
    members = [gzip.compress(as_jsonl([article])) for article in ARTICLES]
    assert folder.read("a.jsonl.gz", b"".join(members) + b"\0" * 100_000) == (ARTICLES, [])
    assert not folder.reader.truncated


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_gzip_bomb_is_unpacked_in_steps(folder: Folder, extra: int) -> None:
    blank = (b" " * 999 + b"\n") * 16_000
    blank += b" " * (16 * packed.UNPACKED_CHUNK_BYTES - len(blank) - len(line()) + extra - 1) + b"\n"
    path = folder.write("a.jsonl.gz", gzip.compress(blank + line()))
    tracemalloc.start()
    try:
        assert list(read_articles(path)) == [Article("a", "b")]
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_an_explicit_format_wins_over_the_name(folder: Folder) -> None:
    assert folder.read("a.csv", as_jsonl(ARTICLES), format="jsonl") == (ARTICLES, [])
    assert folder.read("a.txt", as_csv(ARTICLES), format="csv") == (ARTICLES, [])


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_standard_input_is_jsonl(monkeypatch: pytest.MonkeyPatch, pack: Any) -> None:
    stdin = Stdin(pack(as_jsonl(ARTICLES) + b"{\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    with read_articles("-") as reader:
        assert reader.bytes_total is None
        *articles, reject = list(reader)
    assert articles == ARTICLES
    assert isinstance(reject, Reject)
    assert (reject.file, reject.line) == ("<stdin>", 5)
    assert reader.bytes_read > 0
    assert not stdin.buffer.closed


def test_standard_input_can_be_csv_but_not_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(as_csv(ARTICLES)))
    assert list(read_articles("-", format="csv")) == ARTICLES
    with pytest.raises(InputError, match="save it to a file"):
        read_articles("-", format="parquet")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        read_articles("-")


@pytest.mark.long("dedup", "migrations")
def test_articles_come_as_they_are_read(folder: Folder) -> None:
    path = folder.write("a.jsonl", as_jsonl(ARTICLES) * 2000)
    tracemalloc.start()
    try:
        with read_articles(path) as reader:
            halfway = next(item for item in reader if reader.bytes_read > path.stat().st_size // 2)
            assert isinstance(halfway, Article)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# fields


def test_the_default_names_are_tried_in_order(folder: Folder) -> None:
    lines = line("i", body="x") + line("i", text=None, body="from body") + line("i", None, content="c")
    articles, rejects = folder.read("a.jsonl", lines)
    assert [article.text for article in articles] == ["b", "from body", "c"]
    assert not rejects
    header = b"id,link,publisher,published,lang,body,unused\n"
    articles, _ = folder.read("a.csv", header + b"1,u,p,2024-05-01T12:00Z,en,t,\n")
    assert articles == [Article("1", "t", None, "u", "p", NOON, None, "en")]


def test_mapped_fields_replace_the_default_names(folder: Folder) -> None:
    fields = parse_field_map(["text = body", "publication=section=1"])
    assert fields == {"text": "body", "publication": "section=1"}
    row = {"id": "1", "text": "teaser", "body": "whole", "source": "no", "section=1": "yes"}
    articles, _ = folder.read("a.jsonl", json.dumps(row).encode(), fields=fields)
    assert (articles[0].text, articles[0].publication) == ("whole", "yes")
    content = ",".join(row) + "\n" + ",".join(row.values())
    assert folder.read("a.csv", content.encode(), fields=fields) == (articles, [])


@pytest.mark.parametrize("pair", ["text", "=body", "text=", "", "txt=body"])
def test_a_bad_field_map_is_refused(pair: str) -> None:
    with pytest.raises(InputError):
        parse_field_map([pair])


def test_an_unknown_field_is_named_with_the_list(folder: Folder) -> None:
    with pytest.raises(InputError, match="'headline'; the fields are source_id, text, title,"):
        parse_field_map(["headline=h"])
    assert "'headline'" in folder.refuse("a.jsonl", b"", fields={"headline": "h"})
    with pytest.raises(InputError, match="text is mapped twice"):
        parse_field_map(["text=a", "text=b"])


# files that cannot be used at all


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def message(path: Path | str) -> str:
        with pytest.raises(InputError) as caught:
            read_articles(path)
        return str(caught.value)

    assert "no such file" in message(tmp_path / "none.jsonl")
    assert "no such file" in message(tmp_path / "none")
    assert "no such file" in message(tmp_path / "none.parquet")
    assert "is a directory" in message(tmp_path)
    (tmp_path / "d.jsonl").mkdir()
    assert "is a directory" in message(tmp_path / "d.jsonl")
    assert "cannot be opened" in message("a\0.jsonl")
    assert "cannot be opened" in message("a" * 5000 + ".jsonl")

    def deny(*args: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")  # root may read any file, so chmod would test nothing

    monkeypatch.setattr(Path, "open", deny)
    assert "chmod +r" in message(tmp_path / "a.jsonl")


def test_unknown_formats(folder: Folder) -> None:
    assert "unknown format '.doc'" in folder.refuse("a.doc", b"")
    assert "unknown format '.txt'" in folder.refuse("a.txt.gz", b"")
    assert "unknown format ''" in folder.refuse("news", b"")
    assert "the formats are jsonl, json, csv, tsv" in folder.refuse("a.jsonl", b"", format="doc")


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_utf_16_is_read_by_its_byte_order_mark(folder: Folder, suffix: str, encoding: str) -> None:
    text = (as_jsonl(ARTICLES) if suffix == "jsonl" else as_csv(ARTICLES)).decode()
    content = f"\ufeff{text}".encode(encoding)
    for stored in (content, gzip.compress(content)):
        assert folder.read(f"a.{suffix}", stored) == (ARTICLES, [])
        assert folder.reader.understood.encoding == encoding[:6].upper()


def test_a_failing_disk_is_an_error_not_an_end(folder: Folder) -> None:
    reader = read_articles(folder.write("a.jsonl", as_jsonl(ARTICLES) * 1000))

    def fail(size: int) -> bytes:
        raise OSError(5, "Input/output error")

    reader._opened.source._read = fail  # type: ignore[union-attr]
    with pytest.raises(InputError, match="reading failed after"):
        list(reader)


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_a_csv_needs_a_header(folder: Folder, content: bytes) -> None:
    assert "has no header" in folder.refuse("a.csv", content)
    assert folder.read("a.jsonl", content) == ([], [])


def test_a_csv_needs_its_columns(folder: Folder) -> None:
    message = folder.refuse("a.csv", b"id,headline,story\n1,2,3\n")
    assert "no column for text (looked for: text, body, content.rendered, content, article," in message
    assert "its columns are id, headline, story; name the right column with --map text=COLUMN" in message
    assert "no column for source_id" in folder.refuse("a.csv", b"text\nx\n")
    assert "with --map source_id=COLUMN" in folder.refuse("a.csv", b"text\nx\n")
    assert "no column for url (looked for: place)" in folder.refuse(
        "a.csv", b"id,text,url\n", fields={"url": "place"}
    )
    assert "column 'text' appears twice" in folder.refuse("a.csv", b"id,text,text\n")
    assert "not UTF-8" in folder.refuse("a.csv", b"id,text,\xe9t\xe9\n")
    assert "must end in" in folder.refuse("a.csv", b"id,text\r1,x\r")


def test_a_missing_header_does_not_show_the_article(folder: Folder) -> None:
    secret = "the minister resigned on Tuesday after a long debate"
    assert secret not in folder.refuse("a.csv", f"17,{secret}\n".encode())


# lines that are not articles


@pytest.mark.parametrize(
    ("content", "article"),
    [
        (line(17), Article("17", "b")),
        (line(-(10**400)), Article("-1" + "0" * 400, "b")),
        (line("1", ""), Article("1", "")),
        (line("1", "a\0b\ud800c"), Article("1", "a\0b\ud800c")),
        (b'{"id": "1", "text": "raw \t tab and \0 NUL"}', Article("1", "raw \t tab and \0 NUL")),
        (line("1", title="a\x07b\0c\ud800d"), Article("1", "b", title="a\x07bcd")),
        (line("1", title="", language="", published_at=""), Article("1", "b")),
        (line("1", published_at="2024-05-01"), Article("1", "b", published_at=DAY)),
        (line("1", score=float("nan"), more={"text": [1], "x": {"text": 2}}), Article("1", "b")),
        (b'{"x": 1, "id": "1", "x": 2, "text": "b", "y": {"text": 1, "text": 2}}', Article("1", "b")),
        (line("1", 'say "text": "text", "text"'), Article("1", 'say "text": "text", "text"')),
        (b"\xef\xbb\xbf" + line("1"), Article("1", "b")),
        (b"  " + line("1") + b" \t\r", Article("1", "b")),
    ],
)  # fmt: skip
def test_odd_lines_that_are_articles(folder: Folder, content: bytes, article: Article) -> None:
    assert folder.read("a.jsonl", content) == ([article], [])


def test_a_byte_order_mark_counts_only_at_the_start(folder: Folder) -> None:
    assert folder.read("a.csv", b"\xef\xbb\xbfid,text\n1,x\n") == ([Article("1", "x")], [])
    assert folder.read("a.csv", b'\xef\xbb\xbf"id","text"\n1,x\n') == ([Article("1", "x")], [])
    articles, rejects = folder.read("a.jsonl", (b"\xef\xbb\xbf" + line("1")) * 2)
    assert (len(articles), len(rejects)) == (1, 1)


def test_the_last_line_needs_no_newline(folder: Folder) -> None:
    assert folder.read("a.jsonl", line("1") + line("2").rstrip())[0] == [Article("1", "b"), Article("2", "b")]
    assert folder.read("a.csv", b"id,text\n1,x\n2,y")[0] == [Article("1", "x"), Article("2", "y")]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("size", "suffix"),
    [
        (8_000_000, "jsonl"),
        (8_000_000, "csv"),
    ],
)
def test_a_huge_line(folder: Folder, size: int, suffix: str) -> None:
    text = "word " * (size // 5)
    contents = {
        "jsonl": line("1", text) + line("2") + line("3", text)[:-3],
        "csv": f'id,text\n1,"{text}"\n2,b\n3,"{text}'.encode(),
    }
    articles, rejects = folder.read(f"a.{suffix}.gz", gzip.compress(contents[suffix], 1))
    assert [article.source_id for article in articles] == ["1", "2"]
    assert articles[0].text == text
    assert [len(reject.raw or "") for reject in rejects] == [record.MAX_RAW_BYTES]
    assert (rejects[0].length or 0) > size


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("size", [17_000_000, pytest.param(300_000_000, marks=pytest.mark.torture)])
def test_a_line_beyond_the_bound_is_refused_without_being_held(
    folder: Folder, size: int, suffix: str
) -> None:
    before, after = {"jsonl": (line("1"), line("3")), "csv": (b"id,text\n1,b\n", b"3,b\n")}[suffix]
    start = {"jsonl": b'{"id": "2", "text": "', "csv": b'2,"'}[suffix]
    path = folder.path / f"a.{suffix}.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(before + start)
        for _ in range(size // 1_000_000):
            file.write(b"word " * 200_000)
        file.write(b'"}\n' if suffix == "jsonl" else b'"\n')
        file.write(after)
    tracemalloc.start()
    try:
        one, reject, three = read_articles(path)
        assert tracemalloc.get_traced_memory()[1] < 3 * record.MAX_RECORD_BYTES
    finally:
        tracemalloc.stop()
    assert (one, three) == (Article("1", "b"), Article("3", "b"))
    assert isinstance(reject, Reject)
    assert reject.line == before.count(b"\n") + 1
    assert reject.length == size + len(start) + (2 if suffix == "jsonl" else 1)
    assert reject.reason == f"the record has {reject.length:,} bytes, the limit is 16,777,216"
    assert reject.raw == (start + b"word " * 300_000)[: record.MAX_RAW_BYTES]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("jsonl", b'{"id": "1", "text": "b", "x": [' + b'{"":0},' * 600_000 + b"0]}\n"),
        ("csv", b"1" + b"," * 1_000_001 + b"\n"),
        ("csv", b'1,"' + b"\n" * 1_000_001 + b'"\n'),
    ],
)
def test_a_record_of_too_many_values_is_refused_without_being_read(
    folder: Folder, suffix: str, content: bytes
) -> None:
    head, after = {"jsonl": (b"", line("2")), "csv": (b"id,text\n", b"2,b\n")}[suffix]
    path = folder.write(f"a.{suffix}", head + content + after)
    tracemalloc.start()
    try:
        reject, *others = read_articles(path)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    assert isinstance(reject, Reject)
    assert reject.reason == record.TOO_MANY_VALUES
    assert Article("2", "b") in others


@pytest.mark.long("dedup", "migrations")
def test_keys_of_which_one_appears_twice_take_time_in_proportion(folder: Folder) -> None:
    keys = b"".join(b'"%d": 0, ' % number for number in range(200_000))
    began = time.monotonic()
    articles, _ = folder.read("a.jsonl", b'{"id": "1", "text": "b", "x": {' + keys + b'"0": 1}}')
    assert articles == [Article("1", "b")]
    assert time.monotonic() - began < 30  # comparing every key with every other took minutes


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_record_for_which_there_is_no_memory_is_refused(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    def exhaust(given: Any, **fields: Any) -> Any:
        if given["source_id"] == "2":
            raise MemoryError
        return make_article(given)

    monkeypatch.setattr(readers, "make_article", exhaust)
    content = {"jsonl": line("1") + line("2") + line("3"), "csv": b"id,text\n1,b\n2,b\n3,b\n"}[suffix]
    articles, rejects = folder.read(f"a.{suffix}", content)
    assert [article.source_id for article in articles] == ["1", "3"]
    assert [reject.reason for reject in rejects] == [record.NO_MEMORY]


def test_a_line_for_which_there_is_no_memory_is_refused(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhaust(text: str) -> Any:
        if "MemoryError" in text:
            raise MemoryError
        return decode(text)

    decode = jsonl._parse
    monkeypatch.setattr(jsonl, "_parse", exhaust)
    articles, rejects = folder.read("a.jsonl", line("1") + line("MemoryError") + line("3"))
    assert [article.source_id for article in articles] == ["1", "3"]
    assert [(reject.line, reject.reason) for reject in rejects] == [(2, record.NO_MEMORY)]


# CSV


def read_csv(
    folder: Folder, content: bytes, **options: Any
) -> tuple[list[tuple[str, str]], list[tuple[int, str]]]:
    articles, rejects = folder.read("a.csv", content, **options)
    lines = content.split(b"\n")
    for reject in rejects:  # `raw` is the unchanged record
        raw = reject.raw
        assert isinstance(raw, bytes)
        assert raw == b"\n".join(lines[reject.line - 1 : reject.line + raw.count(b"\n")])
    return [(a.source_id, a.text) for a in articles], [(r.line, r.reason) for r in rejects]


def test_csv_rows_with_too_many_or_few_columns(folder: Folder) -> None:
    articles, rejects = read_csv(folder, b"id,text\n1\n\n2,b,c\n3,c\n \r\n,\n")
    assert articles == [("3", "c")]
    assert rejects == [
        (2, "the row has 1 column, the header 2"),
        (4, "the row has 3 columns, the header 2"),
        (7, "source_id is empty"),
    ]


def test_csv_lines_are_counted_where_a_record_starts(folder: Folder) -> None:
    content = b'\nid,text\r\n1,"two\r\nlines"\r\n,"three\n\n\nlines"\n2,ok\n3,"a\nb",c\n'
    articles, rejects = read_csv(folder, content)
    assert articles == [("1", "two\r\nlines"), ("2", "ok")]
    assert rejects == [(5, "source_id is empty"), (10, "the row has 3 columns, the header 2")]


def test_csv_quotes_that_do_not_match(folder: Folder) -> None:
    articles, rejects = read_csv(folder, b'id,text\n1,"a" b\n2,a "b" c\n3,"a ""b"""\n4,x\ry\n5,e\n')
    assert articles == [("2", 'a "b" c'), ("3", 'a "b"'), ("5", "e")]
    assert rejects == [
        (2, "broken CSV: text follows a closing quote; a quote within quotes must be doubled"),
        (5, "broken CSV: a carriage return outside quotes"),
    ]


def test_csv_quote_open_at_the_end_of_the_file(folder: Folder) -> None:
    articles, rejects = read_csv(folder, b'id,text\n1,a\n2,"b\nc\n3,d\n')
    assert articles == [("1", "a")]
    assert rejects == [(3, "a quote is opened and never closed: 3 lines refused")]
    _, rejects = read_csv(folder, b'id,text\n2,"b')
    assert rejects == [(2, "a quote is opened and never closed: the line refused")]


def test_csv_long_records_end_where_their_quotes_do(folder: Folder) -> None:
    forged = b'2,"' + b"thief,forged text\n" * 3 + b'thief,""forged""\n"\n'
    articles, rejects = folder.read("a.csv", b"id,text\n1,a\n" + forged + b"4,d\n", max_record_bytes=20)
    assert [article.source_id for article in articles] == ["1", "4"]
    length = len(forged) - 1
    assert [(r.line, r.reason, r.length) for r in rejects] == [
        (3, f"the record has {length} bytes, the limit is 20", length)
    ]
    assert forged.startswith(rejects[0].raw)  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [True, False])
def test_csv_quote_open_to_the_end_of_a_file_that_is_not_held(folder: Folder, cut: bool) -> None:
    content = b'id,text\n1,a\n2,"b\n' + b"3,ccccccc\n" * 2000 + b"4,d"
    packed = gzip.compress(content, 0)
    articles, rejects = folder.read("a.csv.gz", packed[: -8 * cut or None], max_record_bytes=20)
    assert [article.source_id for article in articles] == ["1"]
    reason = EARLY if cut else "a quote is opened and never closed: 2,002 lines refused".replace(",", "")
    assert [(r.line, r.reason, r.length) for r in rejects] == [(3, reason, len(content) - 12)]


def test_csv_bytes_that_are_not_utf_8(folder: Folder) -> None:
    articles, rejects = read_csv(folder, 'id,text\n1,café\n2,"x\né"\n3,ok\n'.encode("latin-1"))
    assert articles == [("3", "ok")]
    assert rejects == [(2, "line is not UTF-8"), (3, "line is not UTF-8")]


def test_csv_limit_of_the_process_is_left_as_it_was(folder: Folder) -> None:
    before = csv.field_size_limit(1000)
    try:
        path = folder.write("a.csv", b"id,text\n" + (b"1," + b"x" * 200_000 + b"\n") * 3)
        with read_articles(path) as one, read_articles(path) as two:
            assert csv.field_size_limit() == 1000
            next(one)
            next(two)
            assert len(list(one)) == 2  # closing one reader keeps the other's limit
            assert len(list(two)) == 2
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


# broken gzip


def damaged(content: bytes, how: str) -> bytes:
    packed = gzip.compress(content)
    if how == "truncated":
        return packed[: len(packed) * 3 // 4]
    if how == "checksum":
        return packed[:-8] + b"\1\2\3\4" + packed[-4:]
    if how == "garbage":
        return packed + b"garbage"
    return packed[:-4]  # the case "trailer"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("how", ["truncated", "checksum", "garbage", "trailer"])
def test_damaged_gzip_is_one_reject_after_what_could_be_read(folder: Folder, suffix: str, how: str) -> None:
    texts = [f"{number * 7919 % 10007} \n{number**5}" for number in range(5_000)]
    originals = [Article(str(number), text) for number, text in enumerate(texts)]
    content = as_jsonl(originals) if suffix == "jsonl" else as_csv(originals)
    articles, rejects = folder.read(f"a.{suffix}.gz", damaged(content, how))
    assert articles == originals[: len(articles)]
    assert len(articles) > 3_000
    assert [reject.reason for reject in rejects] == [EARLY]
    before = b"".join(content.splitlines(keepends=True)[: rejects[0].line - 1])
    assert content.startswith(before + (rejects[0].raw or b""))  # type: ignore[operator]
    assert folder.reader.truncated


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_corrupt_gzip_ends_in_a_reject(folder: Folder, suffix: str) -> None:
    """Deflate may return nonsense for a while after a flipped byte. The damage is reported at the end."""
    originals = [Article(str(number), f"{number**5}") for number in range(5_000)]
    packed = bytearray(gzip.compress(as_jsonl(originals) if suffix == "jsonl" else as_csv(originals)))
    for index in range(len(packed) * 3 // 4, len(packed) * 3 // 4 + 500):
        packed[index] ^= 0xFF
    articles, rejects = folder.read(f"a.{suffix}.gz", bytes(packed))
    assert articles[:2_000] == originals[:2_000]
    assert [reject.reason for reject in rejects].index(EARLY) == len(rejects) - 1
    assert folder.reader.truncated


def test_gzip_cut_anywhere_loses_nothing_before_the_cut(folder: Folder) -> None:
    packed = gzip.compress(as_csv(ARTICLES[:2]), 0)  # uncompressed, so that a cut may be in any column
    header_ends = packed.index(b"\r\n") + len(b"\r\n")
    for cut in range(2, header_ends):
        with pytest.raises(InputError, match="has no header"):
            folder.read_piped(packed[:cut], "csv")
    for cut in range(header_ends, len(packed)):
        articles, rejects = folder.read_piped(packed[:cut], "csv")
        assert articles == ARTICLES[: len(articles)]
        assert [reject.reason for reject in rejects] == [EARLY]


def test_bad_csv_rows_before_a_cut_are_rejects_of_their_own(folder: Folder) -> None:
    content = b'id,text\n1,"a" b\n2,ok\n3,"open\nto the'
    articles, rejects = folder.read("a.csv.gz", gzip.compress(content)[:-8])
    assert articles == [Article("2", "ok")]
    assert [(reject.line, reject.raw) for reject in rejects] == [(2, b'1,"a" b'), (4, b'3,"open\nto the')]
    assert rejects[1].reason == EARLY


def test_an_emptied_gzip_is_not_an_empty_file(folder: Folder) -> None:
    for content in (b"", b"\x1f"):
        assert [reject.reason for reject in folder.read("a.jsonl.gz", content)[1]] == [EARLY]
        assert EARLY in folder.refuse("a.csv.gz", content)
    assert folder.read("a.jsonl.gz", gzip.compress(b"")) == ([], [])


# Parquet


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(columns), path, **options)
    return path


def test_articles_survive_parquet(tmp_path: Path) -> None:
    articles = ARTICLES * 100
    columns = {name: [getattr(article, name) for article in articles] for name in DEFAULT_FIELDS}
    reader = read_articles(write_parquet(tmp_path / "a.parquet", columns, row_group_size=90))
    assert list(reader) == articles
    assert reader.bytes_read == reader.bytes_total == (tmp_path / "a.parquet").stat().st_size
    empty = write_parquet(tmp_path / "b.parquet", {"id": [], "text": []})
    assert list(read_articles(empty)) == []


def test_parquet_rows_that_are_not_articles(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", {"id": [1, 2, None, 4], "body": ["a", None, "c", ""]})
    assert list(read_articles(path)) == [
        Article("1", "a"),
        Reject(str(path), 2, "text is missing", '{"source_id": 2}', None, "2"),
        Reject(str(path), 3, "source_id is missing", '{"text": "c"}'),
        Article("4", ""),
    ]
    path = write_parquet(path, {"id": [1.5], "text": [b"a"]})
    assert [getattr(item, "reason", "") for item in read_articles(path)] == [
        "source_id must be a string, not float"
    ]


def test_parquet_times_of_every_kind(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    seconds = int(DAY.timestamp())
    kinds: list[tuple[Any, int]] = [
        (pa.date32(), seconds // 86_400),
        (pa.timestamp("s"), seconds),
        (pa.timestamp("ms", "Europe/Oslo"), seconds * 1000),
        (pa.timestamp("us", "+02:00"), seconds * 10**6),
        (pa.timestamp("ns"), seconds * 10**9 + 999),
        (pa.timestamp("ns", "Not/AZone"), seconds * 10**9 + 999),
    ]
    for kind, value in kinds:
        times = pa.array([value, None], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        path = write_parquet(tmp_path / "a.parquet", {"id": ["1", "2"], "text": ["", ""], "date": times})
        articles = list(read_articles(path))
        assert articles == [Article("1", "", published_at=DAY), Article("2", "")], kind


def test_parquet_values_python_cannot_hold(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    late = pa.array([0, 10**12], pa.int64()).cast(pa.timestamp("s"))
    path = write_parquet(tmp_path / "a.parquet", {"id": ["1", "2"], "text": ["", ""], "date": late})
    assert list(read_articles(path, lose_dates=True)) == [
        Article("1", "", published_at=datetime(1970, 1, 1, tzinfo=UTC)),
        Repair(str(path), 2, "2", "published_at", "published_at cannot be read", ""),
        Article("2", ""),
    ]
    latin = pa.array([b"ok", b"caf\xe9"], pa.binary()).view(pa.string())
    path = write_parquet(tmp_path / "b.parquet", {"id": ["1", "2"], "text": latin})
    article, reject = read_articles(path)
    assert isinstance(article, Article)
    assert reject == Reject(str(path), 2, "text cannot be read", b'{"source_id": "2"}', None, "2")


def test_parquet_needs_its_columns(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", {"id": ["1"], "story": ["x"]})
    with pytest.raises(InputError, match="no column for text"):
        read_articles(path)
    assert list(read_articles(path, fields={"text": "story"})) == [Article("1", "x")]
    with pytest.raises(InputError, match="no column for title"):
        read_articles(path, fields={"text": "story", "title": "none"})


def test_parquet_that_is_not(folder: Folder) -> None:
    pytest.importorskip("pyarrow")
    for content in (b"", b"PAR1", b"id,text\n", b"PAR1" + b"\0" * 100 + b"PAR1"):
        assert "cannot be read as Parquet" in folder.refuse("a.parquet", content)
    assert "gunzip" in folder.refuse("a.parquet.gz", gzip.compress(b"PAR1"))


def test_parquet_damaged_within_the_data(tmp_path: Path) -> None:
    columns = {"id": [str(n) for n in range(1000)], "text": [f"{n * 7919}" for n in range(1000)]}
    path = write_parquet(tmp_path / "a.parquet", columns, row_group_size=100, use_dictionary=False)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = b"\xff" * 3000
    path.write_bytes(content)
    reader = read_articles(path)
    *articles, reject = reader
    assert len(articles) >= 64
    assert articles == [Article(str(n), f"{n * 7919}") for n in range(len(articles))]
    assert reject == Reject(str(path), len(articles) + 1, parquet.PARQUET_ENDS_EARLY, None)
    assert reader.truncated


def test_parquet_under_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"id": ["1"], "text": ["x"]})
    path = (tmp_path / "a.parquet").rename(tmp_path / "a\udcff.parquet")
    with read_articles(path) as reader:
        assert list(reader) == [Article("1", "x")]


def test_parquet_cells_that_are_too_long_or_nested(tmp_path: Path) -> None:
    texts = ["x" * 2_000, *["short"] * 20, "y" * 2_000]
    ids = [str(number) for number in range(len(texts))]
    path = write_parquet(tmp_path / "a.parquet", {"id": ids, "text": texts})
    first, *short, last = read_articles(path, max_record_bytes=1_000)
    assert short == [Article(str(number), "short") for number in range(1, 21)]
    assert [getattr(item, "reason", "")[:15] for item in (first, last)] == ["the record has "] * 2
    path = write_parquet(tmp_path / "b.parquet", {"id": ["1"], "text": ["x" * 600]})
    assert [getattr(item, "reason", "")[:15] for item in read_articles(path, max_record_bytes=50)] == [
        "the record has "
    ]
    path = write_parquet(tmp_path / "c.parquet", {"id": ["1", "2"], "text": [["x"] * 9, None]})
    assert [getattr(item, "reason", "") for item in read_articles(path)] == [
        "text must be a string, not list",
        "text is missing",
    ]


@pytest.mark.parametrize(
    ("name", "what"), [("a.parquet", "Parquet"), ("a.xlsx", "Excel"), ("a.zip", "a zip archive")]
)
def test_a_pipe_of_what_is_read_here_and_there_is_refused(tmp_path: Path, name: str, what: str) -> None:
    os.mkfifo(tmp_path / name)
    held = os.open(tmp_path / name, os.O_RDWR)
    try:
        with pytest.raises(InputError, match=f"not a regular file, which {what} needs"):
            read_articles(tmp_path / name)
    finally:
        os.close(held)


def test_parquet_without_pyarrow(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert installing("parquet") in folder.refuse("a.parquet", b"PAR1")


# any bytes at all

json_pieces = st.lists(
    st.sampled_from(
        [b"{", b"}", b'"id"', b'"text"', b":", b",", b'"a"', b'"', b"1", b"NaN", b"[", b"\n", b"\r", b"\0",
         b"null", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"\\ud800", b'{"id":1,"text":""}\n', b'{"id":2,']
    )
).map(b"".join)  # fmt: skip
csv_pieces = st.lists(
    st.sampled_from(
        [b",", b'"', b'""', b"\n", b"\r", b"a", b"1,b\n", b'2,"c\nd"\n', b"\0", b"\xff", b"\xc3\xa9"]
    )
).map(b"".join)
any_bytes = st.binary(max_size=200) | json_pieces


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=any_bytes, packed=st.booleans(), cut=st.integers(0, 12))
@example(content=b"\x1f\x8b\n\n", packed=False, cut=0)
@example(content=b"\x0b\x0c\n\x1c", packed=False, cut=0)
def test_every_line_of_any_bytes_is_an_article_or_a_reject(
    folder: Folder, content: bytes, packed: bool, cut: int
) -> None:
    stored = gzip.compress(content, 1) if packed else content
    stored = stored[: len(stored) - cut]
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        return  # test_utf_16_is_read_by_its_byte_order_mark covers this
    articles, rejects = folder.read_piped(stored, "jsonl")
    if folder.reader.understood.format == "json":  # test_json.py covers this
        return
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    filled = [number for number, text in enumerate(lines, 1) if text.strip()]
    if stored.startswith(b"\x1f\x8b"):
        assert folder.reader.truncated == (not packed or cut > 0)
        assert len(articles) + len(rejects) <= len(filled) + 1
    elif not packed and cut == 0:
        assert len(articles) + len(rejects) == len(filled)
        assert {reject.line for reject in rejects} <= set(filled)
        assert all(reject.raw == lines[reject.line - 1] for reject in rejects)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=100) | csv_pieces, headed=st.booleans())
def test_every_row_of_any_csv_is_an_article_or_a_reject(folder: Folder, content: bytes, headed: bool) -> None:
    content = b"id,text\n" * headed + content
    try:
        articles, rejects = folder.read_piped(content, "csv")
    except InputError:
        assert not headed
        return
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for reject in rejects:
        assert isinstance(reject.raw, bytes)
        assert reject.raw.split(b"\n") == lines[reject.line - 1 : reject.line + reject.raw.count(b"\n")]
    if b'"' not in content:  # without quotes, every line is a record
        assert len(articles) + len(rejects) == sum(1 for text in lines if text.strip(b" \r")) - headed


def test_a_command_that_reads_no_file_does_not_wait_for_what_reads_files() -> None:
    script = "import sys, dedup.files.readers; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"decimal", "logging", "pyarrow", "trafilatura", "dedup.base.html", "dedup.files.feeds"}
    assert heavy & set(done.stdout.split()) == set()


@pytest.mark.parametrize(
    ("given", "byline"),
    [
        ("By Ada Roe", "By Ada Roe"),
        (["Ada Roe", "Bo Day"], "Ada Roe, Bo Day"),
        ([{"@type": "Person", "name": "Ada Roe"}, {"name": " Bo Day "}, {"id": 7}, None], "Ada Roe, Bo Day"),
        ({"name": "Vantage Wire"}, "Vantage Wire"),
        ([], None),
        ({"name": ["Ada"]}, None),
        ("", None),
    ],
)
@pytest.mark.parametrize("name", ["byline", "authors", "Author", "dc:creator", "by"])
def test_who_wrote_an_article_is_its_byline(
    tmp_path: Path, name: str, given: Any, byline: str | None
) -> None:
    path = tmp_path / "news.jsonl"
    path.write_bytes(line(**{name: given}))
    (article,) = read_articles(path)
    assert isinstance(article, Article)
    assert article.byline == byline


def test_a_list_of_authors_in_parquet_is_a_byline(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = pa.table({"id": ["a", "b"], "text": ["x", "y"], "authors": [["Ada Roe", "Bo Day"], None]})
    pyarrow.parquet.write_table(table, tmp_path / "news.parquet")
    found = read_articles(tmp_path / "news.parquet")
    assert [isinstance(one, Article) and one.byline for one in found] == ["Ada Roe, Bo Day", None]
