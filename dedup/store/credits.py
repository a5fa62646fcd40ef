"""Credits: which agencies an article names as its source, and the list of agencies that they are read by.

What counts as a credit is decided in `dedup.text.credits`. A backfill reads credits where it fingerprints
texts, and stores both in one transaction. Articles that a hook stored, whose byline changed, or all of them
after the list changed, wait in `dedup.credit_unread`, and `read_unread` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_column
from dedup.db.statements import Statements
from dedup.store import articles
from dedup.text.credits import MAX_SPELLING, PLACES, Agency, Credit, CreditReader

_sql = Statements("store/credits")

UNREAD_ARTICLES = 100
"""Articles whose credits are read in one transaction, which holds the settle lock: about 10 ms."""


@dataclass(frozen=True, slots=True)
class ListedAgency(Answer):
    """An agency of the list.

    Attributes:
        name: as it is shown; spellings: how texts write it; places: where it counts.
        articles: how many credit it.
    """

    name: str
    spellings: list[str]
    places: list[str]
    articles: int


@dataclass(frozen=True, slots=True)
class PublicationCredits(Answer):
    """How much of a publication is agency copy.

    Attributes:
        publication: its name; empty for articles without one.
        articles: how many it has; credited: that credit an agency themselves; agency_copy: these, and those
            of whose story another article does; share: of the articles, 0 to 1.
    """

    publication: str
    articles: int
    credited: int
    agency_copy: int
    share: float


def reader(cursor: Cursor) -> CreditReader:
    """What reads credits by the list as it is now."""
    rows = cursor.execute(_sql("agencies")).fetchall()
    return CreditReader(Agency(row[0], row[1], tuple(row[2]), tuple(row[3])) for row in rows)


def stored_of(cursor: Cursor, ids: Sequence[int]) -> dict[int, list[Credit]]:
    """The stored credits of those of some articles that have any, by the numbers of the agencies."""
    found: dict[int, list[Credit]] = {}
    for article, agency, place in cursor.execute(_sql("stored"), {"ids": bigints(ids)}).fetchall():
        found.setdefault(article, []).append((agency, place))
    return found


def write(cursor: Cursor, found: Mapping[int, Sequence[Credit]]) -> None:
    """Store the credits of articles in place of those that they have. Needs the settle lock."""
    stored = stored_of(cursor, list(found))
    old = {article for article, before in stored.items() if before != sorted(found[article])}
    if old:
        cursor.execute(_sql("delete"), {"ids": bigints(list(old))})
    lines = [
        f"{article}\t{agency}\t{place}\n"
        for article, credits in found.items()
        if credits and (article not in stored or article in old)
        for agency, place in credits
    ]
    if lines:
        with cursor.copy(b"COPY dedup.credit (article_id, agency_id, place) FROM STDIN") as copy:
            copy.write("".join(lines))


def read_unread(cursor: Cursor) -> int:
    """Read the credits of some articles that wait for it; returns how many. Needs the settle lock."""
    ids = one_column(cursor, _sql("take_unread"), {"limit": UNREAD_ARTICLES})
    if ids:
        read = reader(cursor).read
        failed = set(one_column(cursor, _sql("failed"), {"ids": bigints(ids)}))
        known = articles.texts(cursor, [article for article in ids if article not in failed])
        found: dict[int, tuple[Credit, ...]] = dict.fromkeys(failed, ())
        write(cursor, found | {task.id: read(task.text, task.byline) for task in known})
    return len(ids)


def unread_among(cursor: Cursor, ids: Sequence[int]) -> set[int]:
    """Those of some articles whose credits wait to be read."""
    return set(one_column(cursor, _sql("unread_among"), {"ids": bigints(ids)}))


def read_again(cursor: Cursor, ids: Iterable[int]) -> None:
    """Have the credits of articles read by the next backfill."""
    cursor.execute(_sql("note_unread"), {"ids": bigints(list(ids))})


def listed(cursor: Cursor) -> list[ListedAgency]:
    """The list, with how many articles credit each, those of the most first."""
    return [ListedAgency(*row) for row in cursor.execute(_sql("counted")).fetchall()]


def add(cursor: Cursor, name: str, spellings: Iterable[str], places: Iterable[str] = ()) -> None:
    """Put an agency on the list, or say anew how it is written. Raises InputError: that cannot be."""
    name, spelled = name.strip(), list(dict.fromkeys(spelling.strip() for spelling in spellings))
    if not name or not spelled or any(not 2 <= len(one) <= MAX_SPELLING for one in (name, *spelled)):
        raise InputError(f"an agency and each way to write it have 2 to {MAX_SPELLING} characters")
    wanted = list(places)
    if unknown := [place for place in wanted if place not in PLACES]:
        raise InputError(f"{unknown[0]!r} is no place of a credit; there are {', '.join(PLACES)}")
    values = {"name": name, "spellings": spelled, "places": [p for p in PLACES if not wanted or p in wanted]}
    cursor.execute(_sql("add"), values)


def remove(cursor: Cursor, name: str) -> None:
    """Take an agency off the list. Raises InputError: it is not on it."""
    if not cursor.execute(_sql("remove"), {"name": name}).rowcount:
        raise InputError(f"no agency is called {name!r}; `dedup agencies` lists them")


def of_stories(cursor: Cursor, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the agencies that stories credit, by the source_ids of their originals: agency to the number of
    articles of the story that credit it.
    """
    found: dict[str, dict[str, int]] = {}
    rows = cursor.execute(_sql("of_stories"), {"source_ids": list(source_ids)}).fetchall()
    for source_id, agency, count in rows:
        found.setdefault(source_id, {})[agency] = count
    return found


def publications(cursor: Cursor) -> list[PublicationCredits]:
    """Return the share of agency copy of each publication, also where the agency is not in the corpus."""
    return [PublicationCredits(*row) for row in cursor.execute(_sql("publications")).fetchall()]
