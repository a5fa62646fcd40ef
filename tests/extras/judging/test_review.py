"""`dedup judge review` in a terminal of its own (a pseudo-terminal), and through files."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.cli.side_by_side import ALONE, SideBySide
from dedup.db.database import URL_VARIABLE, Database
from dedup.extras.judging import storing as judgements
from dedup.extras.judging.commands.review import review
from dedup.store import articles

HARBOUR = (
    "The council of Port Marlow voted on Tuesday to close the harbour road. "
    "Repairs to the sea wall will begin on Monday morning. "
    "The mayor promised a ferry every ten minutes."
)
EDITED = HARBOUR.replace("Tuesday", "Wednesday").replace("The mayor", "A new sign is up. The mayor")
MUSEUM = "Thieves broke into the museum of Eastfen on Friday night and took eleven bronze bowls."
LONG = "\n\n".join(f"In street number {i} some {i * 7} households asked for help." for i in range(1, 60))

PROGRAM = """
import typer
from dedup.cli import main
from dedup.extras.judging.commands.review import review
main.app.command("review-under-test")(review)
main.main()
"""
PATIENCE_SECONDS = 30
"""A test that waits longer has failed."""


@pytest.fixture
def corpus(database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    """Three pairs to judge: harbour and its edit, harbour and museum, and two long ones."""
    monkeypatch.setenv(URL_VARIABLE, corpus_url)
    texts = {
        "a": HARBOUR,
        "b": EDITED,
        "c": MUSEUM,
        "d": LONG,
        "e": LONG.replace("number 50", "number fifty"),
    }
    with database.transaction() as cursor:
        articles.store(cursor, [Article(i, t, title=f"Title of {i}") for i, t in texts.items()])
        pairs = [("a", "b"), ("a", "c"), ("d", "e")]
        judgements.pick(cursor, [judgements.Pick(*p, "all", 9, 3, {"dedup": 0.625}) for p in pairs])
    return database


def labels(database: Database, judge: str = "ann") -> dict[str, str]:
    """What a judge has said, such as {"ab": "duplicate"}."""
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT source_id || other_source_id, label FROM dedup.judgement WHERE judged_by = %s", [judge]
        ).fetchall()
    return dict(rows)


class Screen:
    """A program in a pseudo-terminal, and what its screen shows."""

    def __init__(self, columns: int, lines: int, **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.master)[3]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "review-under-test"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm-256color", "USER": "ann", **environment},
        )
        os.close(slave)
        self.raw = ""

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    @property
    def rows(self) -> list[str]:
        """The lines of the screen: each frame addresses every line."""
        shown: dict[int, str] = {}
        for number, row in re.findall(r"\x1b\[(\d+);1H(.*?)\x1b\[K", self.raw, re.DOTALL):
            shown[int(number)] = re.sub(r"\x1b\[[0-9;]*m", "", row)
        return [row for _, row in sorted(shown.items())]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    def until(self, seen: Callable[[Screen], bool]) -> None:
        """Read until something is to be seen."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not seen(self):
            assert select.select([self.master], [], [], max(0, end - time.monotonic()))[0], self.text
            self.raw += self._read()

    def shows(self, *words: str) -> None:
        self.until(lambda screen: all(word in screen.text for word in words))

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        while piece := self._read():
            self.raw += piece
        code = self.process.wait(PATIENCE_SECONDS)
        # Whatever happened, the terminal is as it was: the mode, the screen, the cursor.
        assert termios.tcgetattr(self.master)[3] == self.before
        assert self.raw.rindex("\x1b[?1049l") > self.raw.rindex("\x1b[?1049h")
        assert self.raw.rindex("\x1b[?25h") > self.raw.rindex("\x1b[?25l")
        return code

    def _read(self) -> str:
        try:
            return os.read(self.master, 65_536).decode(errors="replace")
        except OSError:  # the other end is closed
            return ""

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


Start = Callable[..., Screen]


@pytest.fixture
def start(corpus: Database) -> Iterator[Start]:
    """Starts a review in a terminal of some size."""
    open_ones: list[Screen] = []

    def run(columns: int = 120, lines: int = 24, **environment: str) -> Screen:
        open_ones.append(Screen(columns, lines, **environment))
        return open_ones[-1]

    yield run
    for screen in open_ones:
        screen.close()


@pytest.mark.long("dedup", "migrations")
def test_judgements_are_kept_at_once_and_the_next_run_goes_on(start: Start, corpus: Database) -> None:
    screen = start()
    screen.shows("0 of 3, 3 left   ann", "Title of a", "Title of b", "ferry every ten minutes")
    assert "harbour road. │" not in screen.text
    screen.press("d")
    screen.shows("1 of 3, 2 left", "said: duplicate", "Title of c")
    assert labels(corpus) == {"ab": "duplicate"}
    screen.press("q")
    assert screen.end() == 0
    assert "ann has judged 1 of 3 pairs" in screen.raw
    assert "next: dedup judge review" in screen.raw

    screen = start()
    screen.shows("1 of 3, 2 left", "Title of c")
    screen.press("xs")  # as fast as one can type
    screen.shows("3 of 3, 0 left", "every pair is judged")
    assert labels(corpus) == {"ab": "duplicate", "ac": "different", "de": "similar"}
    screen.press("b")
    screen.shows("you said different", "Title of c")
    screen.press("u")
    screen.shows("3 of 3, 0 left", "you said unsure")
    screen.press("br")
    screen.shows("2 of 3, 1 left", "taken back", "Title of b")
    assert labels(corpus) == {"ac": "unsure", "de": "similar"}
    screen.press("q")
    assert screen.end() == 0


def test_what_differs_is_marked_and_reached_by_keys(start: Start, corpus: Database) -> None:
    screen = start(NO_COLOR="1")
    screen.shows("Wednesday")
    assert re.search(r"\x1b\[1;4mWednesday\x1b\[0m", screen.raw)
    assert not re.search(r"\x1b\[[0-9;]*3[1-7]m", screen.raw)
    rows = [row for row in screen.rows if "┃" in row]
    assert [("Tuesday" in row, "Wednesday" in row) for row in rows[:1]] == [(True, True)]
    assert any("A new sign is up." in row.split("┃")[1] for row in rows)
    # A pair that is passed over comes again at the end.
    screen.press("\n\n")
    screen.shows("Title of d", "more lines")
    assert "number fifty" not in screen.text
    screen.press("n")
    screen.shows("number fifty")
    screen.press("n")
    screen.shows("no difference further on")
    screen.press("\x1b[H")
    screen.shows("In street number 1 ")
    screen.press("\x1b[6~")
    screen.until(lambda s: "In street number 1 " not in s.text)
    screen.press("\x1b[5~v")
    screen.shows("In street number 1 ", "dedup 0.62")
    screen.press("?")
    screen.shows("duplicate: the same article")
    screen.press("\n")
    screen.shows("Title of b")
    assert "dedup 0.62" not in screen.text  # scores are asked for pair by pair
    os.kill(screen.process.pid, signal.SIGTERM)
    assert screen.end() == 0
    assert labels(corpus) == {}


def test_a_narrow_window_stacks_the_texts(start: Start, corpus: Database) -> None:
    screen = start(60, 30)
    screen.shows("Title of b", "A new sign is up.")
    assert not [row for row in screen.rows if "│" in row or "┃" in row]
    assert screen.raw.count("\x1b[1;4;33m") >= 3
    screen.resize(100, 30)
    screen.shows("┃")
    screen.press("s")
    screen.shows("said: similar")
    screen.press("\x03")
    assert screen.end() == 130
    assert "what was finished is kept" in screen.raw
    assert labels(corpus) == {"ab": "similar"}


def test_without_a_terminal_the_way_through_files_is_named(corpus: Database) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "review-under-test", "--as", "ann"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert ended.returncode == 2
    assert "this needs a terminal" in ended.stderr
    assert "--export FILE" in ended.stderr


def test_out_to_a_file_and_back(corpus: Database, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    review(judge="bob", export=file)
    rows: list[dict[str, Any]] = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [(row["a"]["id"], row["b"]["id"], row["label"]) for row in rows] == [
        ("a", "b", None),
        ("a", "c", None),
        ("d", "e", None),
    ]
    assert rows[0]["b"]["text"] == EDITED
    rows[0] |= {"label": "duplicate", "note": "one more sentence"}
    rows[2]["label"] = "similar"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with corpus.transaction() as cursor:
        articles.store(cursor, [Article("e", "Somebody edited this text while bob was reading.")])
    review(judge="bob", import_=file)
    assert labels(corpus, "bob") == {"ab": "duplicate", "de": "similar"}
    with corpus.transaction() as cursor:
        assert judgements.read(cursor, ("a", "b"), "bob").note == "one more sentence"
        # The judgement of d and e is about a text that is no more.
        assert judgements.waiting(cursor, "bob") == [("a", "c"), ("d", "e")]
    with pytest.raises(InputError, match="exists: --import it first"):
        review(judge="bob", export=file)  # somebody may have filled it in
    left = tmp_path / "left.jsonl"
    review(judge="bob", export=left)
    assert len(left.read_text("utf-8").splitlines()) == 2


def test_short_lines_are_enough_for_an_import(corpus: Database, tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text(
        '{"a": "e", "b": "d", "label": "similar"}\n\n{"a": "b", "b": "c", "label": "different"}\n'
    )
    review(judge="ann", import_=file)
    assert labels(corpus) == {"de": "similar", "bc": "different"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": "a", "b": "b", "label": "perhaps"}', "line 2: a label is one of"),
        ('{"a": "a", "b": "zz", "label": "similar"}', "line 2: no article 'a' or no article 'zz'"),
        ('{"a": "a", "b": "a", "label": "similar"}', "line 2: a and b are the same article"),
        ('{"a": 7, "b": "a", "label": "similar"}', "line 2: a names no article"),
        (
            '{"a": {"id": "a", "text_hash": "xyz"}, "b": "b", "label": "similar"}',
            "line 2: the text_hash of a",
        ),
        ('{"a": "a", "b": "b", "label": "similar", "note": 5}', "line 2: a note is text"),
        ("[1]", "line 2: not as --export writes it"),
        ('{"a"', "line 2: not as --export writes it"),
    ],
)
def test_a_bad_line_stores_nothing(corpus: Database, tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text('{"a": "a", "b": "b", "label": "similar"}\n' + line + "\n")
    with pytest.raises(InputError, match=message) as caught:
        review(judge="ann", import_=file)
    assert "nothing was stored" in str(caught.value)
    assert labels(corpus) == {}


def test_wrong_use_names_the_next_step(
    corpus: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="--as NAME"):
        review()
    with pytest.raises(InputError, match="choose one of"):
        review(judge="ann", export=tmp_path / "x", import_=tmp_path / "y")
    with pytest.raises(InputError, match="cannot write"):
        review(judge="ann", export=tmp_path / "no folder" / "x")
    with pytest.raises(InputError, match="cannot read"):
        review(judge="ann", import_=tmp_path / "absent")
    with corpus.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.review_pair")
    with pytest.raises(InputError, match="run `dedup judge pairs` first"):
        review(judge="ann", export=tmp_path / "x")


def columns(a: str, b: str, width: int = 103) -> list[tuple[str, str]]:
    """What stands left and right, row by row."""
    rows = [re.split(" [│┃] ", row.text.plain) for row in SideBySide(a, b).side_by_side(width)]
    return [(left.strip(), right.strip()) for left, right in rows]


def test_sentences_stand_beside_their_versions() -> None:
    assert columns(HARBOUR, EDITED, 203) == [
        (HARBOUR.split(". ")[0] + ".", EDITED.split(". ")[0] + "."),
        ("Repairs to the sea wall will begin on Monday morning.",) * 2,
        ("", "A new sign is up."),
        ("The mayor promised a ferry every ten minutes.",) * 2,
    ]


def test_rows_have_the_width_of_the_terminal_whatever_the_script() -> None:
    a = "東京で大きな地震がありました。けが人はいません。\n\nwww." + "x" * 300
    for width in (79, 80, 141):
        page = SideBySide(a, HARBOUR)
        assert max(row.text.cell_len for row in page.side_by_side(width)) <= width
        assert max(row.text.cell_len for row in page.stacked(width, Text("--"))) <= width


def test_control_characters_do_not_reach_the_terminal() -> None:
    for row in SideBySide(f"{HARBOUR} \x1b[2J gone", f"{HARBOUR} \x07 bell").side_by_side(80):
        assert row.text.plain.isprintable()


def test_a_text_of_nothing_has_a_page_too() -> None:
    assert SideBySide("", "").side_by_side(80) == []
    assert [right for _, right in columns("", MUSEUM, 203)] == [MUSEUM]
    rows = SideBySide("\n\n", MUSEUM).stacked(200, Text("--"))
    assert {span.style for row in rows for span in row.text.spans} == {ALONE}
