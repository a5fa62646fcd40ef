"""Loads are listed, and the articles of loads are removed. Then the marks are as without these loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.base.errors import InputError
from dedup.base.progress import SilentProgress
from dedup.db.database import Database
from dedup.extras.loads import loads as removing
from dedup.extras.loads.loads import Removal
from dedup.extras.watch import feeds as of_feeds
from dedup.settling.backfill import backfill
from dedup.store import articles
from dedup.store import load as loading
from tests.cli.conftest import Dedup
from tests.conftest import empty
from tests.corpora import answer, article, assert_counted, assert_right, deduplicator, make_function, window

FEED = "https://courier.example/feed"


def settle(database: Database) -> None:
    backfill(database, workers=0, factory=make_function)


def version(name: str, number: int) -> Article:
    """Return a version of an article. Articles and versions with close numbers are duplicates."""
    return article(name, window(int(name[1:]) + number, 6), int(name[1:]))


def load(database: Database, *given: Article) -> int:
    found = deduplicator(database).load(given).load
    assert found is not None
    return found


def stored(database: Database) -> dict[str, str]:
    with database.transaction() as cursor:
        return dict(cursor.execute("SELECT source_id, text FROM dedup.article").fetchall())


def remove(database: Database, *names: int | str) -> Removal:
    """Remove loads and feeds, and check that the preview has announced the counts of articles."""
    dd = deduplicator(database).loads
    told, done = dd.preview(names), dd.remove(names)
    counted = [(one.articles, one.older, one.elsewhere, one.edited) for one in (told, done)]
    assert counted[0] == counted[1]
    return told


NAMES = st.sampled_from([f"a{i}" for i in range(5)])
LOADS = st.tuples(st.just("load"), st.lists(st.tuples(NAMES, st.integers(0, 2)), min_size=1, max_size=4))
HOOKS = st.tuples(st.just("hook"), st.lists(st.tuples(NAMES, st.just(0)), min_size=1, max_size=1))


@pytest.mark.long("dedup/extras/loads", "dedup/store", "migrations")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=st.lists(LOADS | LOADS | HOOKS, min_size=1, max_size=6),
    removals=st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=2),
    settled=st.booleans(),
)
def test_a_removed_load_has_never_been(
    database: Database,
    history: Sequence[tuple[str, list[tuple[str, int]]]],
    removals: Sequence[set[int]],
    settled: bool,
) -> None:
    """A removal leaves the articles and marks of a history without the removed loads."""
    empty(database)
    numbers: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        # A load has several batches, so a batch may edit articles of an earlier batch.
        patch.setattr("dedup.store.load.BATCH_ARTICLES", 2)
        for place, (kind, lines) in enumerate(history):
            if kind == "load":
                numbers[place] = load(database, *(version(name, number) for name, number in lines))
            else:
                # Store the articles like a hook; each has a different text.
                with database.transaction() as cursor:
                    articles.store(cursor, [version(lines[0][0], 20 + place)])
    if settled:
        settle(database)
    before = stored(database)
    gone: set[int] = set()
    for removal in removals:
        if wanted := {place for place in removal if place in numbers} - gone:
            remove(database, *(numbers[place] for place in wanted))
            gone |= wanted
    remaining = {name for place, (_, lines) in enumerate(history) if place not in gone for name, _ in lines}
    assert stored(database) == {name: text for name, text in before.items() if name in remaining}
    settle(database)
    assert_right(database)
    assert_counted(database)


def test_the_list_says_what_came_and_what_is_left(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "news.jsonl"
    file.write_text("".join(map(line, range(3))))
    dd = deduplicator(database)
    dd.load(file, rejects=tmp_path / "rejects")
    load(database, version("a1", 2), version("a7", 0))
    dd.delete("a0")
    second, first = dd.loads.list()
    assert (first.source, first.new, first.known, first.stored) == (str(file), 3, 0, 2)
    assert (second.source, second.new, second.known, second.stored) == (None, 1, 1, 1)
    assert first.loaded_by == second.loaded_by
    assert dd.loads.list(1) == [second]
    remove(database, second.number)
    assert dd.loads.list(1)[0].removed_by == first.loaded_by


def line(number: int) -> str:
    return f'{{"id": "a{number}", "text": "The council of town {number} met on Monday."}}\n'


def test_marks_of_others_are_counted(database: Database) -> None:
    load(database, article("early", window(0, 6), 0), article("far", window(7, 6), 9))
    second = load(database, article("original", window(3, 6), 1), article("copy", window(4, 6), 2))
    load(database, article("copy of both", window(4, 6), 3))
    settle(database)
    assert answer(database).status()["copy of both"] == "duplicate:original"
    told = deduplicator(database).loads.preview([second])
    assert (told.articles, told.copies) == (2, 1)
    assert told.related >= 1  # `early` is similar to `original`
    remove(database, second)
    settle(database)
    assert_right(database)
    assert answer(database).marks.keys() == {"early", "far", "copy of both"}


@pytest.mark.long("dedup", "migrations")
def test_a_load_that_arrives_among_hooks_has_only_its_own_articles(
    database: Database, corpus_url: str
) -> None:
    """A hook stores articles while a load's transaction is open, so the ids of both are mixed."""
    given = [version(f"a{i}", 0) for i in range(4)]
    with database.transaction() as cursor:
        counts = articles.store(cursor, given[:2])
        with Deduplicator(corpus_url) as other:
            other.submit(version("a9", 0))
        more = articles.store(cursor, given[2:])
        number = loading._note(cursor, None, None, counts)
        loading._note(cursor, number, None, more)
    remove(database, number)
    assert stored(database).keys() == {"a9"}


def test_a_stopped_removal_continues(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removing, "CHUNK_ARTICLES", 2)
    number = load(database, *(version(f"a{i}", 0) for i in range(5)))
    dd = deduplicator(database)

    class Stopping(SilentProgress):
        done = 0

        def advance(self, count: int, total: int | None = None) -> None:
            self.done += count

    shown = Stopping()
    done = dd.loads.remove([number], progress=shown, stop=lambda: shown.done >= 2)
    assert (done.stopped, done.articles, len(stored(database))) == (True, 2, 3)
    assert dd.loads.list()[0].removed_at is None
    assert dd.loads.remove([number]).articles == 3
    assert stored(database) == {}
    with pytest.raises(InputError, match=f"load {number} was removed already"):
        dd.loads.remove([number])


def brought(database: Database, address: str, *given: Article) -> None:
    """Store articles as entries of a feed, as `dedup watch` does."""
    with database.transaction() as cursor:
        feed = of_feeds.feed(cursor, address).id
        for one in given:
            if of_feeds.claim(cursor, feed, one.source_id, shared=False):
                articles.store(cursor, [one])
            of_feeds.note_entry(cursor, feed, one.source_id, b"digest")


def forget(database: Database, address: str) -> None:
    """Forget the entries of a feed, as if they had left the feed a month ago."""
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.feed_entry SET seen_at = seen_at - interval '31 days'")
        of_feeds.answered(cursor, of_feeds.feed(cursor, address).id, ["another"])


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("forgotten", [False, True])
def test_what_a_feed_brought_is_removed(database: Database, forgotten: bool) -> None:
    load(database, version("a0", 0))
    brought(database, FEED, version("a0", 1), version("a1", 0), version("a2", 0), version("a3", 0))
    brought(database, FEED, version("a1", 1))  # a feed may edit its own articles
    last = load(database, version("a3", 0))
    if forgotten:
        forget(database, FEED)
    dd = deduplicator(database)
    assert [(one.address, one.stored) for one in dd.loads.feeds()] == [(FEED, 3)]
    settle(database)
    removed = remove(database, FEED)
    assert (removed.articles, removed.elsewhere) == (2, 1)
    assert stored(database).keys() == {"a0", "a3"}
    settle(database)
    assert_right(database)
    # Now only the last load has brought the article.
    assert remove(database, last).articles == 1
    with pytest.raises(InputError, match="no feed has the address"):
        dd.loads.remove(["https://other.example/feed"])


def test_the_command_counts_asks_and_removes(database: Database, dedup: Dedup, tmp_path: Path) -> None:
    file = tmp_path / "news.jsonl"
    file.write_text("".join(map(line, range(3))))
    assert dedup("load", str(file)).code == 0
    listed = dedup("loads")
    assert str(file) in listed.out
    number = str(deduplicator(database).loads.list()[0].number)
    tried = dedup("loads", "remove", number, "--dry-run")
    assert "would delete 3 articles" in tried.err
    refused = dedup("loads", "remove", number)
    assert refused.code == 2
    assert "3 articles will be deleted" in refused.err
    assert len(stored(database)) == 3
    done = dedup("loads", "remove", number, "--yes")
    assert "deleted 3 articles" in done.err
    assert "next: dedup backfill" in done.err
    assert stored(database) == {}
