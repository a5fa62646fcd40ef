"""The file of refused lines is complete, and overwrites no other file."""

from __future__ import annotations

import json
import os
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

from dedup.base.errors import InputError
from dedup.files.rejects import Reject, RejectsFile, Repair

EARLY = "gzip stream ends early: the rest of the file is missing"


def test_rejects_are_written_with_their_reasons(tmp_path: Path) -> None:
    path = tmp_path / "rejects.jsonl"
    with RejectsFile(path) as rejects:
        assert not path.exists()
        rejects.write(Reject("a.jsonl", 3, "line is not UTF-8", b"caf\xe9 \xc3\xa9"))
        assert path.exists()
        rejects.write(Reject("a.parquet", 4, "no", 'x\ud800"\n'))
        rejects.write(Reject("b\udcff.jsonl", 5, EARLY, None, 2_000_000, "b5"))
        rejects.write(Repair("a.jsonl", 6, "a6", "title", "title is a number: taken as text", "7"))
    rows = [json.loads(text) for text in path.read_bytes().splitlines()]
    assert [row.pop("at") for row in rows] == [rejects.at] * 4
    assert rows == [
        {"file": "a.jsonl", "line": 3, "id": None, "outcome": "refused", "reason": "line is not UTF-8",
         "raw": "caf\\xe9 é"},
        {"file": "a.parquet", "line": 4, "id": None, "outcome": "refused", "reason": "no",
         "raw": 'x\ud800"\n'},
        {"file": "b\udcff.jsonl", "line": 5, "id": "b5", "outcome": "refused", "reason": EARLY, "raw": None,
         "length": 2_000_000},
        {"file": "a.jsonl", "line": 6, "id": "a6", "outcome": "repaired",
         "reason": "title is a number: taken as text", "field": "title", "value": "7"},
    ]  # fmt: skip


def test_a_clean_load_leaves_no_rejects_file(tmp_path: Path) -> None:
    with RejectsFile(tmp_path / "r.jsonl"):
        pass
    assert not (tmp_path / "r.jsonl").exists()


def test_rejects_are_appended_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"at": "a run that was killed')
    for number in (1, 2):
        with RejectsFile(path) as rejects:
            rejects.write(Reject("a", number, "no", b""))
    first, *others = path.read_bytes().splitlines()
    assert first == b'{"at": "a run that was killed'
    assert [json.loads(text)["line"] for text in others] == [1, 2]


def test_every_line_says_which_run_it_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        minutes = 0

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            cls.minutes += 1
            return cls(2026, 7, 13, 10, cls.minutes, 30, 999_999, tzinfo=tz)

    monkeypatch.setattr("dedup.files.rejects.datetime", Clock)
    for number in (1, 2):
        with RejectsFile(tmp_path / "r.jsonl") as rejects:
            rejects.write(Reject("a", number, "no", b""))
            rejects.write(Repair("a", number, "1", "title", "no", ""))
    rows = [json.loads(text) for text in (tmp_path / "r.jsonl").read_bytes().splitlines()]
    first, second = "2026-07-13T10:01:30+00:00", "2026-07-13T10:02:30+00:00"
    assert [(row["at"], row["line"]) for row in rows] == [(first, 1), (first, 1), (second, 2), (second, 2)]


def test_a_rejects_file_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        RejectsFile(tmp_path)
    with pytest.raises(InputError, match="mkdir -p"):
        RejectsFile(tmp_path / "none" / "r.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot be written"):
        RejectsFile("/dev/full").write(Reject("a", 1, "no", b""))


@pytest.mark.parametrize(
    "content",
    [
        b'{"id": "a", "text": "b"}\n',
        b'{"file": "a.txt", "line": 3, "text": "b"}\n',
        b"id,text\n1,b\n",
        b"[1]",
        b"\n\n",
        b"\xff\0\x1f\x8b",
        b"[" * 100_000,
    ],
)
def test_a_file_of_something_else_is_not_written_to(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"csv is not a rejects file; name a different file with --rejects"):
        RejectsFile(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b'{"outcome": "refused", "reason": "no", "raw": null}\n'])
def test_refused_lines_are_appended_to_an_empty_or_earlier_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with RejectsFile(path, source=tmp_path / "a.csv") as rejects:
        rejects.write(Reject("a.csv", 1, "no", b""))
    assert path.read_bytes().startswith(content)
    assert len(path.read_bytes().splitlines()) == bool(content) + 1


@pytest.mark.parametrize("content", [b"", b'{"outcome": "refused", "reason": "no", "raw": null}\n'])
@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_the_file_that_is_read_is_not_written_to_under_any_name(
    tmp_path: Path, content: bytes, link: Any
) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(content)
    link(source, tmp_path / "b.jsonl")
    for path in (source, tmp_path / "b.jsonl"):
        with pytest.raises(InputError, match=r"is the file to read; name a different file with --rejects"):
            RejectsFile(path, source=source)
    RejectsFile(tmp_path / "c.jsonl", source=source)


def test_what_is_on_standard_input_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"outcome": "refused", "reason": "no", "raw": null}\n')
    kept = os.dup(0)
    file = os.open(path, os.O_RDONLY)
    try:
        os.dup2(file, 0)
        with pytest.raises(InputError, match=r"is the file to read"):
            RejectsFile(path, source="-")
        RejectsFile(tmp_path / "b.jsonl", source="-")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(file)


def test_a_pipe_for_refused_lines_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    RejectsFile(tmp_path / "pipe", source=tmp_path / "a.jsonl")


def test_a_name_that_is_none_is_said_at_once() -> None:
    with pytest.raises(InputError, match="not a file name; name a different file with --rejects"):
        RejectsFile("a\0b")
