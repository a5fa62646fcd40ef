"""`dedup judge review` in a pseudo-terminal, and with files."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.cli.side_by_side import page
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
"""Seconds after which a waiting test fails."""


@pytest.fixture
def corpus(database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A corpus with three pairs to judge: harbour and its edit, harbour and museum, and two long texts."""
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
    """Return the judgements of a judge, such as {"ab": "duplicate"}."""
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT source_id || other_source_id, label FROM dedup.judgement WHERE judged_by = %s", [judge]
        ).fetchall()
    return dict(rows)


COMMAND = [sys.executable, "-c", PROGRAM, "review-under-test"]


def judge(*answers: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a review that gets the answers as lines."""
    return subprocess.run(
        COMMAND,
        input="".join(f"{answer}\n" for answer in answers),
        env={**os.environ, "USER": "ann", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.mark.long("dedup", "migrations")
def test_judgements_are_kept_at_once_and_the_next_run_goes_on(corpus: Database) -> None:
    first = judge("d", "q")
    assert first.returncode == 0
    for words in ("1 of 3, 3 not judged", "Title of b", "ferry every ten minutes", "2 of 3, 2 not judged"):
        assert words in first.stdout
    assert "ann has judged 1 of 3 pairs" in first.stderr
    assert "next: dedup judge review" in first.stderr
    assert labels(corpus) == {"ab": "duplicate"}
    second = judge("X", "s")
    assert "Title of a" in second.stdout
    assert "Title of b" not in second.stdout
    assert "next: dedup judge tune" in second.stderr
    assert labels(corpus) == {"ab": "duplicate", "ac": "different", "de": "similar"}
    third = judge("b", "u")
    assert "2 of 3, 0 not judged, ann said different" in third.stdout
    assert labels(corpus) == {"ab": "duplicate", "ac": "unsure", "de": "similar"}
    fourth = judge("b", "b", "b", "r", "r")
    assert "this is the first pair" in fourth.stderr
    assert "taken back" in fourth.stderr
    assert "there is no judgement to take back" in fourth.stderr
    assert len(labels(corpus)) == 2


@pytest.mark.long("dedup", "migrations")
def test_a_pair_that_is_passed_over_comes_again_and_scores_are_asked_for(corpus: Database) -> None:
    done = judge("", "", "", "v", "?")
    assert re.findall(r"^(\d) of 3", done.stdout, re.MULTILINE) == ["1", "2", "3", "1"]
    assert "dedup 0.62" in done.stderr
    assert "duplicate: the same article" in done.stdout
    assert done.returncode == 0, "the end of the input ends the review"
    assert labels(corpus) == {}


@pytest.mark.long("dedup", "migrations")
def test_in_a_terminal_differences_are_marked_and_ctrl_c_keeps_what_was_said(corpus: Database) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen(
        COMMAND,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        env={**os.environ, "TERM": "xterm-256color", "USER": "ann", "NO_COLOR": "1"},
    )
    os.close(slave)
    shown = ""

    def until(words: str) -> None:
        nonlocal shown
        while words not in shown:
            assert select.select([master], [], [], PATIENCE_SECONDS)[0], shown
            shown += os.read(master, 65_536).decode(errors="replace")

    try:
        until("? help: ")
        assert re.search(r"\x1b\[1;4mWednesday\x1b\[0m", shown)
        assert not re.search(r"\x1b\[[0-9;]*3[1-7]m", shown)
        os.write(master, b"s\n")
        until("2 of 3, 2 not judged")
        until("? help: ")
        os.write(master, b"\x03")
        until("finished work is kept")
        assert process.wait(PATIENCE_SECONDS) == 130
    finally:
        process.kill()
        os.close(master)
    assert labels(corpus) == {"ab": "similar"}


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
        # The text that the judgement of d and e is about has been edited.
        assert judgements.waiting(cursor, "bob") == [("a", "c"), ("d", "e")]
    with pytest.raises(InputError, match="exists: --import it first"):
        review(judge="bob", export=file)  # a person may have filled in the file
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
        ('{"a": "a", "b": "b", "label": "similar", "note": 5}', "line 2: a note must be a string"),
        ("[1]", "line 2: the line does not have the form"),
        ('{"a"', "line 2: the line does not have the form"),
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
    with pytest.raises(InputError, match="give only one of"):
        review(judge="ann", export=tmp_path / "x", import_=tmp_path / "y")
    with pytest.raises(InputError, match="cannot write"):
        review(judge="ann", export=tmp_path / "no folder" / "x")
    with pytest.raises(InputError, match="no such file"):
        review(judge="ann", import_=tmp_path / "absent")
    with corpus.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.review_pair")
    with pytest.raises(InputError, match="run `dedup judge pairs` first"):
        review(judge="ann", export=tmp_path / "x")


def shown(a: str, b: str, width: int, *, narrow: bool = False, styles: bool = False) -> list[str]:
    """Return the lines of a page that shows two texts."""
    console = Console(file=io.StringIO(), width=width, force_terminal=styles, highlight=False, _environ={})
    console.print(page(a, b, [Text("A"), Text("B")], narrow=narrow))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_sentences_stand_beside_their_versions() -> None:
    rows = [(line[:101].strip(), line[101:].strip()) for line in shown(HARBOUR, EDITED, 202)]
    assert rows == [
        ("A", "B"),
        (HARBOUR.split(". ")[0] + ".", EDITED.split(". ")[0] + "."),
        ("Repairs to the sea wall will begin on Monday morning.",) * 2,
        ("", "A new sign is up."),
        ("The mayor promised a ferry every ten minutes.",) * 2,
    ]


def test_rows_have_the_width_of_the_terminal_whatever_the_script() -> None:
    a = "東京で大きな地震がありました。けが人はいません。\n\nwww." + "x" * 300
    for width in (79, 80, 141):
        for narrow in (True, False):
            assert max(map(cell_len, shown(a, HARBOUR, width, narrow=narrow))) <= width


def test_control_characters_do_not_reach_the_terminal() -> None:
    for line in shown(f"{HARBOUR} \x1b[2J gone", f"{HARBOUR} \x07 bell", 80):
        assert line.isprintable()


def test_a_text_of_nothing_has_a_page_too() -> None:
    assert [line.split() for line in shown("", "", 80)] == [["A", "B"]]
    found = "".join(shown("\n\n", MUSEUM, 200, narrow=True, styles=True))
    assert f"\x1b[1;4;33m{MUSEUM}\x1b[0m" in found
