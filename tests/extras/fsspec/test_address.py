"""Files at addresses are read like local files: in a store by seeking, on a web server like a pipe."""

from __future__ import annotations

import gzip
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.extras.fsspec import address
from dedup.files.readers import read_articles
from tests.cli.conftest import Dedup
from tests.loops import each
from tests.test_architecture import loaded_by

ROWS = [{"id": f"a{n}", "text": "Words. " * 9, "date": f"{n % 12 + 1}/{n % 28 + 1}/2024"} for n in range(700)]
MANY = 20  # the server sends LINES this many times, then drops the connection
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def as_parquet() -> bytes:
    made = BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), made)
    return made.getvalue()


def as_zip() -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("news.jsonl", LINES)
    return made.getvalue()


def as_excel() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    assert book.active is not None
    for row in (["id", "text", "date"], *(list(row.values()) for row in ROWS)):
        book.active.append(row)
    made = BytesIO()
    book.save(made)
    return made.getvalue()


MADE: dict[str, Callable[[], bytes]] = {
    "news.jsonl": lambda: LINES,
    "news.jsonl.gz": lambda: gzip.compress(LINES),
    "news.parquet": as_parquet,
    "news.xlsx": as_excel,
    "news.zip": as_zip,
}


class StoreFile(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """A file of a store that is read in parts."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.store[self.path].getvalue()
        return content[start:end]


class Store(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory that opens its files like S3: every open file has a separate position."""

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **others: Any) -> Any:
        if mode == "rb":
            return StoreFile(self, path, mode, block_size)
        return super()._open(path, mode, block_size, **others)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store in memory that takes the place of S3."""
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "s3", Store)
    made = Store()
    yield made
    made.store.clear()


@pytest.mark.long("dedup", "migrations")
@each("name", MADE)
def test_a_store_is_read_as_a_disk_is(store: Store, tmp_path: Path, name: str) -> None:
    content = MADE[name]()
    (tmp_path / name).write_bytes(content)
    store.pipe(f"s3://bucket/{name}", content)
    with read_articles(tmp_path / name) as local, read_articles(f"s3://bucket/{name}") as remote:
        found = list(remote)
        assert found == list(local)
        assert len(found) == len(ROWS)
        # The whole file decides how dates are read, at an address as on a disk.
        assert remote.understood.dates == local.understood.dates
        assert remote.file == f"s3://bucket/{name}"
        assert remote.bytes_total == len(content)


class Web(BaseHTTPRequestHandler):
    """A web server with complete, broken and hostile answers."""

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        status = {"/none.jsonl": 404, "/closed.jsonl": 403, "/broken.jsonl": 500}.get(path, 200)
        body = gzip.compress(LINES) if path.endswith(".gz") else LINES
        self.send_response(status)
        if path == "/bomb.jsonl":
            body = gzip.compress(b" " * 30_000_000 + b"\n" + LINES)
            self.send_header("Content-Encoding", "gzip")
        if path == "/dropped.jsonl":
            body *= MANY
            self.send_header("Content-Length", str(2 * len(body)))
        elif path == "/little.jsonl" and self.command == "HEAD":
            self.send_header("Content-Length", "10")
        elif path != "/little.jsonl":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.long("dedup", "migrations")
@each("name", ["news.jsonl", "news.jsonl.gz", "bomb.jsonl", "little.jsonl"])
def test_a_web_server_is_read_like_a_pipe(web: str, name: str) -> None:
    with read_articles(f"http://{web}/{name}?sig=secret", lose_dates=True) as reader:
        found = [item for item in reader if isinstance(item, Article)]
        assert [item.source_id for item in found] == [row["id"] for row in ROWS]
        assert (reader.file, reader.bytes_total) == (f"http://{web}/{name}", None)


def test_a_connection_that_is_dropped_is_no_end(web: str) -> None:
    found: list[Any] = []

    def read() -> None:
        with read_articles(f"http://{web}/dropped.jsonl", lose_dates=True) as reader:
            found.extend(reader)

    with pytest.raises(InputError, match=r"reading failed after \d+ bytes: the server failed \(Client\w+\)"):
        read()
    ids = [item.source_id for item in found if isinstance(item, Article)]
    assert ids == [row["id"] for row in ROWS * MANY][: len(ids)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.jsonl", "no such file; check the address"),
        ("closed.jsonl", "no permission to read it; check the address, and your login for http://"),
        ("broken.jsonl", r"cannot be opened \(\w+\); check the address and the network"),
        ("news.parquet", "is not a regular file, which Parquet needs; save it to a file"),
        ("news.txt", "unknown format '.txt'"),
    ],
)
def test_an_error_names_the_address_without_secrets(web: str, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        read_articles(f"http://me:secret@{web}/{name}?sig=secret")
    assert str(caught.value).startswith(f"http://{web}/{name}")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd.csv", "ftp://x.example/a.csv", "s3://a/b.zip::s3://c/d.csv", "reference://x.csv"],
)
def test_only_stores_and_web_servers_are_opened(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "url_to_fs", None)
    with pytest.raises(
        InputError, match=r"addresses begin with one of https, http, s3, .*; or save the file"
    ):
        read_articles(url, format="csv")


def test_a_missing_package_of_a_store_is_named() -> None:
    with pytest.raises(InputError, match="gs:// needs the package gcsfs; install it with pip"):
        read_articles("gs://bucket/news.jsonl")


def test_nothing_of_it_is_imported_for_local_files() -> None:
    loaded = loaded_by("import dedup.files.readers, dedup.cli.load")
    assert not {"fsspec", "aiohttp", "pyarrow"} & set(loaded)


def test_the_command_loads_an_address(dedup: Dedup, store: Store) -> None:
    store.pipe("s3://bucket/news.jsonl", b'{"id": "a", "text": "b"}\n{"id": "c"}\n')
    said = dedup("load", "s3://bucket/news.jsonl")
    assert said.code == 0
    assert "read 2 lines: 1 new, 0 changed, 0 same, 0 superseded, 1 refused" in said.err
    assert Path("news.jsonl.rejects.jsonl").exists()
