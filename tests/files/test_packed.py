"""Compressed files and archives are read; of a damaged file, the records before the damage are stored."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files import packed
from dedup.files.readers import Item, Reject, read_articles
from tests.files.hostile import zstd
from tests.files.items import read, refuse

ARTICLES = [Article(str(number), f"The ferry was late.\n{number}") for number in range(50)]
ROWS = [{"id": article.source_id, "text": article.text} for article in ARTICLES]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)

PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


def archive(path: Path, members: dict[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


# Streams


@pytest.mark.parametrize("suffix", PACKINGS)
def test_a_packed_file_is_what_it_holds(tmp_path: Path, suffix: str) -> None:
    stored = PACKINGS[suffix](LINES)
    # The bytes decide the format, not the name.
    for name in (f"a.jsonl{suffix}", f"A.JSONL{suffix.upper()}", "a.jsonl"):
        (tmp_path / name).write_bytes(stored)
        items, reader = read(tmp_path / name)
        assert items == ARTICLES
        assert (reader.bytes_read, reader.bytes_total, reader.truncated) == (len(stored), len(stored), False)
    with mock.patch.object(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(stored)})):
        assert list(read_articles("-")) == ARTICLES


@pytest.mark.parametrize("suffix", PACKINGS)
def test_several_streams_and_padding_are_one_file(tmp_path: Path, suffix: str) -> None:
    pack = PACKINGS[suffix]
    half = LINES.index(b"\n", len(LINES) // 2) - 5
    (tmp_path / f"a.jsonl{suffix}").write_bytes(pack(LINES[:half]) + pack(LINES[half:]) + b"\0" * 40_000)
    assert read(tmp_path / f"a.jsonl{suffix}")[0] == ARTICLES


@pytest.mark.parametrize("suffix", PACKINGS)
@pytest.mark.parametrize("damage", ["cut", "garbage", "emptied"])
def test_a_damaged_one_keeps_what_came_before(tmp_path: Path, suffix: str, damage: str) -> None:
    stored = PACKINGS[suffix](LINES)
    left = {"cut": stored[:-3], "garbage": stored + b"garbage", "emptied": stored[:1]}[damage]
    (tmp_path / f"a.jsonl{suffix}").write_bytes(left)
    items, reader = read(tmp_path / f"a.jsonl{suffix}")
    *articles, last = items
    assert articles == ARTICLES[: len(articles)]
    assert articles == ARTICLES or damage != "garbage"
    assert isinstance(last, Reject)
    kind = packed.PACKED_SUFFIXES[suffix]
    assert (last.reason, reader.truncated) == (
        f"{kind} stream ends early: the rest of the file is missing",
        True,
    )


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("suffix", PACKINGS)
def test_a_bomb_is_unpacked_in_steps(tmp_path: Path, suffix: str) -> None:
    member = PACKINGS[suffix]((b" " * 999 + b"\n") * 20_000)
    (tmp_path / f"a.jsonl{suffix}").write_bytes(member * 3 + PACKINGS[suffix](LINES))
    tracemalloc.start()
    try:
        assert read(tmp_path / f"a.jsonl{suffix}")[0] == ARTICLES
        assert tracemalloc.get_traced_memory()[1] < 30_000_000  # the decompressor of xz keeps 8 MB twice
    finally:
        tracemalloc.stop()


def test_a_stream_that_wants_much_memory_is_refused(tmp_path: Path) -> None:
    forged = bytearray(lzma.compress(LINES))
    block, end = 12, 12 + 4 * forged[12]  # offsets of the block header and of its checksum
    forged[block + 4] = 36  # a dictionary of 1 GiB
    forged[end : end + 4] = zlib.crc32(forged[block:end]).to_bytes(4, "little")
    (tmp_path / "a.jsonl.xz").write_bytes(forged)
    assert "asks for more memory" in refuse(tmp_path / "a.jsonl.xz")
    options: dict[int, int] = {
        zstd.CompressionParameter.window_log: 30,
        zstd.CompressionParameter.enable_long_distance_matching: 1,
    }
    compressor = zstd.ZstdCompressor(options=options)
    (tmp_path / "a.jsonl.zst").write_bytes(compressor.compress(LINES) + compressor.flush())
    assert "asks for more memory" in refuse(tmp_path / "a.jsonl.zst")


def test_without_its_package_zstandard_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(zstd.compress(LINES))
    for name in ("backports", "backports.zstd", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert installing("zstd") in refuse(tmp_path / "a.jsonl.zst")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(), max_size=4), st.sampled_from(["json", "jsonl", "csv"]))
def test_however_it_is_packed_a_file_reads_the_same(tmp_path: Path, texts: list[str], suffix: str) -> None:
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    content = json.dumps(rows) if suffix == "json" else "\n".join(map(json.dumps, rows))
    if suffix == "csv":
        content = "id,text\n" + "".join(
            f'{row["id"]},"{text}"\n' for row, text in zip(rows, texts, strict=True)
        )
    plain = tmp_path / f"a.{suffix}"
    plain.write_bytes(content.encode(errors="surrogatepass"))
    wanted = read(plain)[0]
    archive(tmp_path / "a.zip", {plain.name: plain.read_bytes()})
    assert [_placeless(item) for item in read(tmp_path / "a.zip")[0]] == [_placeless(item) for item in wanted]
    for name, pack in PACKINGS.items():
        stored = tmp_path / f"{plain.name}{name}"
        stored.write_bytes(pack(plain.read_bytes()))
        assert [_placeless(item) for item in read(stored)[0]] == [_placeless(item) for item in wanted]


def _placeless(item: Item) -> Any:
    return item if isinstance(item, Article) else (item.line, item.reason, getattr(item, "raw", None))


# Archives


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_files_in_an_archive_are_read_as_one(tmp_path: Path, compression: int) -> None:
    csv = b"".join(f'{row["id"]};"{row["text"]}"\n'.encode() for row in ROWS[25:])
    parts = {
        "export/2018.csv": b"id,text\n" + b"".join(f'{r["id"]},"{r["text"]}"\n'.encode() for r in ROWS[:25]),
        "export/2019.csv.gz": gzip.compress(b"id;text\n" + csv),
        "export/": b"",
        "export/readme.pdf": b"%PDF",
        "__MACOSX/export/._2018.csv": b"\0\5",
        "export/.DS_Store": b"\0",
    }
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    items, reader = read(path)
    assert items == ARTICLES
    understood = reader.understood
    assert understood.files == ["export/2018.csv", "export/2019.csv.gz"]
    assert understood.not_read == ["export/readme.pdf"]
    assert understood.fields == {"source_id": {"id": 50}, "text": {"text": 50}}
    assert (understood.records, reader.truncated, reader.bytes_total) == (50, False, path.stat().st_size)
    assert 0 < reader.bytes_read <= path.stat().st_size


def test_a_refused_record_names_the_file_in_the_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a.jsonl": LINES, "b.jsonl": b"\n{}\n"})
    reject = read(path)[0][-1]
    assert isinstance(reject, Reject)
    assert (reject.file, reject.line) == (f"{path}/b.jsonl", 2)


def test_one_file_in_an_archive_that_cannot_be_used_makes_it_unusable_before_anything_is_read(
    tmp_path: Path,
) -> None:
    path = archive(tmp_path / "a.zip", {"a.csv": b"id,text\n1,b\n", "b.csv": b"other,names\n1,2\n"})
    assert f"{path}/b.csv has no column for source_id" in refuse(path)


def test_the_dates_of_an_archive_are_looked_at_together(tmp_path: Path) -> None:
    first, second = b"id,text,date\n1,a,05/06/2018\n", b"id,text,date\n2,b,28/09/2018\n"
    path = archive(tmp_path / "a.zip", {"a.csv": first, "b.csv": second})
    with read_articles(path) as reader:
        assert [str(getattr(item, "published_at", ""))[:10] for item in reader] == [
            "2018-06-05",
            "2018-09-28",
        ]


@pytest.mark.parametrize(
    ("members", "format", "message"),
    [
        ({}, None, "holds no file of a known format, but nothing"),
        ({"a.pdf": b"", "b.doc": b""}, None, "but a.pdf, b.doc; name the format"),
        ({"a.csv": b"", "b.jsonl": b""}, None, "holds files of csv and jsonl; unpack it first: unzip"),
        ({"a.parquet": b""}, None, "holds files of parquet; unpack it first: unzip"),
        ({"a.csv": b""}, "doc", "unknown format 'doc'"),
    ],
)
def test_an_archive_of_other_files_is_refused(
    tmp_path: Path, members: dict[str, bytes], format: str | None, message: str
) -> None:
    assert message in refuse(archive(tmp_path / "a.zip", members), format=format)


def test_the_format_may_be_said_of_an_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"dump": LINES})
    assert read(path, format="jsonl")[0] == ARTICLES
    path = archive(tmp_path / "a.zip", {"a.jsonl": LINES, "b.csv": b"x"})
    items, reader = read(path, format="jsonl")
    assert (items, reader.understood.not_read) == (ARTICLES, ["b.csv"])


def test_a_file_with_a_password_or_packed_in_an_unusual_way_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a.jsonl": LINES})
    content = bytearray(path.read_bytes())
    for at in (content.index(b"PK\x01\x02") + 8, content.index(b"PK\x03\x04") + 6):
        content[at] |= 1
    path.write_bytes(content)
    assert f"{path}/a.jsonl needs a password; unpack it first: unzip {path}" in refuse(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as made:
        made.writestr("a.jsonl", LINES)
    assert "is packed in an unusual way" in refuse(path)


@pytest.mark.parametrize("damage", ["cut", "checksum", "middle"])
def test_a_damaged_archive_is_told(tmp_path: Path, damage: str) -> None:
    rows = b"".join(b'{"id": %d, "text": "%d"}\n' % (n, n * 7919 % 10007) for n in range(20_000))
    path = archive(tmp_path / "a.zip", {"a.jsonl": rows})
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
        assert "is not a whole zip archive; check it with: unzip -t" in refuse(path)
        return
    at = content.index(b"PK\x01\x02") + 16 if damage == "checksum" else len(content) // 2
    content[at : at + 4] = bytes(byte ^ 0xFF for byte in content[at : at + 4])
    path.write_bytes(content)
    items, reader = read(path)
    last = items[-1]
    assert isinstance(last, Reject)
    assert last.reason == "file within the archive ends early: the rest of the file is missing"
    assert reader.truncated
    assert sum(isinstance(item, Article) for item in items) > 5_000


@pytest.mark.long("dedup", "migrations")
def test_an_archive_is_no_bomb(tmp_path: Path) -> None:
    member = (b" " * 999 + b"\n") * 60_000
    path = archive(tmp_path / "a.zip", {"a.jsonl": member + LINES})
    tracemalloc.start()
    try:
        assert read(path)[0] == ARTICLES
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_an_archive_of_very_many_files_is_refused_before_they_are_held(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a.jsonl": LINES})
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02")
    entry, end = content[at : content.index(b"PK\x05\x06")], bytearray(content[-22:])
    count = packed.MAX_DIRECTORY_BYTES // len(entry) + 1
    end[12:16] = (len(entry) * count).to_bytes(4, "little")
    path.write_bytes(content[:at] + entry * count + end)
    assert "holds too many files" in refuse(path)


def test_an_archive_is_told_where_it_cannot_be_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a.jsonl": LINES})
    with (
        mock.patch.object(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(path.read_bytes())})),
        pytest.raises(InputError, match=r"<stdin> is a zip archive; save it to a file with the suffix \.zip"),
    ):
        read_articles("-")
    (tmp_path / "a.jsonl").write_bytes(path.read_bytes())
    assert "rename it to a name with the suffix .zip" in refuse(tmp_path / "a.jsonl")


def test_gzip_is_read_to_the_last_byte_whatever_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "UNPACKED_CHUNK_BYTES", 7)
    monkeypatch.setattr(packed, "PACKED_CHUNK_BYTES", 3)
    for pack in (gzip.compress, lzma.compress, zstd.compress, bz2.compress):
        with mock.patch.object(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(pack(LINES))})):
            assert list(read_articles("-")) == ARTICLES


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_files_of_one_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, content in (("a.jsonl", LINES), ("b.jsonl", b""), ("a.jsonl", b"{}\n")):
            made.writestr(name, content)
    assert refuse(path) == (f"{path} holds several files named a.jsonl; unpack them with: unzip -B {path}")
    with zipfile.ZipFile(path, "w") as made:  # duplicate names of unread files do no harm
        for name, content in (("a.jsonl", LINES), ("a/.DS_Store", b""), ("a/.DS_Store", b"")):
            made.writestr(name, content)
    assert read(path)[0] == ARTICLES
