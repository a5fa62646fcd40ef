"""The demonstration: every article of its newsroom names the mark that it must get."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources

from dedup.cli.newsroom import newsroom
from tests.cli.conftest import Dedup


def test_every_article_is_marked_as_its_authors_meant(dedup: Dedup) -> None:
    file = resources.files("dedup.cli.newsroom") / "newsroom.jsonl"
    assert dedup("load", str(file)).code == 0
    assert dedup("backfill", "--workers", "0").code == 0
    marks = {mark["id"]: (mark["status"], mark["duplicate_of"]) for mark in dedup("marks").lines}
    expected = {
        article["source_id"]: (article["expect"]["status"], article["expect"]["duplicate_of"])
        for article in newsroom()
    }
    assert marks == expected
    assert dedup("verify").code == 0


def test_one_by_one_gives_the_same_marks(dedup: Dedup) -> None:
    file = resources.files("dedup.cli.newsroom") / "newsroom.jsonl"
    dedup("check", str(file))
    dedup("backfill", "--workers", "0")
    marks = {mark["id"]: (mark["status"], mark["duplicate_of"]) for mark in dedup("marks").lines}
    assert marks == {
        article["source_id"]: (article["expect"]["status"], article["expect"]["duplicate_of"])
        for article in newsroom()
    }


def test_light_edits_are_found_by_the_signature_alone(dedup: Dedup) -> None:
    dedup("load", str(resources.files("dedup.cli.newsroom") / "newsroom.jsonl"))
    dedup("backfill", "--workers", "0")
    pairs = {pair["a"]: pair for pair in dedup("matches").lines}
    edited = [article["source_id"] for article in newsroom() if article["kind"] == "light_edits"]
    assert len(edited) >= 3
    for name in edited:
        assert pairs[name]["sentence_jaccard"] < 0.7
        assert pairs[name]["rule"] == "signature"


def test_it_holds_the_phenomena_it_promises() -> None:
    articles = newsroom()
    kinds = Counter(article["kind"] for article in articles)
    assert len(articles) >= 60
    assert len({article["publication"] for article in articles}) >= 6
    for kind in ("repost", "trimmed", "reheadlined", "updated", "light_edits", "same_event", "shared_quote"):
        assert kinds[kind] >= 2, kind
    stories = Counter(article["expect"]["duplicate_of"] for article in articles)
    del stories[None]
    assert stories.most_common(1)[0][1] == 14


def test_house_boilerplate_is_common(dedup: Dedup) -> None:
    dedup("load", str(resources.files("dedup.cli.newsroom") / "newsroom.jsonl"))
    dedup("backfill", "--workers", "0")
    shown = [row["example"] for row in json.loads(dedup("common", "--json").out)]
    # The wire's boilerplate has 32 carriers, but only 9.6 effective stories: many carriers are copies.
    assert len(shown) == 3
    assert "Courier journalists correct significant factual errors promptly." in shown
    assert not any("Vantage Wire newsroom" in example for example in shown)
