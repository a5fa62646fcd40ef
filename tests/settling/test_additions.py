"""Additions: the text that copies add to their originals, as `dedup sentences` stores it for SQL."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article, TextTask
from dedup.base.errors import MissingRightError
from dedup.db.database import Cursor, Database
from dedup.files.readers import read_articles
from dedup.settling import sentences
from dedup.settling.backfill import backfill
from dedup.store import articles
from dedup.store.versions import AdditionRow
from tests import attached
from tests.corpora import article, code, deduplicator, load, sentence, settle, window
from tests.db.test_roles import Names, granted, names, run, url_of

pytestmark = pytest.mark.long("dedup", "migrations")

__all__ = ["granted", "names", "run"]

BODY = [code(number) for number in range(20, 28)]
NEW = f"{sentence(code(90))[:-1]} for 47 days."


@pytest.fixture
def wire(database: Database) -> Database:
    """Store `w`, its reprint `h`, a copy `c` with one more sentence, an excerpt `x`, and an unrelated `u`."""
    original = article("w", BODY, 1, publication="Wire")
    load(
        database,
        original,
        article("h", BODY, 5, publication="Herald"),
        replace(article("c", BODY, 9, publication="Courier"), text=f"{original.text}\n\n{NEW}"),
        article("x", BODY[:7], None, publication="Post"),
        article("u", window(0, 6), 2),
    )
    backfill(database, workers=0)
    return database


def added(database: Database) -> dict[str, AdditionRow]:
    return {row["id"]: row for row in deduplicator(database).additions()}


def removable(database: Database) -> list[str]:
    return [row["id"] for row in deduplicator(database).removable()]


def kept(database: Database) -> int:
    with database.transaction() as cursor:
        return len(cursor.execute(b"SELECT FROM dedup.compared_copy").fetchall())


def test_each_copy_is_compared_with_its_original_not_with_the_version_before(wire: Database) -> None:
    assert added(wire) == {}
    assert deduplicator(wire).uncompared_copies() == 3
    report = deduplicator(wire).keep_sentences()
    assert (report.compared, report.copies) == (3, 3)
    assert deduplicator(wire).uncompared_copies() == 0
    found = added(wire)
    assert {id: row["adds_nothing"] for id, row in found.items()} == {"h": True, "c": False, "x": True}
    assert found["c"] == {
        **{"id": "c", "original": "w", "publication": "Courier", "original_publication": "Wire"},
        **{"words": 111, "words_added": 15, "sentences_added": 1, "numbers_added": 1},
        **{"share_in_original": pytest.approx(94 / 109), "adds_nothing": False},
        **{"sentences": [NEW], "numbers": ["47"], "times_known": True},
    }
    assert found["x"]["times_known"] is False
    assert removable(wire) == ["h", "x"]


def test_the_second_version_of_a_story_is_read_once_for_both_comparisons(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(database, article("a", BODY, 1), article("b", [*BODY, code(90)], 2))
    backfill(database, workers=0)
    read: list[int] = []
    load_texts = articles.load_texts

    def noted(cursor: Cursor, ids: Sequence[int]) -> list[TextTask]:
        read.extend(ids)
        return load_texts(cursor, ids)

    monkeypatch.setattr(articles, "load_texts", noted)
    report = sentences.keep(database)
    assert (report.compared, report.copies, len(read)) == (1, 1, 2)


def test_only_new_and_edited_copies_are_compared_again(wire: Database) -> None:
    assert sentences.keep(wire).copies == 3
    assert sentences.keep(wire).copies == 0
    load(wire, article("later", BODY, 30))
    backfill(wire, workers=0)
    assert deduplicator(wire).uncompared_copies() == 1
    assert sentences.keep(wire).copies == 1
    # Edit `h`: it gets the text of `c`.
    load(wire, replace(article("h", BODY, 5), text=f"{article('w', BODY, 1).text}\n\n{NEW}"))
    assert "h" not in added(wire)
    backfill(wire, workers=0)
    assert sentences.keep(wire).copies == 1
    assert added(wire)["h"]["numbers"] == ["47"]


def test_words_are_removed_with_the_text(wire: Database) -> None:
    sentences.keep(wire)
    deduplicator(wire).delete("c")
    assert kept(wire) == 2
    deduplicator(wire).delete("w")
    assert kept(wire) == 0
    backfill(wire, workers=0)
    sentences.keep(wire)
    assert {id: row["original"] for id, row in added(wire).items()} == {"x": "h"}
    with wire.transaction(settling=True) as cursor:
        cursor.execute("TRUNCATE dedup.article")
    assert kept(wire) == 0


def test_a_copy_with_another_original_is_not_told_of_the_old_one(wire: Database) -> None:
    sentences.keep(wire)
    load(wire, article("first", BODY, 0))
    backfill(wire, workers=0)
    assert added(wire) == {}
    assert removable(wire) == []
    assert sentences.keep(wire).copies == 4
    assert {row["original"] for row in added(wire).values()} == {"first"}
    assert kept(wire) == 4


def test_a_stale_copy_is_not_removable(wire: Database) -> None:
    sentences.keep(wire)
    load(wire, article("h", BODY, 7))  # the new date makes `h` stale
    assert removable(wire) == ["x"]
    backfill(wire, workers=0)
    assert removable(wire) == ["h", "x"]


def test_without_the_removable_copies_no_story_is_lost(wire: Database) -> None:
    sentences.keep(wire)
    before = {row["original"] for row in deduplicator(wire).additions()}
    deduplicator(wire).delete_many(removable(wire))
    backfill(wire, workers=0)
    assert removable(wire) == []
    assert set(added(wire)) == {"c"}
    assert before == {"w"} == {row["original"] for row in added(wire).values()}


def test_the_words_of_an_attached_table_count_as_last_read(database: Database) -> None:
    with attached.owned(database) as owner:
        attached.news(owner)
        attached.put(owner, 1, BODY, 1)
        attached.put(owner, 2, [code(90), *BODY], 2)
        attached.attach(database)
        settle(database)
        sentences.keep(database)
        (row,) = added(database).values()
        assert (row["sentences"], row["adds_nothing"]) == ([sentence(code(90))], False)
        owner.execute("UPDATE news SET body = body || ' Nothing more is known so far.' WHERE id = 2")
        settle(database)
        assert kept(database) == 0
        sentences.keep(database)
        (row,) = added(database).values()
        assert row["sentences"] == [sentence(code(90)), "Nothing more is known so far."]


def test_a_counter_lists_removable_copies_and_reads_no_addition(wire: Database, granted: Names) -> None:
    sentences.keep(wire)
    with Deduplicator(url_of(wire, granted["counter"])) as counter:
        assert [row["id"] for row in counter.removable()] == ["h", "x"]
        assert counter.uncompared_copies() == 0
        with pytest.raises(MissingRightError):
            list(counter.additions())
    with Deduplicator(url_of(wire, granted["analyst"])) as analyst:
        assert {row["id"] for row in analyst.additions()} == {"h", "c", "x"}


def _grams(given: str) -> set[tuple[str, ...]]:
    found = re.findall(r"\w+", unicodedata.normalize("NFKC", given).casefold())
    return {tuple(found[start : start + 3]) for start in range(max(1, len(found) - 2))}


@pytest.mark.shared
@pytest.mark.long("dedup/text", "dedup/settling/sentences.py", "dedup/store/versions.sql")
def test_copies_of_real_news_add_nothing_exactly_where_a_brute_force_says_so(
    database: Database, shared_data: Path
) -> None:
    with read_articles(shared_data / "bbc2225.jsonl.gz") as reader, Deduplicator(database.url) as dd:
        dd.load(one for one in reader if isinstance(one, Article))
        dd.backfill(workers=0)
        dd.keep_sentences()
        found = {row["id"]: row for row in dd.additions()}
        texts = {one.source_id: one.text for one in dd.newest(10_000)}
    said = {id: row["adds_nothing"] for id, row in found.items()}
    assert said == {id: _grams(texts[id]) <= _grams(texts[row["original"]]) for id, row in found.items()}
    assert set(said.values()) == {True, False}
