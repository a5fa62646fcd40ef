"""Commands `dedup sources` and `dedup coverage`: find sources of a text, and articles of the same event."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

from typer import Argument, Option

from dedup.base.errors import InputError, NotFoundError
from dedup.base.words import counted, line
from dedup.cli import output
from dedup.cli.shared import JsonOption, corpus, moment
from dedup.extras.coverage.defaults import ARTICLES, CAUTION, DAYS, MOST_ARTICLES, MOST_DAYS, SOURCES

MOST_BYTES = 1_000_000  # Maximum size of a file; only the first 50,000 characters are compared
_Answer = TypeVar("_Answer")

SHOWN = 3  # Maximum number of names in a cell of the table, and also of numbers and of quotes


def sources(
    given: Annotated[
        str, Argument(metavar="ID|FILE", help="Id of an article, or a file with a text; `-` is stdin.")
    ],
    limit: Annotated[int, Option(min=1, max=MOST_ARTICLES, help="Maximum number of articles.")] = SOURCES,
    json: JsonOption = False,
) -> None:
    """List the stored articles that a text may be made of, best first, such as the original of a rewrite.

    Articles are compared by their rare words. For 96 % of 719 rewritten articles, the original came first.
    But a high score is no proof: a threshold that finds 80 % of rewrites also finds 28 to 56 % of independent
    reports of one event. Read both texts before you claim that one was made of the other.

    Needs the index of words, which `dedup init --search` makes. Later copies of the article are left out,
    and other articles that came later are listed last.

    **Examples**

        dedup sources https://example.org/rewritten

        pdftotext page.pdf - | dedup sources - --json
    """
    with corpus() as dd:
        found = _asked(partial(dd.sources, limit=limit), given)
    output.listed(
        found,
        "articles that the text may be made of",
        ("score", "id", "publication", "published", "title"),
        (
            (one.score, one.id, one.publication, one.published_at or "unknown", line(one.title))
            for one in found
        ),
        ("score", "published"),
        json=json,
    )
    output.say(f"note: {CAUTION}")


def coverage(
    given: Annotated[
        str,
        Argument(
            metavar="ID|FILE|TEXT", help="Id of an article, a file with a text, or a text; `-` is stdin."
        ),
    ],
    days: Annotated[
        int, Option(min=0, max=MOST_DAYS, help="Search this number of days before and after TIME.")
    ] = DAYS,
    at: Annotated[
        str | None, Option(metavar="TIME", help="Time of the event; default: the article's, or all times.")
    ] = None,
    limit: Annotated[int, Option(min=1, max=MOST_ARTICLES, help="Maximum number of articles.")] = ARTICLES,
    json: JsonOption = False,
) -> None:
    """List articles that tell the same event, by origin: copies, similar texts, and texts in other words.

    Marks tell which articles are copies or similar. Other articles share rare words, names and numbers; the
    table shows the shared names, numbers and quotes. A high score of these articles is no proof: read them.

    Needs the index of words, which `dedup init --search` makes. An origin is an agency, an owner of outlets
    or an outlet; `not compared` are articles that a backfill must settle. Undated articles are in no window:
    only copies are listed of them, unless all times are searched.

    **Examples**

        dedup coverage https://example.org/storm

        dedup coverage "storm closes port of Norfolk" --at 2026-03-12 --days 2
    """
    when = moment(at) if at is not None else None
    with corpus() as dd:
        found = _asked(partial(dd.coverage, days=days, at=when, limit=limit), given, inline=True)
    if json:
        output.write_json(found.as_dict())
        return
    rows = [
        (
            *(origin.name or origin.kind, one.relation, one.score, one.id, one.published_at or "unknown"),
            "; ".join([*one.shared.names[:SHOWN], *one.shared.numbers[:SHOWN], *one.shared.quotes[:SHOWN]]),
        )
        for origin in found.origins
        for one in origin.articles
    ]
    columns = ("origin", "relation", "score", "id", "published", "shared")
    output.table("articles that tell the same event", columns, rows, ("score", "published"))
    window = f" from {found.since:%Y-%m-%d}, {2 * days + 1} days" if found.since else " of all times"
    articles, origins = counted(len(rows), "article"), counted(len(found.origins), "origin")
    output.say(f"{articles}{window}, {origins}; articles in other words may tell a different event")
    if rows and found.id is not None:
        output.say(f"next: dedup explain {found.id} {found.articles[0].id}")


def _asked(ask: Callable[..., _Answer], given: str, *, inline: bool = False) -> _Answer:
    """Ask about a stored article or, if `given` is no source_id, about the text of a file.

    `inline`: if there is no such file either, and `given` has a space, ask about `given` as a text.
    """
    if given == "-":
        return ask(text=_decoded(sys.stdin.buffer.read(MOST_BYTES), "stdin"))
    try:
        return ask(given)
    except NotFoundError:
        path = Path(given)
        with suppress(OSError):
            if path.is_file():
                with path.open("rb") as file:
                    return ask(text=_decoded(file.read(MOST_BYTES), given))
        if inline and " " in given.strip():
            return ask(text=given)
    raise NotFoundError(f"there is no article and no file {line(given)!r}; next: dedup marks lists the ids")


def _decoded(found: bytes, name: str) -> str:
    # A file of `MOST_BYTES` or more is cut, perhaps within its last character.
    try:
        text = found.decode("utf-8-sig", "replace" if len(found) == MOST_BYTES else "strict")
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8; convert it first") from None
    if not text.strip():
        raise InputError(f"{name} holds no text")
    return text
