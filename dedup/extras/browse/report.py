"""Make an HTML file of a day, a story or a search, without script and with links to articles only."""

from __future__ import annotations

import base64
from datetime import date
from hashlib import sha256
from typing import Any

from markupsafe import Markup

from dedup.api.deduplicator import Deduplicator
from dedup.base.words import heading, line
from dedup.extras.browse.asking import Fields
from dedup.extras.browse.questions.story import StoryPage
from dedup.extras.browse.ranges import day_values
from dedup.extras.browse.views import SEARCHED, found_by, headline, side_by_side, story_values
from dedup.extras.pages.environment import environment

STORIES = 3  # Maximum number of stories of a day that are shown in full
COPIES = 50  # Maximum number of copies listed for a story
VERSIONS = 3  # Maximum number of copies shown beside the original; the most different copies are shown


def of_day(dd: Deduplicator, first: date, last: date | None = None) -> str:
    day = dd.browsing.day(first, last)
    values = day_values(day)
    stories = [dd.browsing.story(one.original.source_id) for one in day.biggest[:STORIES]]
    return _page(
        kicker="Near-duplicates of one day" if day.first == day.last else "Near-duplicates of several days",
        **values,
        stories=[_story(dd, found, number, versions=1) for number, found in enumerate(stories)],
    )


def of_story(dd: Deduplicator, source_id: str) -> str:
    found = dd.browsing.story(source_id)
    return _page(
        heading=heading(found.original),
        kicker="A story",
        stories=[_story(dd, found, 0, versions=VERSIONS)],
        whole_story=True,
    )


def of_search(dd: Deduplicator, words: str) -> str:
    given: Fields = {**dict.fromkeys((*SEARCHED, "after"), ""), "words": words}
    page = found_by(dd, given)
    return _page(heading=f"Search: {line(words)}", kicker="Articles with these words", page=page)


def _story(dd: Deduplicator, found: StoryPage, number: int, *, versions: int) -> dict[str, Any]:
    # A copy with the same content has no differences to show; the copies with the lowest scores differ most.
    changed = sorted(
        (copy for copy in found.copies if copy.article.reason != "content"),
        key=lambda copy: (copy.article.score or 0.0, copy.article.source_id),
    )
    pairs = []
    for copy in changed[:versions]:
        pair = dd.browsing.compare(found.original.source_id, copy.article.source_id)
        pairs.append((pair, side_by_side(pair), headline(pair)))
    return {
        **story_values(found),
        "listed": found.copies[:COPIES],
        "pairs": pairs,
        "number": number,
    }


def _page(**values: Any) -> str:
    templates = environment("dedup.extras.browse")
    style = templates.get_template("style.css.j2").render()
    # The Content-Security-Policy allows only the style with this hash, which covers the newlines around it.
    digest = base64.b64encode(sha256(f"\n{style}\n".encode()).digest()).decode()
    given = {"day": None, "stories": [], "page": None, "whole_story": False, "spread_outlets": 0, **values}
    return templates.get_template("report.html.j2").render(
        **given,
        go=lambda _path, **_query: None,  # no links to other pages: the file has no server
        data=lambda _table, _form: None,
        style=Markup(style),  # noqa: S704 - the style comes from files of this package
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
    )
