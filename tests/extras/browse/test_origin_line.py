"""Pages and reports name the origin of a story or an article, and count the outlets that printed it."""

from __future__ import annotations

from html import escape

import pytest

from dedup import Deduplicator
from dedup.db.database import Database
from dedup.extras.browse import report
from tests.corpora import article, window
from tests.extras.browse.conftest import Document, opened

pytestmark = pytest.mark.long("dedup", "migrations")

HOSTILE = "<script>alert(1)</script>"
LINE = "AP, printed by 13 outlets; 1 origin"


def test_an_agency_text_in_thirteen_outlets_is_one_origin(database: Database) -> None:
    with Deduplicator(database.url) as dd, opened() as opening:
        dd.load(
            article(
                f"wire {place}", window(100, 6), place, publication=f"Paper {place}",
                byline="Ada Roe, Associated Press" if place > 4 else None,
            )
            for place in range(13)
        )  # fmt: skip
        dd.load([article("own", window(300, 6), 50, publication="Paper 1")])
        dd.load(article(f"h{place}", window(500, 6), place, publication=HOSTILE) for place in range(2))
        dd.backfill(workers=0)
        browser = opening(database.url)
        for address in ("/story?id=wire+0", "/story?id=wire+7", "/article?id=wire+3"):
            assert LINE in Document(browser.page(address)).words, address
        assert LINE in Document(report.of_story(dd, "wire 5")).words
        for address in ("/story?id=own", "/article?id=own"):
            assert "1 origin" not in Document(browser.page(address)).words
        page = browser.page("/story?id=h0")
        assert f"{HOSTILE}, printed by 1 outlet; 1 origin" in Document(page).words
        assert escape(HOSTILE) in page
        assert HOSTILE not in page
