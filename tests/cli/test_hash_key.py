"""The hash key of a corpus: it is made, kept, shown only on request, and carried to another machine."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dedup.base.settings import Settings, masked
from dedup.db.database import URL_VARIABLE, Database
from dedup.store import opening
from tests.cli.conftest import HARBOUR, Dedup
from tests.conftest import Server

KEY = "a key that is long enough: 6bd0a35f1ae24c5d"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that puts words on the standard input of the next command."""
    return lambda words: monkeypatch.setattr("sys.stdin", io.StringIO(words))


@pytest.fixture
def other_corpus(server: Server) -> Iterator[str]:
    """The address of a second corpus."""
    url = server.create("dedup_key")
    database = Database(url)
    opening.initialize(database)
    database.close()
    yield url
    server.drop("dedup_key")


def shown(dedup: Dedup, *options: str) -> dict[str, Any]:
    """Return the settings as `dedup settings --json` prints them."""
    found: dict[str, Any] = json.loads(dedup("settings", *options, "--json").out)
    return found


def prints(database: Database) -> list[tuple[Any, ...]]:
    """Return all hashes of a corpus."""
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT a.source_id, f.version, f.content_hash, f.sentence_hashes::text, f.signature,"
            " f.buckets::text FROM dedup.fingerprint f JOIN dedup.article a ON a.id = f.article_id ORDER BY 1"
        ).fetchall()
    return [(*row[:4], bytes(row[4]), row[5]) for row in rows]


def test_init_makes_a_random_key_once(dedup: Dedup) -> None:
    first = dedup("init", "--hash-key", "random")
    assert first.code == 0
    key = shown(dedup, "--show-secrets")["hash_key"]
    assert len(bytes.fromhex(key)) == 32
    assert shown(dedup)["hash_key"] == masked(key)
    assert masked(key) in first.err
    assert masked(key) in dedup("settings").out
    again = dedup("init", "--hash-key", "random", "--json")
    assert json.loads(again.out)["hash_key"] == masked(key)
    assert shown(dedup, "--show-secrets")["hash_key"] == key
    plain = dedup("init")
    assert "hash key" not in plain.err


@pytest.mark.long("dedup", "migrations")
def test_a_key_for_a_corpus_with_articles_waits_for_the_next_backfill(
    dedup: Dedup, news: Path, database: Database
) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    before = prints(database)
    said = dedup("init", "--hash-key", "random").err
    assert "reads every text again (3 texts to fingerprint" in said
    assert prints(database) == before
    found = shown(dedup)
    assert found["hash_key"] == ""
    assert found["waiting"]["hash_key"].startswith("set (id ")
    assert "→ set (id " in dedup("settings").out
    dedup("backfill", "--workers", "0")
    assert {row[2] for row in prints(database)}.isdisjoint(row[2] for row in before)
    assert dedup("verify").code == 0


@pytest.mark.long("dedup", "migrations")
def test_another_machine_gets_equal_hashes_by_the_key_and_other_hashes_without(
    dedup: Dedup,
    news: Path,
    database: Database,
    other_corpus: str,
    typed: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def filled() -> tuple[list[Any], list[tuple[Any, ...]]]:
        dedup("load", str(news))
        dedup("backfill", "--workers", "0")
        marks = dedup("marks").lines
        opened = Database(url)
        found = prints(opened)
        opened.close()
        return marks, found

    url = database.url
    dedup("init", "--hash-key", "random")
    key = shown(dedup, "--show-secrets")["hash_key"]
    marks, hashes = filled()
    url = other_corpus
    monkeypatch.setenv(URL_VARIABLE, other_corpus)
    typed(f"{key}\n")
    assert dedup("init", "--hash-key", "-").code == 0
    assert filled() == (marks, hashes)
    typed(f"{key}\n")  # entering the same key again changes nothing
    assert dedup("init", "--hash-key", "-").code == 0
    typed(f"{KEY}\n")
    refused = dedup("init", "--hash-key", "-")
    assert refused.code == 2
    assert "another hash key" in refused.err
    typed(f"{KEY}\n")
    assert dedup("settings", "set", "hash_key=-", "--yes").code == 0
    others = filled()
    assert others[0] == marks
    for mine, theirs in zip(hashes, others[1], strict=True):
        assert mine[0] == theirs[0]
        assert all(a != b for a, b in zip(mine[1:], theirs[1:], strict=True))


@pytest.mark.long("dedup", "migrations")
def test_no_message_holds_the_key(
    dedup: Dedup, database: Database, typed: Callable[[str], None], news: Path
) -> None:
    dedup("load", str(news))
    assert dedup("settings", "set", f"hash_key={KEY}").code == 0
    runs = [
        ("settings",),
        ("settings", "--json"),
        ("--debug", "settings", "set", "hash_key", KEY),
        ("--debug", "settings", "set", f"hash_key:{KEY}"),
        ("--debug", "settings", "set", f"hash_key={KEY}", "bands=many"),
        ("--debug", "settings", "set", f"hash_key={KEY}\0"),
        ("--debug", "init", "--hash-key", KEY),
        ("init", "--json"),
        ("status",),
        ("status", "--json"),
        ("backfill", "--workers", "0"),
        ("verify",),
        ("explain", "copy", "first"),
        ("show", "copy"),
        ("settings", "reset", "hash_key", "--yes"),
    ]
    for arguments in runs:
        typed(KEY)
        found = dedup(*arguments)
        assert KEY not in found.out, arguments
        assert KEY not in found.err, arguments
        assert found.code == (2 if "--debug" in arguments else 0), arguments
    assert KEY not in repr(Settings(hash_key=KEY))
    assert KEY not in masked(KEY)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("short", ["x" * 31, masked(KEY), "Random", " "])
def test_a_key_that_could_be_guessed_is_refused(
    dedup: Dedup, short: str, typed: Callable[[str], None]
) -> None:
    typed(short)
    assert dedup("init", "--hash-key", "-").code == 2
    assert dedup("settings", "set", f"hash_key={short}").code == 2
    assert shown(dedup)["hash_key"] == ""
    assert dedup("settings", "set", "hash_key=").code == 0


@pytest.mark.long("dedup", "migrations")
def test_a_pinned_sentence_follows_the_key(dedup: Dedup, database: Database, tmp_path: Path) -> None:
    """Pin three sentences: with all words, with 500 characters of a stored sentence, with no words."""
    sentences = HARBOUR.split(". ")
    long = "The mayor, who " + "spoke for a long time and " * 30 + "went home at noon."
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps({"id": "a", "text": f"{HARBOUR} {long}"}) + "\n")
    dedup("load", str(file))
    dedup("backfill", "--workers", "0")
    with database.transaction() as cursor:
        row = cursor.execute("SELECT sentence_hashes FROM dedup.fingerprint").fetchone()
        assert row is not None
        before = row[0].tolist()
        cursor.execute("INSERT INTO dedup.sentence_pin (sentence_hash, common) VALUES (99, true)")
        cursor.execute(
            "INSERT INTO dedup.sentence_pin (sentence_hash, common, example) VALUES (%s, true, %s)",
            [before[-1], long[:500]],
        )
    dedup("common", "pin", f"{sentences[0]}.", "--never")
    refused = dedup("settings", "set", f"hash_key={KEY}")
    assert refused.code == 2
    assert "1 sentence pin is lost with the key; this cannot be undone" in refused.err
    said = dedup("settings", "set", f"hash_key={KEY}", "--yes").err
    assert "1 sentence pin is lost, because a new hash key needs the words, which are not stored: 99" in said
    assert "99" in said
    dedup("backfill", "--workers", "0")
    with database.transaction() as cursor:
        row = cursor.execute("SELECT sentence_hashes FROM dedup.fingerprint").fetchone()
        assert row is not None
        after = row[0].tolist()
        pins = dict(cursor.execute("SELECT sentence_hash, common FROM dedup.sentence_pin").fetchall())
        common = cursor.execute(
            "SELECT sentence_hash FROM dedup.common_sentence WHERE carriers > 0"
        ).fetchall()
    assert set(before).isdisjoint(after)
    assert pins == {after[0]: False, after[-1]: True, 99: True}
    assert common == [(after[-1],)]
    assert dedup("settings", "reset", "hash_key", "--yes").code == 0
    dedup("backfill", "--workers", "0")
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT sentence_hash FROM dedup.sentence_pin").fetchall()
    assert {row[0] for row in rows} == {before[0], before[-1], 99}
