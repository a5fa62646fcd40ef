"""Feeds change only their own articles, never articles of another feed, file, table or hook."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup import Deduplicator
from dedup.base.article import Article
from dedup.db.database import Database
from dedup.extras.watch import watch as watching
from tests.conftest import empty
from tests.corpora import stored
from tests.extras.watch.sites import Site, site
from tests.files.feed_files import KEEPER, STORM, TRAMS

pytest.importorskip("trafilatura")
pytest.importorskip("protego")

EVIL = "Words of a stranger stand here, and nobody at the harbour had asked for them on that day in March."
ENTRIES = Path(__file__).parents[3] / "migrations" / "sql" / "entries.sql"


@pytest.fixture
def sites(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, Site]]:
    """The sites of the Courier and of a stranger, each with a host name."""
    known = socket.getaddrinfo

    def resolved(host: Any, *given: Any, **options: Any) -> Any:
        return known("127.0.0.1" if str(host).endswith(".example") else host, *given, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with ExitStack() as stack:
        made = [stack.enter_context(site()) for _ in range(2)]
        for one, name in zip(made, ("www.courier", "evil"), strict=True):
            one.address = one.address.replace("127.0.0.1", f"{name}.example")
        yield made[0], made[1]


@pytest.fixture
def poll(database: Database, corpus_url: str) -> Any:
    def once(*addresses: str) -> watching.WatchReport:
        return watching.watch(addresses, corpus_url, stop=lambda: False, once=True, host_seconds=0.0)

    return once


def item(guid: str, text: str, link: str | None = None) -> str:
    linked = f"<link>{escape(link)}</link>" if link else ""
    return (
        f"<item><guid isPermaLink='false'>{escape(guid)}</guid>{linked}<pubDate>Thu, 12 Mar 2026 06:10:00 GMT"
        f"</pubDate><description>{escape(text)}</description></item>"
    )


def feed(items: Sequence[str], channel: str = "") -> str:
    link = f"<link>{escape(channel)}</link>" if channel else ""
    return f"<rss version='2.0'><channel><title>T</title>{link}{''.join(items)}</channel></rss>"


@pytest.mark.long("dedup", "migrations")
def test_a_stranger_who_takes_the_names_of_others_edits_none_of_their_articles(
    sites: tuple[Site, Site], poll: Any, database: Database, corpus_url: str
) -> None:
    courier, evil = sites
    story, number = f"{courier.address}/story-1", "8812"
    honest = [item(story, TRAMS, story), item(number, KEEPER, f"{courier.address}/2")]
    address = courier.put("/feed", feed(honest, courier.address))
    with Deduplicator(corpus_url) as dedup:
        dedup.submit(Article("w1", STORM))
    assert poll(address).new == 2
    before = stored(database)
    assert set(before) == {"w1", story, "www.courier.example/8812"}

    claims = [*before, number, address, f"{address}#{story}", f"http://courier.example/{number}"]
    for channel in ("", courier.address, f"{courier.address}/feed"):
        for link in (None, story, f"{evil.address}/1"):
            hostile = evil.put(
                "/feed", feed([item(guid, EVIL, link) for guid in claims], channel), validated=False
            )
            poll(hostile)
    after = stored(database)
    assert {key: after[key] for key in before} == before
    assert {"evil.example" in key.partition("#")[0] for key in after.keys() - before.keys()} == {True}
    assert EVIL in after.values()

    assert poll(address).new == 0  # the story still belongs to the Courier's feed
    courier.put("/feed", feed([item(story, f"{TRAMS} Updated.", story), honest[1]], courier.address))
    assert poll(address).changed == 1
    assert stored(database)[story] == f"{TRAMS} Updated."


def test_who_comes_first_takes_nothing_from_who_comes_second(
    sites: tuple[Site, Site], poll: Any, database: Database
) -> None:
    courier, evil = sites
    story = f"{courier.address}/story-1"
    poll(evil.put("/feed", feed([item(story, EVIL, story)], courier.address)))
    assert poll(courier.put("/feed", feed([item(story, TRAMS, story)]))).new == 1
    assert stored(database)[story] == TRAMS


CLAIMED = st.sampled_from(
    ["w1", "8812", "urn:1", "{courier}/a", "{evil}/a", "www.courier.example/8812", "{courier}/feed#urn:1"]
)
HOSTILE = st.lists(st.tuples(CLAIMED, CLAIMED | st.none(), CLAIMED | st.just("")), min_size=1, max_size=6)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE)
def test_no_claim_of_a_feed_changes_or_blocks_articles_of_others(
    sites: tuple[Site, Site],
    poll: Any,
    database: Database,
    corpus_url: str,
    claims: list[tuple[str, str | None, str]],
) -> None:
    courier, evil = sites
    empty(database)
    with Deduplicator(corpus_url) as dedup:
        for key in ("w1", "8812", "urn:1", f"{evil.address}/a", f"{courier.address}/feed#urn:1"):
            dedup.submit(Article(key, STORM))
    honest = [
        item("8812", KEEPER),
        item("urn:1", KEEPER),
        item(f"{courier.address}/a", KEEPER, f"{courier.address}/a"),
    ]
    address = courier.put("/feed", feed(honest, courier.address))
    assert poll(address).new == 2  # a hook had stored the third entry
    before = stored(database)
    names = {"courier": courier.address, "evil": evil.address}
    for guid, link, channel in claims:
        made = item(guid.format(**names), EVIL, link and link.format(**names))
        poll(evil.put("/feed", feed([made], channel.format(**names)), validated=False))
    after = stored(database)
    assert {key: after[key] for key in before} == before
    assert poll(courier.put("/feed", feed(honest[1:], courier.address))).new == 0


def test_sections_of_one_site_share_their_articles_and_either_may_edit(
    sites: tuple[Site, Site], poll: Any, database: Database
) -> None:
    courier, _ = sites
    link = f"{courier.address}/1"
    home = courier.put("/home", feed([item("urn:1", TRAMS, link)]))
    sport = courier.put("/sport", feed([item("urn:1", TRAMS, link)])).replace("www.", "rss.")
    assert [poll(home).new, poll(sport).new] == [1, 0]
    for at, (address, path) in enumerate([(sport, "/sport"), (home, "/home")]):
        courier.put(path, feed([item("urn:1", f"{TRAMS} Updated {at}.", link)]))
        assert poll(address).changed == 1
        assert stored(database) == {"courier.example/urn:1": f"{TRAMS} Updated {at}."}


def test_what_was_loaded_is_one_article_with_the_feeds_and_stays_as_it_was_loaded(
    sites: tuple[Site, Site], poll: Any, database: Database, corpus_url: str
) -> None:
    courier, _ = sites
    story = f"{courier.address}/story-1"
    with Deduplicator(corpus_url) as dedup:
        dedup.submit(Article(story, STORM))
    for text in (TRAMS, KEEPER):
        report = poll(courier.put("/feed", feed([item(story, text, story)])))
        assert (report.new, report.changed) == (0, 0)
    assert stored(database) == {story: STORM}


def test_a_guid_that_is_too_long_for_an_id_is_an_entry_like_others(
    sites: tuple[Site, Site], poll: Any, database: Database
) -> None:
    courier, _ = sites
    address = courier.put(
        "/feed", feed([item("urn:" + "x" * 12_000, STORM), item("urn:1", TRAMS)]), validated=False
    )
    assert [poll(address).new, poll(address).new] == [2, 0]
    assert set(stored(database).values()) == {STORM, TRAMS}


def watched_before(
    database: Database, address: str, entries: dict[str, str], edited: Sequence[str] = ()
) -> None:
    """Make a feed look as if it was watched up to revision 0019, which trusted the ids that entries claim."""
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO dedup.feed (address) VALUES (%s) ON CONFLICT DO NOTHING", [address])
        for key, text in entries.items():
            cursor.execute(
                "INSERT INTO dedup.article (source_id, text) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                [key, text],
            )
            if key in edited:
                cursor.execute("UPDATE dedup.article SET text = text || '.' WHERE source_id = %s", [key])
            cursor.execute(
                "INSERT INTO dedup.feed_entry (source_id, feed_id, digest)"
                " SELECT %s, id, 'old' FROM dedup.feed WHERE address = %s",
                [key, address],
            )


def upgrade(database: Database) -> None:
    with database.transaction() as cursor:
        cursor.execute("ALTER TABLE dedup.feed_entry DROP COLUMN brought")
        for statement in filter(str.strip, ENTRIES.read_text("utf-8").split(";\n")):
            cursor.execute(statement.encode())


@pytest.mark.long("dedup", "migrations")
def test_a_corpus_that_was_watched_before_gets_no_entry_twice_and_no_stranger_keeps_what_he_took(
    sites: tuple[Site, Site], poll: Any, database: Database
) -> None:
    courier, evil = sites
    story = f"{courier.address}/story-1"
    ours = {story: "old", "urn:1": "old", "www.courier.example/8812": "old", "urn:2": "old"}
    address, hostile = f"{courier.address}/feed", f"{evil.address}/feed"
    watched_before(database, address, ours, edited=[story])
    watched_before(database, hostile, {"w1": STORM, "urn:2": "old", "urn:3": "old"}, edited=["w1"])
    upgrade(database)

    items = [item(story, TRAMS, story), item("urn:1", TRAMS), item("8812", TRAMS), item("urn:2", TRAMS)]
    courier.put("/feed", feed(items, courier.address))
    evil.put("/feed", feed([item(guid, EVIL) for guid in ("w1", "urn:2", "urn:3")]))
    report = poll(address)
    assert (report.new, report.changed) == (1, 3)  # urn:2 was in two feeds, so its owner is unknown
    report = poll(hostile)
    assert (report.new, report.changed) == (2, 1)
    found = stored(database)
    assert {key: found[key] for key in [*ours, "w1", "urn:3"]} == {
        **dict.fromkeys(ours, TRAMS),
        "urn:2": "old",
        "w1": f"{STORM}.",
        "urn:3": EVIL,
    }
    assert poll(address, hostile).new == 0
