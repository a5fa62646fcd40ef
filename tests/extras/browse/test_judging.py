"""Judgements on pages take effect at once, are shown, are used by `tune`, and can be undone."""

from __future__ import annotations

import re
import shlex
import time
from html import unescape

import pytest

from dedup import Article, Deduplicator
from dedup.extras.judging.judgements import Pick
from tests.corpora import text, window
from tests.extras.browse.conftest import Browser, Document, Opening, fill, newsroom_articles

STORM, UPDATE = "vantage-0312-storm", "vantage-0312-storm-update"


@pytest.fixture
def editing(opening: Opening, corpus_url: str) -> Browser:
    """A server with forms for judging, over the two versions of a report on a storm."""
    fill(corpus_url, [one for one in newsroom_articles() if "storm" in one.source_id])
    return opening(corpus_url, editing=True)


def status(url: str, source_id: str) -> str:
    with Deduplicator(url) as dd:
        found = dd.get(source_id)
        assert found is not None
        return found.verdict.status


@pytest.mark.long("dedup", "migrations")
def test_a_pair_is_judged_and_the_effect_is_there_within_a_second(editing: Browser, corpus_url: str) -> None:
    assert status(corpus_url, UPDATE) == "duplicate"
    page = editing.page("/compare", a=STORM, b=UPDATE)
    began = time.monotonic()
    reply = editing.send(page, "/judge", by="Ann <b>", reason="a second storm", say="unrelated")
    assert time.monotonic() - began < 1
    words = Document(editing.follow(reply)).words
    assert status(corpus_url, UPDATE) != "duplicate"
    assert "Saved. Both articles were settled again" in words
    assert "Unrelated: a person has said so" in words
    assert "Ann <b> said these are not the same story" in " ".join(words.split())
    with Deduplicator(corpus_url) as dd:
        (judged,) = dd.browsing.compare(STORM, UPDATE).judgements
        (pinned,) = dd.pins.list()
    assert (pinned.pinned_by, pinned.relation, pinned.reason) == ("Ann <b>", "unrelated", "a second storm")
    assert (judged.judged_by, judged.label, judged.note) == ("Ann <b>", "different", "a second storm")


@pytest.mark.long("dedup", "migrations")
def test_what_was_said_is_undone(editing: Browser, corpus_url: str) -> None:
    page = editing.page("/compare", a=STORM, b=UPDATE)
    said = editing.follow(editing.send(page, "/judge", by="Ann", reason="", say="unrelated"))
    undone = editing.follow(editing.send(said, "/judge/undo"))
    assert "Undone." in undone
    assert status(corpus_url, UPDATE) == "duplicate"
    with Deduplicator(corpus_url) as dd:
        assert dd.pins.list() == []
        assert dd.browsing.compare(STORM, UPDATE).judgements == ()


def test_who_cannot_tell_changes_no_mark(editing: Browser, corpus_url: str) -> None:
    page = editing.page("/compare", a=STORM, b=UPDATE)
    said = editing.follow(editing.send(page, "/judge", by="Ann", reason="", say="unsure"))
    assert "you cannot tell" in said
    assert status(corpus_url, UPDATE) == "duplicate"
    with Deduplicator(corpus_url) as dd:
        assert dd.pins.list() == []


def test_the_queue_has_what_nobody_judged(editing: Browser, corpus_url: str) -> None:
    page = editing.page("/judge", by="Ann")
    assert 'value="Ann"' in page
    assert "above <code>" in page
    said = editing.follow(editing.send(page, "/judge", by="Ann", reason="", say="duplicate"))
    assert "these are the same story" in said
    assert "above <code>" not in said
    assert 'value="Ann"' in editing.page("/compare", a=STORM, b=UPDATE, by="Ann")


def test_without_editing_the_page_of_a_pair_shows_the_command(opening: Opening, corpus_url: str) -> None:
    ids = ["-a $(id) <b>", "b'c", "bell\a"]
    fill(corpus_url, [Article(id, text(window(0, 6))) for id in ids])
    browser = opening(corpus_url)
    page = browser.page("/compare", a=ids[0], b=ids[1])
    assert "<form" not in page.partition("<main")[2]
    (command,) = re.findall(r"<code>(dedup pin .*?)</code>", page)
    words = shlex.split(unescape(command))
    assert words[:8] == ["dedup", "pin", "set", "--as", "NAME", "--why", "REASON", "--"]
    assert sorted(words[8:]) == sorted([*ids[:2], "RELATION"])
    assert "dedup pin" not in browser.page("/compare", a=ids[0], b=ids[2])


def test_a_sentence_is_pinned_and_unpinned(opening: Opening, corpus_url: str) -> None:
    fill(corpus_url, newsroom_articles())
    editing = opening(corpus_url, editing=True)
    page = editing.page("/sentences")
    assert "Unpin" not in page
    pinned = editing.follow(editing.send(page, "/sentences", say="never"))
    assert "takes effect with the next backfill" in pinned
    assert "Unpin" in pinned
    with Deduplicator(corpus_url) as dd:
        (found,) = [one for one in dd.common_sentences.list() if one.pin]
    assert found.pin == "never"
    editing.send(editing.page("/sentence", hash=str(found.sentence_hash)), "/sentences", say="unpin")
    with Deduplicator(corpus_url) as dd:
        assert [one.pin for one in dd.common_sentences.list() if one.pin] == []


@pytest.mark.long("dedup", "migrations")
def test_the_page_of_a_pair_says_why_it_is_no_duplicate(editing: Browser) -> None:
    page = editing.page("/compare", a=STORM, b=UPDATE)
    assert "Why not" not in page
    said = editing.follow(editing.send(page, "/judge", by="Ann", reason="", say="similar"))
    assert "Why not: a person has pinned the two as only similar" in " ".join(Document(said).words.split())


@pytest.mark.long("dedup", "migrations")
def test_health_says_how_sure_the_marks_are(editing: Browser, corpus_url: str) -> None:
    assert "Nobody has judged a picked pair yet" in Document(editing.page("/health")).words
    with Deduplicator(corpus_url) as dd:
        dd.judgements.pick([Pick(STORM, UPDATE, "0.7 to 1", 40, 1, {"dedup": 0.8})])
        dd.judgements.record((STORM, UPDATE), "Ann", "duplicate")
        quality = dd.browsing.quality()
        assert quality == dd.judgements.quality()
        assert quality is not None
        assert (quality.precision.value, quality.missed.value, quality.judged) == (1, 0, 1)
    words = " ".join(Document(editing.page("/health")).words.split())
    assert "Duplicates that are right 100 %" in words
    assert "Duplicates that are missed 0 %" in words
    assert "Judge about 100 pairs" in words


@pytest.mark.long("dedup", "migrations")
def test_what_is_pinned_makes_the_marks_no_surer(editing: Browser, corpus_url: str) -> None:
    with Deduplicator(corpus_url) as dd:
        dd.judgements.pick([Pick(STORM, UPDATE, "0.7 to 1", 40, 1, {"dedup": 0.8})])
    page = editing.page("/compare", a=STORM, b=UPDATE)
    editing.send(page, "/judge", by="Ann", reason="", say="unrelated")
    assert status(corpus_url, UPDATE) != "duplicate"
    with Deduplicator(corpus_url) as dd:
        quality = dd.browsing.quality()
    assert quality is not None
    assert quality.precision.value == 0  # without the pin, the rules call the pair a duplicate
