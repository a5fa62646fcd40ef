"""A role that may only read gets the same answers for pages as the owner, and can write nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.base.errors import RightsError
from dedup.db import roles
from dedup.db.database import Database
from dedup.extras.browse.browsing import Browsing
from dedup.extras.judging.judgements import Pick
from tests.attached import attach, news, owned, put
from tests.conftest import Server
from tests.corpora import article, at, code, sentence, text, window
from tests.db.test_roles import made_roles, url_of

DAY = at(0).date()
DATE_AFTER = DAY.replace(year=DAY.year + 1)
ROW = "news/1"
NEW = Article("new", text(window(2, 6)))


@dataclass
class Doors:
    """One corpus, opened as two roles."""

    owner: Deduplicator
    reader: Deduplicator
    role: str
    reader_url: str
    common: int


@pytest.fixture(scope="module")
def doors(server: Server) -> Iterator[Doors]:
    """A corpus with rows in every table that a page reads, and with an attached table of one row."""
    url = server.create("dedup_reader")
    Deduplicator.initialize(url)
    with (
        closing(Database(url)) as database,
        owned(database) as table,
        made_roles(url, ["reader"]) as names,
        Deduplicator(url) as dd,
    ):
        with Operation(url) as operation:
            operation.grant(reader=[names["reader"]])
            operation.make_searchable()
        news(table)
        put(table, 1, window(3, 6), 60)
        attach(database)
        dd.load(article(f"a{i}", [*window(i, 6), code(99)], i, publication=f"P{i % 2}") for i in range(8))
        dd.pins.set("a1", "a6", "similar", by="ann")
        dd.common_sentences.pin(sentence(code(99)), common=True)
        dd.backfill(workers=0)
        dd.keep_sentences(outlets=2)
        pairs = (("a2", "a5"), ("a0", "a1"))
        dd.judgements.pick([Pick(*pair, "all", 2, 2, {"minhash": 0.5}) for pair in pairs])
        dd.judgements.record(("a0", "a1"), "ann", "duplicate")
        dd.load([article("waits", window(5, 6), 90)])
        (common,) = dd.common_sentences.list()
        reader_url = url_of(url, names["reader"])
        with Deduplicator(reader_url) as reader:
            yield Doors(dd, reader, names["reader"], reader_url, common.sentence_hash)


PAGES: dict[str, Callable[[Browsing, Doors], Any]] = {
    "newest_day": lambda b, _: b.newest_day(),
    "days_beside": lambda b, _: b.days_beside(DATE_AFTER, DATE_AFTER)[:1],
    "day": lambda b, _: b.day(DAY),
    "story": lambda b, _: b.story("a0"),
    "article": lambda b, _: (b.article("a1"), b.article(ROW)),
    "compare": lambda b, _: (b.compare("a0", "a1"), b.compare("a3", ROW)),
    "search": lambda b, _: (b.search(), b.search(sentence(code(3)).split()[0]), b.search(publication="P1")),
    "outlets": lambda b, _: b.outlets(DAY),
    "outlet": lambda b, _: b.outlet("P1"),
    "outlet_names": lambda b, _: b.outlet_names(),
    "languages": lambda b, _: (b.languages() == (),),
    "agencies": lambda b, _: b.agencies(),
    "families": lambda b, _: (b.families() == (),),
    "quotes": lambda b, _: b.quotes(),
    "quote": lambda b, _: b.quote(b.quotes().quotes[0].sentence_hash),
    "copied": lambda b, _: b.copied("P1", "P0", DAY),
    "common_sentences": lambda b, _: b.common_sentences(),
    "sentence": lambda b, doors: b.sentence(doors.common),
    "queue": lambda b, _: (b.queue("duplicate"), b.queue("similar"), b.queue("picked")),
    "pins": lambda b, _: b.pins(),
    "quality": lambda b, _: b.quality(),
    "health": lambda b, _: (
        (found := b.health()).settings and (found.sizes.keys(), found.runs, found.searchable)
    ),
}
"""Every question of `Deduplicator.browsing`; of the health, only the parts that do not change."""

QUESTIONS: dict[str, Callable[[Deduplicator], Any]] = {
    "get": lambda dd: (dd.get("a1"), dd.get(ROW)),
    "lookup": lambda dd: (dd.lookup(NEW), dd.lookup(NEW.text)),
    "explain": lambda dd: dd.explain("a3", ROW),
    "story": lambda dd: dd.story("a0"),
    "stories": lambda dd: dd.stories(),
    "status": lambda dd: dd.status().counts,
    "runs": lambda dd: dd.runs(),
    "vitals": lambda dd: dd.vitals().queues,
    "pins": lambda dd: dd.pins.list(),
    "settings": lambda dd: dd.settings.in_force(),
}


def test_no_question_of_pages_is_left_out() -> None:
    assert PAGES.keys() == {name for name in vars(Browsing) if not name.startswith("_")}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", PAGES)
def test_what_pages_ask_is_answered_as_for_the_owner(doors: Doors, name: str) -> None:
    found = PAGES[name](doors.reader.browsing, doors)
    assert found
    assert all(found) if isinstance(found, tuple) else True
    assert found == PAGES[name](doors.owner.browsing, doors)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_library_is_answered_as_for_the_owner(doors: Doors, name: str) -> None:
    found = QUESTIONS[name](doors.reader)
    assert found
    assert found == QUESTIONS[name](doors.owner)


IDLE = [
    *(f"SELECT ON dedup.{name}" for name in ("compared_version", "compared_copy")),
    *(f"SELECT ON dedup.{name}" for name in ("journal", "journal_mark", "journal_deleted")),
    *(f"SELECT ON dedup.{name}" for name in ("quoted_sentence", "word_count", "credit_unread")),
    *(f"SELECT ON dedup.{name}" for name in ("correction_phrase", "feed", "load", "load_part")),
    "EXECUTE ON FUNCTION dedup.changes(text,integer)",
    "EXECUTE ON FUNCTION dedup.journal_triggers()",
    *(f"EXECUTE ON FUNCTION dedup.{name}(bigint[])" for name in ("origins", "independent_origins")),
]
"""Rights that no question of pages needs; commands and users' SQL need them."""


@pytest.mark.long("dedup", "migrations")
def test_every_right_is_needed(doors: Doors) -> None:
    """Revoke each right in turn. Some question fails, unless the right is in `IDLE`."""
    idle = []
    with psycopg.connect(doors.owner._database.url, autocommit=True) as owner:
        for right in rights(owner):
            owner.execute(f"REVOKE {right} FROM {doors.role}".encode())
            if not any(missing(doors)):
                idle.append(right)
            owner.execute(f"GRANT {right} TO {doors.role}".encode())
    assert sorted(idle) == sorted(IDLE)


def rights(owner: psycopg.Connection[Any]) -> Iterator[str]:
    """Yield the rights of a reader on tables and functions, as GRANT takes them."""
    for table, given in roles.RIGHTS["table"].items():
        yield from (f"{privilege} ON dedup.{table}" for privilege in given.get("reader", ()))
    for function, given in roles.RIGHTS["function"].items():
        if "reader" in given:
            (signature,) = owner.execute(
                "SELECT oid::regprocedure FROM pg_proc WHERE proname = %s"
                " AND pronamespace = 'dedup'::regnamespace",
                [function],
            ).fetchall()
            yield f"EXECUTE ON FUNCTION {signature[0]}"


def missing(doors: Doors) -> Iterator[bool]:
    """Yield for each question whether it fails for a missing right."""
    asked = [partial(ask, doors.reader.browsing, doors) for ask in PAGES.values()]
    for question in [*asked, *(partial(ask, doors.reader) for ask in QUESTIONS.values())]:
        try:
            question()
        except RightsError:
            yield True
        else:
            yield False


@pytest.mark.long("dedup", "migrations")
def test_the_marks_of_an_attached_table_can_be_read(doors: Doors) -> None:
    with psycopg.connect(doors.reader_url) as connection:
        assert connection.execute("SELECT id, status FROM dedup.news_marks").fetchall() == [(1, "duplicate")]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT body FROM newsroom.news")


WRITING: dict[str, Callable[[Deduplicator], Any]] = {
    "submit": lambda dd: dd.submit(NEW),
    "submit a new version": lambda dd: dd.submit(Article("a1", text(window(2, 6)))),
    "load": lambda dd: dd.load([NEW]),
    "backfill": lambda dd: dd.backfill(workers=0),
    "prune": lambda dd: dd.prune("1d"),
    "retry": lambda dd: dd.retry(),
    "delete": lambda dd: dd.delete("a1"),
    "pin": lambda dd: dd.pins.set("a0", "a1", "unrelated"),
    "unpin": lambda dd: dd.pins.remove("a1", "a6"),
    "settle": lambda dd: dd.pins.settle("a0", "a1"),
    "judge": lambda dd: dd.judgements.record(("a2", "a5"), "eve", "different"),
    "judge again": lambda dd: dd.judgements.record(("a0", "a1"), "ann", "different"),
    "take back": lambda dd: dd.judgements.take_back(("a0", "a1"), "ann"),
    "pick": lambda dd: dd.judgements.pick([]),
    "pin a sentence": lambda dd: dd.common_sentences.pin(sentence(code(1)), common=True),
    "unpin a sentence": lambda dd: dd.common_sentences.unpin(sentence(code(99))),
    "settings": lambda dd: dd.settings.change({"bands": 16}),
    "sync": lambda dd: dd.attachments.sync(),
    "detach": lambda dd: dd.attachments.detach("news"),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", WRITING)
def test_nothing_can_be_written(doors: Doors, name: str) -> None:
    before = everything(doors.owner)
    with pytest.raises(RightsError):
        WRITING[name](doors.reader)
    assert everything(doors.owner) == before


def everything(dd: Deduplicator) -> list[object]:
    """Return all state that an attempt to write could change."""
    found: list[object] = [list(dd.marks()), dd.pins.list(), dd.common_sentences.list(), dd.settings.wanted()]
    found += [dd.browsing.article("a0").judgements, dd.browsing.queue("picked"), dd.attachments.list()]
    return [*found, dd.status().deferred, dd.attachments.waiting()]
