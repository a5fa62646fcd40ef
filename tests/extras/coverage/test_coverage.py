"""`dedup sources` and `dedup coverage`: answers and refusals, in Python and on the command line."""

from __future__ import annotations

import inspect
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dedup import Article, Deduplicator
from dedup.base.errors import RightsError
from dedup.db.database import Database
from dedup.extras.coverage import defaults, finding
from dedup.extras.coverage.finding import Rarity, around
from dedup.extras.coverage.shared import Mentions
from dedup.store.word_counts import WordCounts
from tests.cli.conftest import Dedup
from tests.db.test_roles import Names, granted, names, url_of
from tests.extras.coverage.conftest import COUNCIL, REWRITTEN, STORM, TRAMS, Filled

pytestmark = pytest.mark.long("dedup", "migrations")

__all__ = ["granted", "names"]  # fixtures


def test_a_rewritten_text_has_its_original_first(newsroom: Deduplicator) -> None:
    found = newsroom.sources("rewrite")
    assert {one.id for one in found[:3]} == {"storm", "copy", "last year"}
    assert "rewrite" not in {one.id for one in found}, "an article is not its own source"
    assert found == sorted(found, key=lambda one: -one.score)
    assert "no proof" in found[0].caution
    assert newsroom.sources(text=REWRITTEN)[0].id == "rewrite", (
        "a text that is stored is found as its own source"
    )


def test_an_article_is_not_made_of_its_later_copies(newsroom: Deduplicator) -> None:
    assert "copy" not in {one.id for one in newsroom.sources("storm", limit=40)}
    assert "storm" in {one.id for one in newsroom.sources("copy", limit=40)}


def test_later_articles_come_last_and_of_equals_the_earliest_first(filled: Filled) -> None:
    times = {
        "later": "2026-03-12T06:00Z", "same day": "2026-03-11", "undated": None, "z early": "2026-03-09",
        "a early": "2026-03-10T06:00Z",
    }  # fmt: skip
    same = [Article(name, STORM, published_at=at) for name, at in times.items()]
    dd = filled([*same, Article("asked", REWRITTEN, published_at="2026-03-11T08:00Z"), *TRAMS])

    def found(source_id: str | None = None, text: str | None = None) -> list[str]:
        return [one.id for one in dd.sources(source_id, text=text) if not one.id.startswith("tram")]

    expected = ["z early", "a early", "same day", "undated", "later"]
    assert found("asked") == expected
    assert found(text=STORM) == ["z early", "a early", "same day", "later", "undated", "asked"]
    dd.load([Article("asked", REWRITTEN, published_at="2026-03-08T08:00Z")])
    assert found("asked")[0] == "undated", "an unknown time may be earlier"


def test_of_many_equal_articles_the_earliest_are_read(filled: Filled) -> None:
    dd = filled(
        [
            *TRAMS,
            *(
                Article(f"a{n}", STORM, published_at=f"2026-03-01T00:{59 - n // 2:02}:0{n % 2}Z")
                for n in range(70)
            ),
        ]
    )
    assert [one.id for one in dd.sources(text=STORM, limit=40)][:2] == ["a68", "a69"]


def test_undated_articles_are_in_no_window(filled: Filled) -> None:
    dd = filled(
        [
            *TRAMS,
            Article("asked", STORM, published_at="2026-03-10T06:00Z"),
            Article("dated", REWRITTEN, published_at="2026-03-11"),
            Article("undated", f"{REWRITTEN} {COUNCIL}", added_at="2026-03-10T09:00Z"),
            Article("undated copy", STORM, added_at="2026-03-10T09:00Z"),
        ]
    )
    found = {one.id: one.relation for one in dd.coverage("asked").articles}
    assert found == {"dated": "other words", "undated copy": "copy"}
    for everywhere in (dd.coverage("undated"), dd.coverage(text=COUNCIL)):
        assert everywhere.since is None
        assert "dated" in {one.id for one in everywhere.articles} or everywhere.id is None
    assert "undated" in {one.id for one in dd.coverage(text=COUNCIL).articles}
    assert "undated" in {one.id for one in dd.sources("asked")}


def test_of_an_article_only_its_scope_is_searched(filled: Filled) -> None:
    dd = filled(
        [
            *TRAMS,
            *(
                Article(f"{name} {scope}", text, published_at=f"2026-03-1{day}T06:00Z", scope=scope)
                for scope in ("ann", "bob", None)
                for day, (name, text) in enumerate((("storm", STORM), ("rewrite", REWRITTEN)))
            ),
        ]
    )
    for scope in ("ann", "bob", "None"):
        assert [one.id for one in dd.coverage(f"storm {scope}").articles] == [f"rewrite {scope}"]
        assert dd.sources(f"rewrite {scope}")[0].id == f"storm {scope}"
        others = {one.id for one in dd.sources(f"rewrite {scope}", limit=40)}
        assert {one for one in others if not one.startswith("tram")} == {f"storm {scope}"}
    found = {one.id for one in dd.sources(text=REWRITTEN, limit=40)}
    assert found >= {f"storm {scope}" for scope in ("ann", "bob", "None")}, "a text has no scope"


def test_undated_copies_may_be_sources(filled: Filled) -> None:
    dd = filled(
        [Article("a", STORM), Article("b", STORM), Article("c", REWRITTEN), Article("d", "Trams stop.")]
    )
    assert "b" in {one.id for one in dd.sources("a")}


def test_articles_of_the_event_are_grouped_by_origin(newsroom: Deduplicator) -> None:
    found = newsroom.coverage("storm")
    told = {
        one.id: (origin.kind, origin.name, one.relation)
        for origin in found.origins
        for one in origin.articles
    }
    assert told["copy"] == ("outlet", "Courier", "copy"), "a copy has the origin of its original"
    assert told["rewrite"] == ("outlet", "Blog", "other words")
    assert "last year" not in told, "the article is outside the window"
    assert (found.since, found.until) == around(datetime(2026, 3, 10, 6, tzinfo=UTC), defaults.DAYS)
    assert "last year" in {one.id for one in newsroom.coverage("storm", days=400).articles}
    assert newsroom.coverage("storm", days=0).articles[0].id == "copy"
    assert newsroom.coverage("storm", limit=1).articles[0].id == "copy"


def test_a_text_is_looked_for_at_a_time(newsroom: Deduplicator) -> None:
    everywhere = {one.id for one in newsroom.coverage(text=REWRITTEN).articles}
    assert {"storm", "last year"} <= everywhere
    then = {one.id for one in newsroom.coverage(text=REWRITTEN, at="2025-03-11").articles}
    assert then == {"last year"}


def test_shared_names_numbers_and_quotes_are_shown(newsroom: Deduplicator) -> None:
    (rewrite,) = [one for one in newsroom.coverage("storm").articles if one.id == "rewrite"]
    assert {"Ingrid Halvorsen", "Agnes"} <= {*rewrite.shared.names}
    assert {*rewrite.shared.numbers} == {"37", "4.2"}
    assert rewrite.shared.quotes == ("We have never seen waves like these,",)


def test_frequent_words_are_no_names() -> None:
    words = ["however", "agnes", "the", "port", "marlow", "2026", "1,200"]
    counts = WordCounts(1_000, {"however": 400, "the": 990, "port": 200, "marlow": 5, "2026": 700})
    texts = (
        "However, Agnes hit Port Marlow in 2026. The 1,200",
        "However, in Port Marlow, Agnes 2026. The 1,200",
    )
    shared = Mentions(texts[0]).shared_with(Mentions(texts[1]), Rarity(counts, [*words, "1", "200"]))
    assert shared.names == ("Agnes", "Port Marlow")
    assert shared.numbers == ("1,200",)


def test_a_pending_article_is_not_compared(filled: Filled) -> None:
    dd = filled([Article(f"other{n}", f"Trams stop at night on line {n}.") for n in range(5)])
    dd.load([Article("a", STORM), Article("b", REWRITTEN)])
    found = dd.coverage("a").origins[0]
    assert (found.kind, found.name, [one.id for one in found.articles]) == ("not compared", None, ["b"])


def test_the_defaults_of_the_library_are_those_of_the_extra() -> None:
    given = inspect.signature(Deduplicator.coverage).parameters
    assert (given["days"].default, given["limit"].default) == (defaults.DAYS, defaults.ARTICLES)
    assert inspect.signature(Deduplicator.sources).parameters["limit"].default == defaults.SOURCES


def test_the_commands_list_articles(newsroom: Deduplicator, dedup: Dedup, tmp_path: Path) -> None:
    done = dedup("sources", "rewrite", "--json")
    found = json.loads(done.out)
    assert {one["id"] for one in found[:3]} == {"storm", "copy", "last year"}
    assert {*found[0]} == {"id", "score", "title", "publication", "published_at", "caution"}
    assert "a high score is no proof" in done.err
    file = tmp_path / "text.txt"
    file.write_text(REWRITTEN)
    assert json.loads(dedup("sources", str(file), "--json").out)[0]["id"] == "rewrite"
    table = dedup("coverage", "storm")
    assert "Courier" in table.out
    assert "other words" in table.out
    assert "Ingrid Halvorsen" in table.out
    assert "2026-03-03, 15 days, 2 origins" in table.err
    told = json.loads(dedup("coverage", "Agnes in Port Marlow", "--at", "2026-03-10", "--json").out)
    assert told["id"] is None
    assert {*told} == {"id", "since", "until", "origins"}
    assert {*told["origins"][0]["articles"][0]} == {
        *("id", "relation", "score", "title", "publication", "published_at", "shared")
    }


def test_a_name_of_nothing_is_refused(newsroom: Deduplicator, dedup: Dedup, tmp_path: Path) -> None:
    for given in ("missing", "no such file.txt", str(tmp_path)):
        done = dedup("sources", given)
        assert done.code == 1
        assert "there is no article and no file" in done.err
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "latin.txt").write_bytes("Münster".encode("latin-1"))
    assert "holds no text" in dedup("sources", "empty.txt").err
    assert "is not UTF-8" in dedup("sources", "latin.txt").err


def test_hostile_ids_and_titles_are_printed_harmlessly(filled: Filled, dedup: Dedup) -> None:
    evil = "\x1b[31mred\x07"
    filled(
        [
            Article(evil, STORM, f"{evil}\n[bold]", publication=evil),
            Article("a", REWRITTEN),
            *(Article(f"other{n}", f"Trams stop at night on line {n}.") for n in range(5)),
        ]
    )
    for command in ("sources", "coverage"):
        done = dedup(command, "a")
        assert done.code == 0
        assert "red" in done.out
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err


@pytest.mark.parametrize("role", ["analyst", "reader", "worker"])
def test_roles_that_may_read_texts_may_ask(
    newsroom: Deduplicator, database: Database, granted: Names, role: str
) -> None:
    with Deduplicator(url_of(database, granted[role])) as asking:
        assert asking.coverage("storm") == newsroom.coverage("storm")
        assert asking.sources("rewrite") == newsroom.sources("rewrite")


@pytest.mark.parametrize("role", ["counter", "scraper"])
def test_roles_that_may_read_no_text_get_no_word(
    newsroom: Deduplicator, database: Database, granted: Names, role: str
) -> None:
    with Deduplicator(url_of(database, granted[role])) as asking:
        for ask in (asking.coverage, asking.sources):
            with pytest.raises(RightsError):
                ask("storm")
            with pytest.raises(RightsError):
                ask(text=STORM)


def test_a_search_reads_no_table_as_a_whole(newsroom: Deduplicator, database: Database) -> None:
    scans = "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'dedup.article'::regclass"
    with database.transaction() as cursor:
        finding.begin(cursor)
        before = cursor.execute(scans).fetchone()
        asked = finding.asked_article(cursor, "storm")
        finding.find(cursor, asked, window=around(asked.known_at, 7))
        finding.find(cursor, asked)
        assert cursor.execute(scans).fetchone() == before
