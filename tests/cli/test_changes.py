"""`dedup changes` prints JSON lines, continues after a cursor, and starts and stops the journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import Deduplicator
from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from tests.cli.conftest import HARBOUR, MUSEUM, Dedup
from tests.corpora import article, window
from tests.replica import journal


@pytest.fixture
def kept(database: Database) -> Iterator[Database]:
    with journal(database):
        yield database


@pytest.fixture
def filled(kept: Database, dedup: Dedup, news: Path) -> None:
    """Fill the corpus with three settled articles; `copy` is a copy of `first`."""
    assert dedup("load", str(news)).code == 0
    assert dedup("backfill", "--workers", "1").code == 0


def test_off_it_says_how_to_start_it_and_then_what_is_next(
    dedup: Dedup, database: Database, news: Path
) -> None:
    off = dedup("changes")
    assert (off.code, off.out) == (2, "")
    assert "no journal of marks is kept" in off.err
    assert "`dedup changes --start`" in off.err
    assert "next: dedup changes" in dedup("changes", "--start").err
    assert "was on already" in dedup("changes", "--start").err
    assert dedup("changes").code == 0
    refused = dedup("changes", "--stop")
    assert refused.code == 2
    assert "all its cursors become invalid; this cannot be undone: add --yes" in refused.err
    assert dedup("changes").code == 0
    assert "is dropped" in dedup("changes", "--stop", "--yes").err
    assert "was off" in dedup("changes", "--stop", "--yes").err
    assert dedup("changes").code == 2


def test_a_line_each_and_the_cursor_to_go_on_from(dedup: Dedup, filled: None) -> None:
    answer = dedup("changes")
    assert answer.code == 0
    assert [list(line) for line in answer.lines] == 3 * [
        ["cursor", "id", "status", "duplicate_of", "score", "reason"],
    ]
    assert {(line["id"], line["status"], line["duplicate_of"]) for line in answer.lines} == {
        *(("first", "unique", None), ("copy", "duplicate", "first"), ("other", "unique", None)),
    }
    last = answer.lines[-1]["cursor"]
    assert f"next: dedup changes --since {last}" in answer.err
    again = dedup("changes", "--since", last)
    assert (again.out, again.code) == ("", 0)
    assert f"next: dedup changes --since {last}" in again.err
    assert dedup("delete", "first").code == 0
    after = dedup("changes", "--since", last)
    assert {(line["id"], line["status"]) for line in after.lines} == {
        ("first", "deleted"),
        ("copy", "unique"),
    }


@pytest.mark.long("dedup", "migrations")
def test_limit_and_since_read_all_in_pages(dedup: Dedup, filled: None) -> None:
    read, cursor = [], None
    while found := dedup("changes", "--limit", "1", *(("--since", cursor) if cursor else ())).lines:
        read += found
        cursor = found[-1]["cursor"]
    assert [line["id"] for line in read] == [line["id"] for line in dedup("changes").lines]


def test_json_is_one_document(dedup: Dedup, filled: None) -> None:
    found = json.loads(dedup("changes", "--json", "--limit", "2").out)
    assert found["cursor"] == found["changes"][-1]["cursor"]
    rest = json.loads(dedup("changes", "--json", "--since", found["cursor"]).out)
    assert len(found["changes"] + rest["changes"]) == 3
    end = json.loads(dedup("changes", "--json", "--since", rest["cursor"]).out)
    assert end == {"changes": [], "cursor": rest["cursor"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "yesterday"], "not a cursor of changes"),
        (["--since", "0123456789ab.1.2.3.4"], "read all marks again: `dedup changes` without --since"),
        (["--start", "--stop"], "take no other option"),
        (["--start", "--since", "x"], "take no other option"),
        (["--json", "--follow"], "leave one out"),
        (["--limit", "0"], "--limit"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_is_wrong_usage(dedup: Dedup, kept: Database, arguments: list[str], said: str) -> None:
    answer = dedup("changes", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.long("dedup", "migrations")
def test_follow_prints_what_changes_until_it_is_stopped(kept: Database, corpus_url: str) -> None:
    command = [sys.executable, "-m", main.__name__, "changes", "--follow", "--poll", "0.1"]
    with (
        Deduplicator(corpus_url) as dd,
        subprocess.Popen(
            command,
            env={**os.environ, URL_VARIABLE: corpus_url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as following,
    ):
        assert following.stdout
        assert following.stderr
        try:
            for i in range(3):
                dd.submit(article(f"a{i}", window(20 * i, 6, ring=99), i))
                line = json.loads(following.stdout.readline())
                assert (line["id"], line["status"]) == (f"a{i}", "unique")
            following.send_signal(signal.SIGTERM)
            assert following.wait(60) == 0
            assert following.stderr.read().strip().endswith(f"next: dedup changes --since {line['cursor']}")
        finally:
            following.kill()


def test_texts_are_not_told(dedup: Dedup, filled: None) -> None:
    shown = dedup("changes").out
    assert not any(text[:20] in shown for text in (HARBOUR, MUSEUM))
