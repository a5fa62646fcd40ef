"""Output of commands: hostile text does no harm, tables fit the terminal, and long work shows progress."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dedup.base.printable import JOINERS
from dedup.cli import output
from dedup.cli.progress import ProgressLines, progress_bar
from tests.cli.conftest import HARBOUR, MUSEUM, Dedup, Result, lines

CONTROL = "\x1b]0;owned\x07\x1b[2J\x7f\x9b31m\x85\u202edrow\u2066\u200f\u061c\u2028\u2029\ufeff"
ORIGINAL, COPY = f"=HYPERLINK({CONTROL})", f"@copy{CONTROL}"
EVIL = f"evil{CONTROL}\n1,000 articles stored"


def assert_harmless(result: Result) -> None:
    shown = result.out + result.err
    assert not {c for c in shown if not (c.isprintable() or c in JOINERS or c == "\n")}
    assert not [line for line in shown.splitlines() if line.startswith("1,000 articles")]
    assert "Traceback" not in shown


@pytest.fixture
def hostile(dedup: Dedup, tmp_path: Path) -> Dedup:
    """A corpus in which all text that a stranger can write is hostile."""
    evil = {"title": EVIL, "url": EVIL, "publication": EVIL}
    text = f"{HARBOUR} {CONTROL.replace(chr(0x2029), '')} was what the sign on the pier said all day long."
    rows = [
        {"id": ORIGINAL, "text": text, "published_at": "2026-03-11", **evil},
        {"id": COPY, "text": text, "published_at": "2026-03-12", **evil},
        {"id": f"other{CONTROL}", "text": f"{MUSEUM} {text}", **evil},
    ]
    assert dedup("load", str(lines(tmp_path / "evil.jsonl", rows))).code == 0
    assert dedup("backfill", "--workers", "0").code == 0
    return dedup


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "command",
    [
        ["marks"],
        ["marks", "-f", "csv"],
        ["marks", "-f", "table"],
        ["matches"],
        ["matches", "-f", "csv"],
        ["matches", "-f", "table"],
        ["show", COPY],
        ["show", COPY, "--json"],
        ["explain", COPY, ORIGINAL],
        ["explain", f"other{CONTROL}", ORIGINAL],
        ["explain", COPY, ORIGINAL, "--json"],
        ["common"],
        ["common", "--json"],
        ["status"],
        ["verify"],
        ["pin", "list"],
        ["pin", "list", "--json"],
    ],
    ids=lambda command: " ".join(command[:1] + command[2:]),
)
def test_no_command_shows_what_could_drive_a_terminal(hostile: Dedup, command: list[str]) -> None:
    assert hostile("common", "pin", f"The sign said {CONTROL} for a whole day.", "--always").code == 0
    assert hostile("pin", "set", ORIGINAL, EVIL, "similar", "--why", EVIL, "--as", EVIL).code == 0
    result = hostile(*command)
    assert result.code == 0
    assert_harmless(result)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "command",
    [
        [EVIL],
        ["load"],
        ["load", EVIL],
        ["load", f"{EVIL}.jsonl"],
        ["load", "x.jsonl", "--map", EVIL],
        ["load", "x.jsonl", "--map", f"{EVIL}=x"],
        ["load", "evil.csv"],
        ["load", "x.jsonl", "--format", EVIL],
        ["load", "x.jsonl", "--rejects", f"{EVIL}/x"],
        ["load", f"--{EVIL}"],
        ["marks", "--format", EVIL],
        ["marks", "-o", f"{EVIL}/x"],
        ["backfill", "--batch", EVIL],
        ["show", EVIL],
        ["--debug", "show", EVIL],
        ["explain", EVIL, EVIL],
        ["delete", EVIL],
        ["delete", EVIL, "--json"],
        ["settings", "set", EVIL],
        ["settings", "set", f"{EVIL}=1"],
        ["settings", "set", f"bands={EVIL}"],
        ["train-sentences", EVIL, "x.jsonl"],
        ["lab", "compare", EVIL],
        ["lab", "methods", EVIL],
        ["judge", "review", "--import", EVIL],
    ],
    ids=lambda command: " ".join(word[:9] for word in command).replace("\x1b", ""),
)
def test_no_error_repeats_what_could_drive_a_terminal(
    dedup: Dedup, tmp_path: Path, command: list[str]
) -> None:
    lines(tmp_path / "x.jsonl", [{"id": "a", "text": HARBOUR}])
    (tmp_path / "evil.csv").write_text(f"id,{CONTROL.replace(chr(0x85), '')},te\x1bxt\n1,2,3\n")
    result = dedup(*command)
    assert result.code in (1, 2)
    assert result.err or "--json" in command
    shown = result.out + result.err
    assert not {c for c in shown if not (c.isprintable() or c in JOINERS or c == "\n")}
    assert not [line for line in shown.splitlines() if line.startswith("1,000 articles")]


def test_check_escapes_and_changes_no_value(dedup: Dedup, tmp_path: Path) -> None:
    file = lines(tmp_path / "x.jsonl", [{"id": EVIL, "text": HARBOUR}, {"id": COPY, "text": HARBOUR}])
    result = dedup("check", str(file))
    assert_harmless(result)
    assert [answer["id"] for answer in result.lines] == [EVIL, COPY]
    assert result.lines[1]["duplicate_of"] == EVIL


def test_jsonl_keeps_every_value_and_csv_can_be_opened(hostile: Dedup, tmp_path: Path) -> None:
    ids = sorted([ORIGINAL, COPY, f"other{CONTROL}"])
    assert [row["id"] for row in hostile("marks").lines] == ids
    rows = list(csv.DictReader(io.StringIO(hostile("marks", "-f", "csv").out)))
    assert [row["id"] for row in rows] == [
        f"'{output.printable(ORIGINAL)}",
        f"'{output.printable(COPY)}",
        output.printable(f"other{CONTROL}"),
    ]
    for format_ in ("jsonl", "csv"):  # the file has the same content as the printed output
        assert hostile("marks", "-f", format_, "-o", "out").code == 0
        assert (tmp_path / "out").read_text("utf-8") == hostile("marks", "-f", format_).out


def test_raw_opts_out(hostile: Dedup) -> None:
    ids = sorted([ORIGINAL, COPY, f"other{CONTROL}"])
    rows = csv.DictReader(io.StringIO(hostile("marks", "-f", "csv", "--raw").out, newline=""))
    assert [row["id"] for row in rows] == ids
    printed = hostile("marks", "--raw")
    assert [json.loads(line)["id"] for line in printed.out.split("\n") if line] == ids
    assert "\x9b31m" in printed.out
    assert "\x9b31m" in hostile("marks", "-f", "table", "--raw").out
    assert "\x9b31m" in hostile("matches", "-f", "csv", "--raw").out
    assert "\x9b31m" in hostile("show", COPY, "--raw").out


def test_what_a_console_is_given_is_made_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """Output is made harmless even if a command forgets to do so."""
    output.console().print(f"a{CONTROL}z")
    output.say(EVIL)
    shown = capsys.readouterr()
    assert_harmless(Result(0, shown.out, shown.err))
    assert shown.out.startswith("a")
    assert len(shown.err.splitlines()) == 1


ANSI = re.compile(r"\x1b\[[0-9;]*m")
ROWS = [
    (
        "vantage-0312-storm-update-of-the-evening",
        "duplicate",
        "Storm Ottilie cuts power to 60,000 homes",
        0.912,
    ),
    ("漢字-0002", "unique", "嵐のため北部の郡で六万戸が停電し、列車は正午まで運休となった。", None),
    ("e\u0301-3", "similar", "emoji 👍 and e\u0301 combining, " * 4, 1234.5),
]


class Screen(io.StringIO):
    """A terminal in place of stdout."""

    def isatty(self) -> bool:
        return True


def table_lines(
    width: int | None, columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[str] = ()
) -> list[str]:
    """Return the lines of a table, without styles, in a terminal of this width; in a pipe if `width` is
    None."""
    screen = io.StringIO() if width is None else Screen()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", screen)
        patched.setenv("TERM", "xterm")
        patched.setenv("COLUMNS", str(width))
        output.table("", columns, rows, numbers)
    shown = screen.getvalue()
    return (shown if width is None else ANSI.sub("", shown)).splitlines()


IN_TERMINALS = """
import fcntl, struct, sys, termios
from dedup.cli import output
from tests.cli.test_output import ROWS
for width in (40, 80, 200):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    output.table(f"== {width}", ("id", "status", "title", "score"), ROWS, ("score",))
"""


@pytest.mark.long("dedup", "migrations")
def test_a_table_fits_the_terminal() -> None:
    master, slave = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    running = subprocess.Popen(
        [sys.executable, "-c", IN_TERMINALS],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(slave)
    read = b""
    with suppress(OSError):  # the program has closed the other end
        while piece := os.read(master, 65_536):
            read += piece
    os.close(master)
    raw = read.decode()
    assert running.wait(30) == 0, raw
    assert "\x1b[" in raw  # statuses are coloured
    tables = re.split(r"== (\d+)\n", ANSI.sub("", raw.replace("\r\n", "\n")))[1:]
    shown = {int(width): found.splitlines() for width, found in zip(tables[::2], tables[1::2], strict=True)}
    assert list(shown) == [40, 80, 200]
    for width, found in shown.items():
        assert max(map(cell_len, found)) <= width
        assert not [line for line in found if line != line.rstrip()]
    assert shown[40][:4] == [
        "id:",
        "vantage-0312-storm-update-of-the-evening",
        "status: duplicate",
        "title:  Storm Ottilie cuts power to",
    ]
    assert shown[80][:4] == [
        "id                                        status     title                 score",
        "vantage-0312-storm-update-of-the-evening  duplicate  Storm Ottilie         0.912",
        "                                                     cuts power to",
        "                                                     60,000 homes",
    ]
    assert len(shown[200]) == 4


def test_a_piped_table_has_one_line_for_each_row() -> None:
    rows = [*ROWS, ("x", "pending", "word " * 1_000 + "end", None)]
    heading, *lines = table_lines(None, ("id", "status", "title", "score"), rows, ("score",))
    assert len(lines) == len(rows)
    assert lines[-1].endswith("word end")
    starts = {cell_len(line[: line.index(row[1])]) for line, row in zip(lines, rows, strict=True)}
    assert starts == {cell_len(heading[: heading.index("status")])}
    ends = {cell_len(line) for line, row in zip(lines, rows, strict=True) if row[3] is not None}
    assert ends == {cell_len(heading)}
    assert not [line for line in (heading, *lines) if line != line.rstrip() or "\x1b" in line]


def test_an_id_wider_than_the_terminal_is_on_a_line_of_its_own() -> None:
    long = "https://example.org/" + "x" * 60
    assert table_lines(30, ("id", "words", "sentence"), [(long, 1234, "A short one."), ("b", None, "")]) == [
        "id:",
        long,
        "words:    1,234",
        "sentence: A short one.",
        "",
        "id:       b",
    ]


def test_further_columns_of_ids_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    output.table("", ("original", "why"), [("an id with spaces", "some words " * 9)], ids=("original",))
    assert "an id with spaces  some words some words\n" in ANSI.sub("", screen.getvalue())


WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60) | st.sampled_from(
    ["漢字の長い題名" * 4, "👍🏽 two", "many short words " * 6, ""]
)
COLUMNS = ("id", "title", "n", "reason")


@given(
    rows=st.lists(st.tuples(WORDS, WORDS, st.integers(0, 10**9), WORDS), min_size=1, max_size=4),
    width=st.integers(20, 120) | st.none(),
)
def test_no_id_and_no_number_is_broken_whatever_the_width(
    rows: list[tuple[str, str, int, str]], width: int | None
) -> None:
    lines = table_lines(width, COLUMNS, rows, ("n",))
    whole = [text for row in rows for text in (output.printable(row[0]).rstrip(), f"{row[2]:,}")]
    assert all(any(text in line for line in lines) for text in whole)
    assert not [line for line in lines if line != line.rstrip(" ")]
    if width is None:
        assert len(lines) == len(rows) + 1
    else:
        assert all(cell_len(line) <= width or line in whole for line in lines)
    shown = Counter("".join(lines))
    for text in (output.printable(text) for row in rows for text in (row[0], row[1], row[3])):
        assert not Counter("".join(text.split())) - shown  # no character of a value is cut off


class Work:
    """Progress lines with a clock that the test sets."""

    def __init__(self, unit: str = "articles") -> None:
        self.time = 0.0
        self.lines: list[str] = []
        self.shown = ProgressLines(
            unit,
            write=self.lines.append,
            clock=lambda: self.time,
            now=lambda: datetime(2026, 11, 21, 22, 15, tzinfo=UTC) + timedelta(seconds=self.time),
        )

    def step(self, seconds: float, count: int, total: int | None = None) -> None:
        self.time += seconds
        self.shown.advance(count, total)


def test_a_total_never_shrinks_and_no_more_is_done_than_there_is() -> None:
    work = Work()
    work.shown.start("settling", 100)
    work.step(11, 60, 80)
    work.step(11, 60)
    work.shown.end()
    assert "settling: 60 of 100 articles, " in work.lines[0]
    assert "settling: 120 of 120 articles, finishing" in work.lines[1]


def test_long_work_writes_a_line_every_ten_seconds_and_one_at_the_end_of_a_stage() -> None:
    work = Work()
    work.shown.start("fingerprinting", 58_051)
    for _ in range(24):
        work.step(1, 2_400)
    work.time += 1
    work.shown.start("settling", 10)
    work.step(1, 10)
    work.shown.end()
    assert work.lines == [
        "2026-11-21T22:15:10Z fingerprinting: 24,000 of 58,051 articles, 2,400/s, about 14 s left",
        "2026-11-21T22:15:20Z fingerprinting: 48,000 of 58,051 articles, 2,400/s, about 4 s left",
        "2026-11-21T22:15:25Z fingerprinting: ended after 25 s, 57,600 of 58,051 articles",
    ]


def test_a_stage_that_is_done_tells_how_long_it_took() -> None:
    work = Work("bytes")
    work.shown.start("loading", None)
    work.step(40, 80_000_000)
    work.step(1, 2_000_000, 82_000_000)
    work.time = 51
    work.shown.tick()  # the work after the last byte takes long
    work.shown.end()
    work.time = 99
    work.shown.tick()
    assert [line.partition("Z ")[2] for line in work.lines] == [
        "loading: 80.0 MB, 2.0 MB/s",
        "loading: 82.0 MB of 82.0 MB, finishing",
        "loading: 82.0 MB in 51 s, 1.6 MB/s",
    ]


def test_work_that_is_over_soon_says_nothing() -> None:
    work = Work()
    work.shown.start("fingerprinting", 100)
    work.step(9.9, 100)
    work.shown.end()
    assert work.lines == []


def test_the_end_is_estimated_from_the_last_minute() -> None:
    work = Work()
    work.shown.start("settling", 100_000)
    work.step(1, 20_000)  # the first articles are quick
    for _ in range(20):
        work.step(10, 100)
    assert work.lines[-1].endswith("settling: 22,000 of 100,000 articles, 10/s, about 2 h 10 min left")


def test_a_stage_that_makes_no_step_is_heard_of_and_silence_follows_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.cli.progress.LINE_SECONDS", 0.02)
    said = ""
    deadline = time.monotonic() + 30
    with progress_bar() as bar:
        bar.start("settling", 7)
        while said.count("settling: 0 of 7 articles, 0/s\n") < 2:
            assert time.monotonic() < deadline
            said += capsys.readouterr().err
    assert "progress" not in [thread.name for thread in threading.enumerate()]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ settling: ", said)
    assert capsys.readouterr().out == ""


def test_work_goes_on_when_nobody_reads_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.cli.progress.LINE_SECONDS", 0.0)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    lines = ProgressLines()
    lines.start("loading", 2)
    lines.advance(1)
    lines.end()


@pytest.mark.parametrize("width", [40, 100])
def test_a_terminal_has_bars_that_fit_and_no_lines(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("dedup.cli.progress.LINE_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with progress_bar() as bar:
        bar.start("fingerprinting", 58_049)
        bar.advance(58_050, 58_050)
        bar.start("settling", None)
        bar.advance(7)
    shown = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()))
    assert max(map(cell_len, shown)) <= width
    assert any(line.startswith("fingerprinting") and "58,050 / 58,050" in line for line in shown)
    assert not [line for line in shown if line.startswith("20")]
