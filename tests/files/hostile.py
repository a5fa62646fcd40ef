"""Make two hundred hostile files from a seed, each with the good records that a load must store.

`make` writes the files. Run as a program, this module loads the files of a list one after another, like
the command line, and prints the result of each load and its memory:

    python -m tests.files.hostile LIST
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import random
import resource
import sys
import threading
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

MIB = 1_048_576
PARAGRAPH = "The ferry to Port Marlow was late again on Monday, and nobody on the pier was surprised. "
HARMFUL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202edrow\u2066\u200f\u2028\x85\r"


@dataclass
class Case:
    """A hostile file, and the right result of its load.

    Attributes:
        content: bytes of the file; `make` keeps them only for a pipe.
        suffix: end of the file's name, which decides the format.
        good: id -> text of the records that must be stored.
        lines: number of records read; None if it is not certain.
        codes: right exit codes.
        write: function that makes the file at a path, if it is not simply `content`.
    """

    suffix: str
    content: bytes = b""
    good: dict[str, str] = field(default_factory=dict)
    lines: int | None = None
    codes: tuple[int, ...] = (0,)
    write: Callable[[Path], None] | None = None
    name: str = ""


class Maker:
    """A maker of hostile files; `large`: as large as in an attack, else small enough for daily tests."""

    def __init__(self, seed: int, large: bool) -> None:
        self.rng = random.Random(seed)
        self.large = large
        self.serial = 0

    def records(self, count: int, **fields: Any) -> list[dict[str, Any]]:
        found = []
        for _ in range(count):
            self.serial += 1
            text = PARAGRAPH * self.rng.randint(1, 5) + f"It was number {self.serial}."
            found.append({"id": f"good-{self.serial}", "text": text, **fields})
        return found

    def few(self) -> list[dict[str, Any]]:
        return self.records(self.rng.randint(1, 20))

    def size(self, small: int, large: int) -> int:
        return self.rng.randint(large // 2, large) if self.large else small

    def noise(self, count: int) -> bytes:
        return self.rng.randbytes(count)


def jsonl(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def csv(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(f'{r["id"]},"{r["text"]}"\n'.encode() for r in records)


def good(*groups: list[dict[str, Any]]) -> dict[str, str]:
    return {record["id"]: record["text"] for group in groups for record in group}


def around(maker: Maker, bad: bytes, bad_lines: int, suffix: str = ".jsonl") -> Case:
    """Make bad records with good records before and after them."""
    before, after = maker.few(), maker.few()
    write, head = (jsonl, b"") if suffix.startswith(".jsonl") else (csv, b"id,text\n")
    content = head + write(before) + bad + write(after)
    content = gzip.compress(content, 1) if suffix.endswith(".gz") else content
    return Case(suffix, content, good(before, after), len(before) + bad_lines + len(after))


BAD_LINES: tuple[bytes, ...] = (
    b"{",
    b"[]",
    b"null",
    b"NaN",
    b'{"id": 1}',
    b'{"text": "x"}',
    b'{"id": {"$ne": null}, "text": "x"}',
    b'{"id": "x", "text": ["x"]}',
    b'{"id": "x", "text": 1e999}',
    b'{"id": "x", "text": "x", "title": {"a": 1}}',
    b'{"id": "x", "text": "x", "published_at": 1e308}',
    b'{"id": "x", "text": "x", "published_at": "99999-01-01"}',
    b'{"id": "x", "text": "x", "language": "' + b"l" * 65 + b'"}',
    b'{"id": "a\\u0000b", "text": "x"}',
    b'{"id": "\\ud800", "text": "x"}',
    b'{"id": "' + b"i" * 1025 + b'", "text": "x"}',
    b'{"id": "x", "text": "\xff\xfe"}',
    b'{"id": "x", "text": "\xed\xa0\x80"}',
    b'{"id": "x", "id": "y", "text": "x"}',
    b'{"id": ' + b"9" * 5000 + b', "text": "x"}',
    b'{"id": "x", "text": "x"}{"id": "y", "text": "y"}',
    b"\0" * 100,
    HARMFUL.encode(),
)


def bad_lines(maker: Maker) -> Case:
    chosen = maker.rng.choices(BAD_LINES, k=10)
    return around(maker, b"".join(line + b"\n" for line in chosen), 10)


def bad_lines_packed(maker: Maker) -> Case:
    return around(maker, b"\n".join(BAD_LINES) + b"\n", len(BAD_LINES), ".jsonl.gz")


def deep(maker: Maker) -> Case:
    depth = maker.rng.choice([1_000, 100_000, 1_000_000])
    opening, closing = maker.rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    nested = opening * depth + b"0" + closing * depth
    return around(maker, b'{"id": "deep", "text": "x", "a": ' + nested + b"}\n", 1)


def many_values(maker: Maker) -> Case:
    piece = maker.rng.choice([b'{"":0},', b"[],", b"1.5,", b'"ab",'])
    return around(maker, b'{"id": "x", "text": "", "a": [' + piece * 900_000 + b"0]}\n", 1)


def many_keys(maker: Maker) -> Case:
    keys = b"".join(b'"%d":0,' % number for number in range(150_000))
    return around(maker, b"{" + keys + b'"7":0,"id":"twice","text":["x"]}\n', 1)


def huge_number(maker: Maker) -> Case:
    digits = b"9" * maker.size(100_000, 8_000_000)
    return around(maker, b'{"id": "x", "text": ' + digits + b"." + digits + b"}\n", 1)


def blank_lines(maker: Maker) -> Case:
    return around(maker, maker.rng.choice([b"\n", b" \t\r\n"]) * maker.size(10_000, 2_000_000), 0)


def line_ends(maker: Maker) -> Case:
    records = maker.few()
    content = jsonl(records).replace(b"\n", b"\r\n").rstrip()
    return Case(".jsonl", b"\xef\xbb\xbf" + content, good(records), len(records))


def carriage_returns(maker: Maker) -> Case:
    return Case(".jsonl", jsonl(maker.records(3)).replace(b"\n", b"\r"), {}, 1)


def repeated(maker: Maker) -> Case:
    records = maker.records(maker.size(300, 3_000))
    edited = [{**record, "text": record["text"] + " Edited."} for record in records]
    every = [*records, *records[:100], *edited]
    maker.rng.shuffle(every)
    last = {record["id"]: record["text"] for record in every}
    return Case(".jsonl", jsonl(every), last, len(every))


def encoded(maker: Maker) -> Case:
    encoding = maker.rng.choice(["utf-16", "utf-32", "utf-16-le", "utf-16-be"])
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    records = maker.few()
    content = mark + jsonl(records).decode().encode(encoding) + b"\xd8"
    return Case(".jsonl", content, good(records), len(records) + 1)


def document(maker: Maker) -> Case:
    """Make an answer of a web service, with bad items between its articles."""
    bad: list[tuple[bytes, int]] = [
        *((line, 1) for line in BAD_LINES if line.startswith((b"{", b"null")) and line != b"{"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, 1),
        (b'{"id": "x", "text": "' + b'long \\" [' * (maker.size(4, 40) * MIB // 9) + b'"}', 1),
        (b" ,\n" * maker.size(10_000, 2_000_000), 0),
    ]
    chosen = [piece for piece in maker.rng.choices(bad, k=6) if b"}{" not in piece[0]]
    before, after = maker.few(), maker.few()
    pieces = [*jsonl(before).splitlines(), *(piece for piece, _ in chosen), *jsonl(after).splitlines()]
    content = b'{"status": "ok",\n"articles": [' + b",\n".join(pieces) + b"]}"
    lines = len(before) + sum(count for _, count in chosen) + len(after)
    return Case(".json", content, good(before, after), lines)


def document_cut(maker: Maker) -> Case:
    records = maker.records(300)
    whole = json.dumps({"items": records}).encode()
    cut = maker.rng.randint(whole.index(b"good-%d" % (maker.serial - 100)), len(whole) - 1)
    return Case(".json", whole[:cut], good(records[:190]), None, (1,))


def packed_otherwise(maker: Maker) -> Case:
    """Make a line of up to 1.6 GB, packed by bzip2, xz or zstd."""
    packings: list[tuple[str, Callable[[bytes], bytes]]]
    packings = [(".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd.compress)]
    suffix, pack = maker.rng.choice(packings)
    before, after = maker.few(), maker.few()
    content = pack(jsonl(before) + b'{"id": "x", "text": "')
    content += pack(b"x" * (64 * MIB)) * maker.size(1, 24) + pack(b'"}\n' + jsonl(after))
    return Case(f".jsonl{suffix}", content, good(before, after), len(before) + 1 + len(after))


def zipped(maker: Maker) -> Case:
    """Make an archive with a bomb, a file of random bytes, and names that lead outside the archive."""
    before, after = maker.few(), maker.few()
    bomb = b'{"id": "x", "text": "' + b"x" * (maker.size(20, 300) * MIB) + b'"}\n'
    names = ["../../etc/passwd.jsonl", "/etc/x.jsonl", f"{HARMFUL}.jsonl", "a" * 60_000 + ".jsonl"]
    names = maker.rng.sample(names, 3)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in zip(names, (jsonl(before), bomb, jsonl(after)), strict=True):
            made.writestr(name, content)
        made.writestr("other.bin", maker.noise(100))
    return Case(".zip", file.getvalue(), good(before, after), len(before) + 1 + len(after))


def zip_noise(maker: Maker) -> Case:
    content = bytearray(zipped(maker).content[: maker.rng.choice([-1, -30, 200])])
    for _ in range(maker.rng.randint(0, 20)):
        content[maker.rng.randrange(len(content))] = maker.rng.randrange(256)
    return Case(".zip", bytes(content), codes=(0, 1, 2))


def workbook(records: list[dict[str, Any]], bad: Iterable[Any] = ()) -> bytes:
    import openpyxl

    made, file = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = made.create_sheet()
    for row in [["id", "text"], *([record["id"], record["text"]] for record in records), *bad]:
        sheet.append(row)
    made.save(file)
    return file.getvalue()


def excel_good(maker: Maker) -> Case:
    records = maker.few()
    bad = [[None, "x"], ["x"], [True, "x"], ["x", 7], ["i" * 2000, "x"], ["#REF!", "x"]]
    return Case(".xlsx", workbook(records, bad), good(records), len(records) + len(bad))


def excel_bomb(maker: Maker) -> Case:
    packed = io.BytesIO(workbook(maker.few()))
    part = maker.rng.choice(["xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"])
    cell = maker.rng.choice([b"<c/>", b"<row>", b"<x>" * 100, b'<c t="inlineStr"><is><t>' + b"x" * MIB])
    file = io.BytesIO()
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            head, end, tail = content.rpartition(b"</")
            new.writestr(
                name,
                head + cell * (maker.size(30, 300) * MIB // len(cell)) + end + tail
                if name == part
                else content,
            )
    return Case(".xlsx", file.getvalue(), codes=(0, 1, 2))  # a bomb in an unread part does no harm


def excel_noise(maker: Maker) -> Case:
    content = bytearray(workbook(maker.few()))
    for _ in range(maker.rng.randint(1, 30)):
        content[maker.rng.randrange(len(content))] = maker.rng.randrange(256)
    return Case(".xlsx", bytes(content[: maker.rng.choice([len(content), 300])]), codes=(0, 1, 2))


def latin(maker: Maker) -> Case:
    return around(maker, '{"id": "x", "text": "café"}\n'.encode("latin-1") * 5, 5)


def noise(maker: Maker) -> Case:
    suffix = maker.rng.choice([".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet", ".json"])
    return Case(suffix, maker.noise(maker.size(10_000, 3_000_000)), codes=(0, 1, 2))


def empty(maker: Maker) -> Case:
    suffix = maker.rng.choice([".jsonl", ".csv", ".tsv", ".parquet", ".jsonl.gz", ".csv.gz"])
    return Case(suffix, codes={".jsonl": (0,), ".jsonl.gz": (1,)}.get(suffix, (2,)))


def long_line(maker: Maker) -> Case:
    return around(maker, b'{"id": "x", "text": "' + b"long " * maker.size(4, 40) * MIB + b'"}\n', 1)


def long_texts(maker: Maker) -> Case:
    """Make good records, one of them so long that a corpus with default settings marks it failed."""
    letter = maker.rng.choice(["a", "я", "語", "🙂", "\\"])
    length = 15 * MIB // len(json.dumps(letter)[1:-1])
    records = [*maker.records(1), {"id": f"long-{maker.serial}", "text": letter * length}, *maker.records(1)]
    return Case(".jsonl", jsonl(records), good(records), 3)


def escaped_text(maker: Maker) -> Case:
    """Make a text of characters that JSON, SQL arrays and CSV escape."""
    record = {"id": f"escaped-{maker.serial}", "text": maker.rng.choice(["\\", '"']) * (7 * MIB)}
    return Case(".jsonl", jsonl([record]), good([record]), 1)


def wide_text(maker: Maker) -> Case:
    """Make a record in which one emoji makes Python store every character in four bytes."""
    record = {"id": f"wide-{maker.serial}", "text": "a" * (15 * MIB) + "🙂"}
    suffix = maker.rng.choice([".jsonl", ".csv"])
    if suffix == ".csv":
        return Case(suffix, b"id,text\n" + csv([record]), good([record]), 1)
    return Case(suffix, json.dumps(record, ensure_ascii=False).encode(), good([record]), 1)


def long_titles(maker: Maker) -> Case:
    records = maker.records(499, title="T" * 16_384)
    bad = maker.records(maker.size(5, 60), title="T" * 2_200_000)
    every = [*records[:250], *bad, *records[250:]]
    return Case(".jsonl", jsonl(every), good(records), len(every))


def packed_bomb(maker: Maker) -> Case:
    """Make a line of up to 6 GB, packed by gzip."""
    before, after = maker.few(), maker.few()
    member = gzip.compress(b"x" * (64 * MIB), 9)
    content = gzip.compress(jsonl(before) + b'{"id": "x", "text": "')
    content += member * maker.size(2, 96) + gzip.compress(b'"}\n' + jsonl(after))
    return Case(".jsonl.gz", content, good(before, after), len(before) + 1 + len(after))


def packed_blanks(maker: Maker) -> Case:
    records = maker.few()
    member = gzip.compress(b" " * 999_999 + b"\n", 9)
    return Case(
        ".jsonl.gz", member * maker.size(50, 500) + gzip.compress(jsonl(records)), good(records), len(records)
    )


def packed_twice(maker: Maker) -> Case:
    return Case(".jsonl.gz", gzip.compress(gzip.compress(jsonl(maker.few()))))


def packed_in_parts(maker: Maker) -> Case:
    records = maker.few()
    parts = b"".join(gzip.compress(jsonl([record])) for record in records)
    parts += gzip.compress(b"") * maker.size(100, 20_000)
    return Case(".jsonl.gz", parts + b"\0" * 10_000, good(records), len(records))


def packed_and_garbage(maker: Maker) -> Case:
    records = maker.few()
    return Case(
        ".jsonl.gz", gzip.compress(jsonl(records)) + b"garbage", good(records), len(records) + 1, (1,)
    )


def packed_and_cut(maker: Maker) -> Case:
    records = maker.records(2_000)
    suffix = maker.rng.choice([".jsonl.gz", ".csv.gz"])
    whole = gzip.compress(jsonl(records) if suffix.startswith(".jsonl") else b"id,text\n" + csv(records))
    # A third of the packed bytes holds at least the first hundred records.
    return Case(
        suffix, whole[: maker.rng.randint(len(whole) // 3, len(whole) - 1)], good(records[:100]), None, (1,)
    )


def packed_with_long_name(maker: Maker) -> Case:
    records = maker.few()
    whole = gzip.compress(jsonl(records))
    header = whole[:3] + b"\x08" + whole[4:10] + b"n" * maker.size(100_000, 8_000_000) + b"\0"
    return Case(".jsonl.gz", header + whole[10:], good(records), len(records))


def sparse(maker: Maker) -> Case:
    """Make a file with a hole: a giant line that takes no space on the disk."""
    before, after, hole = maker.few(), maker.few(), maker.size(40, 600) * MIB

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(jsonl(before))
            file.seek(hole, os.SEEK_CUR)
            file.write(b"\n" + jsonl(after))

    return Case(".jsonl", b"", good(before, after), len(before) + 1 + len(after), write=write)


def csv_wide(maker: Maker) -> Case:
    columns = 100_000
    records = maker.records(3)
    head = b"id,text," + b",".join(b"c%d" % number for number in range(columns)) + b"\n"
    rows = b"".join(csv([record])[:-1] + b"," * columns + b"\n" for record in records)
    return Case(".csv", head + rows + b"x,y\n", good(records), 4)


def csv_head(maker: Maker) -> Case:
    head = maker.rng.choice(
        [
            b"h" * maker.size(20, 60) * MIB,
            b"," * 2_000_000,
            b"id,text,text\n1,a,b",
            HARMFUL.encode() * 1000 + b",x",
            b'"id,text\n1,2\n',
            b"id,t\xe9xt\n1,x\n",
            b"id\0,text\n",
            b"\x1b[31mid,\x9btext,\xe2\x80\xae\n1,2,3\n",
        ]
    )
    return Case(".csv", head, codes=(2,))


def csv_rows(maker: Maker) -> Case:
    bad = [
        b"1\n",
        b"1,2,3\n",
        b'1,"a" b\n',
        b"\xff,x\n",
        b",x\n",
        b"a\0b,x\n",
        b"x\ry,z\n",
        b"," * 1_500_000 + b"\n",
    ]
    chosen = maker.rng.choices(bad, k=6)
    return around(maker, b"".join(chosen), 6, ".csv")


def csv_long(maker: Maker) -> Case:
    """Make a quoted value of many lines, longer than the limit; its lines look like rows."""
    forged = b"good-1,forged\n" * (maker.size(20, 60) * MIB // 14)
    return around(maker, b'x,"' + forged + b'"\n', 1, ".csv")


def csv_open_quote(maker: Maker) -> Case:
    records = maker.few()
    return Case(".csv", b"id,text\n" + csv(records) + b'x,"open\n1,2\n', good(records), len(records) + 1)


def parquet_of(columns: dict[str, Any], **options: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        with path.open("wb") as file:
            pyarrow.parquet.write_table(pyarrow.table(columns), file, **options)

    return write


def parquet_good(maker: Maker) -> Case:
    records = maker.records(500)
    columns = {name: [record[name] for record in records] for name in ("id", "text")}
    write = parquet_of(columns, row_group_size=maker.rng.choice([7, 500]))
    return Case(".parquet", b"", good(records), len(records), write=write)


def parquet_broken(maker: Maker) -> Case:
    inner = parquet_good(maker)
    assert inner.write is not None
    cut = maker.rng.random() < 0.5
    position = maker.rng.random()

    def write(path: Path) -> None:
        assert inner.write is not None
        inner.write(path)
        content = bytearray(path.read_bytes())
        at = int(len(content) * position)
        if cut:
            del content[at:]
        else:
            content[at : at + 400] = b"\xff" * len(content[at : at + 400])
        path.write_bytes(content)

    return Case(".parquet", b"", codes=(0, 1, 2), write=write)


def parquet_bomb(maker: Maker) -> Case:
    """Make a column in which every row has the same long text, stored once; or rows longer than the limit."""
    size = maker.size(2, 12) * MIB
    text, count = maker.rng.choice([("x" * size, 20), ("x" * (30 * MIB), 3)])
    maker.serial += 1
    fine = len(text) < 16 * MIB
    wanted = {f"bomb-{maker.serial}": text} if fine else {}
    columns = {"id": [f"bomb-{maker.serial}"] * count, "text": [text] * count}
    return Case(".parquet", b"", wanted, count, write=parquet_of(columns, dictionary_pagesize_limit=64 * MIB))


def parquet_nested(maker: Maker) -> Case:
    columns = {"id": ["x"] * 3, "text": [[None] * 1_000_000, [None], None]}
    return Case(".parquet", b"", lines=3, write=parquet_of(columns))


def feed(items: Iterable[bytes]) -> bytes:
    return b"<rss version='2.0'><channel><title>T</title>" + b"\n".join(items) + b"</channel></rss>"


def item(record: dict[str, Any]) -> bytes:
    return f"<item><guid>{record['id']}</guid><description>{record['text']}</description></item>".encode()


def xml_bad(maker: Maker) -> Case:
    records = maker.few()
    bad = [
        b"<item>",
        b"<item><guid>x</guid>",
        b"<item>&&& < <<</x></item>",
        b"<item>\xff\0\x0b</item>",
        b"</rss>",
    ]
    chosen = maker.rng.choices(bad, k=6)
    return Case(".xml", feed([*chosen, *map(item, records), *chosen]), good(records))


def xml_bomb(maker: Maker) -> Case:
    records = maker.few()
    rules = b"".join(b'<!ENTITY e%d "%s">' % (n + 1, b"&e%d;" % n * 50) for n in range(maker.size(5, 20)))
    bomb = b'<!DOCTYPE rss [<!ENTITY e0 "ha">' + rules + b"]>"
    bad = [b"<item><guid>x</guid><description a='&e5;'>&e5;</description></item>"]
    return Case(".xml", bomb + feed([*map(item, records), *bad]), good(records), len(records) + 1)


def xml_deep(maker: Maker) -> Case:
    before, after, depth = maker.few(), maker.few(), maker.size(5_000, 300_000)
    bad = maker.rng.choice([b"<a>" * depth, b"<a>" * depth + b"</a>" * depth, b"<a b='1'/>" * depth])
    items = [*map(item, before), b"<item>" + bad + b"</item>", *map(item, after)]
    return Case(".rss", feed(items), good(before, after), len(before) + 1 + len(after))


def xml_long(maker: Maker) -> Case:
    before, after = maker.few(), maker.few()
    bad = b"<item><![CDATA[" + b"long " * maker.size(4, 40) * MIB + b"]]></item>"
    return Case(
        ".atom.gz", gzip.compress(feed([*map(item, before), bad, *map(item, after)]), 1), good(before, after),
        len(before) + 1 + len(after),
    )  # fmt: skip


def directory(maker: Maker) -> Case:
    return Case(maker.rng.choice([".jsonl", ".csv", ".parquet"]), codes=(2,), write=Path.mkdir)


def missing(maker: Maker) -> Case:
    def write(path: Path) -> None:
        if maker.rng.random() < 0.5:
            path.symlink_to(path)

    return Case(maker.rng.choice([".jsonl", ".csv", ".parquet", ""]), codes=(2,), write=write)


def unknown(maker: Maker) -> Case:
    return Case(maker.rng.choice([".doc", ".jsonl.gz.zip", "", ".\x1b[31m"]), b"x", codes=(2,))


def pipe(maker: Maker) -> Case:
    """Make a pipe that its writer closes in the middle of a line."""
    records = maker.few()
    case = Case(".jsonl", jsonl(records) + b'{"id": "x", "te', good(records), len(records) + 1)
    case.write = os.mkfifo  # `_feed` fills the pipe during the load
    return case


def pipe_parquet(maker: Maker) -> Case:
    return Case(".parquet", b"PAR1", codes=(2,), write=os.mkfifo)


KINDS: tuple[Callable[[Maker], Case], ...] = (
    bad_lines, bad_lines_packed, deep, many_values, many_keys, huge_number, blank_lines, line_ends,
    carriage_returns, repeated, encoded, latin, noise, empty, long_line, long_texts, escaped_text, wide_text,
    long_titles, packed_bomb, packed_blanks, packed_twice, packed_in_parts, packed_and_garbage,
    packed_and_cut, packed_with_long_name, sparse, csv_wide, csv_head, csv_rows, csv_long, csv_open_quote,
    parquet_good, parquet_broken, parquet_bomb, parquet_nested, xml_bad, xml_bomb, xml_deep, xml_long,
    directory, missing, unknown, pipe, pipe_parquet, document, document_cut, packed_otherwise, zipped,
    zip_noise, excel_good, excel_bomb, excel_noise,
)  # fmt: skip

NAMES = (
    "plain",
    "esc\x1b]0;owned\x07\x1b[31m",
    "new\nloaded 1,000,000 articles",
    "c1\x9b2J",
    "bidi\u202elnosj\u2066",
    os.fsdecode(b"bytes\xff\xfe\x80"),
    "=cmd|' C calc'!A0",
    "$(reboot) `reboot` ; reboot",
    "n" * 220,
    "%s %(name)s {0} \\x1b",
    "[bold]markup[bold] :warning:",
    "\u2028separator\u0085",
)


def make(folder: Path, seed: int, count: int, *, large: bool) -> list[Case]:
    """Write `count` hostile files into a folder. Every kind comes once before any kind comes again."""
    maker = Maker(seed, large)
    cases = []
    for number in range(count):
        case = KINDS[number % len(KINDS)](maker)
        case.name = f"{number:03}-{NAMES[number % len(NAMES)]}{case.suffix}"
        path = folder / case.name
        if case.write is None:
            path.write_bytes(case.content)
        else:
            case.write(path)
        if not path.is_fifo():
            case.content = b""
        cases.append(case)
    return cases


def load(names: list[str], pipes: dict[str, str]) -> dict[str, Any]:
    """Load files one after another in this process. Return the output of each load, and the peak memory."""
    from dedup.cli import main

    runs = []
    for name in names:
        writer = threading.Thread(target=_feed, args=(name, pipes[name].encode())) if name in pipes else None
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if writer:
                writer.start()
            code = main.run(["load", "--json", "--lose-dates", "--", name])
            if writer:
                writer.join()
        runs.append({"code": code, "out": out.getvalue(), "err": err.getvalue(), "memory": memory()})
    return {"runs": runs, "memory": memory()}


def _feed(name: str, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(name, "wb", buffering=0) as file:  # noqa: PTH123
        file.write(content)


def memory() -> int:
    """Return the peak memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would include the parent's memory at the start
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps(load(given["names"], given["pipes"])))
