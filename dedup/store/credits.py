"""Stores credits (the news agencies that an article names as its source) and the list of known agencies.

`dedup.text.credits` finds credits in texts; `dedup.text.corrections` finds the phrases that make an article a
correction, which are stored here too. A backfill stores both and fingerprints in one transaction. Articles
that a hook stored, or whose byline or title changed, wait in `dedup.credit_unread`, until `read_unread` reads
their credits and corrections. After a change of a list, of agencies or of phrases, all articles wait there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dedup.base.answer import Answer
from dedup.base.article import TextTask
from dedup.base.errors import InputError
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_column
from dedup.db.statements import Statements
from dedup.store import articles
from dedup.text.corrections import Correction, CorrectionReader
from dedup.text.credits import MAX_SPELLING, PLACES, Agency, Credit, CreditReader
from dedup.text.word_finder import ALL, NAME, PHRASE, WordFinder

_sql = Statements("store/credits")

UNREAD_ARTICLES = 100  # Maximum articles per transaction, which holds the settle lock for about 10 ms


@dataclass(frozen=True, slots=True)
class ListedAgency(Answer):
    """A news agency of the list of known agencies.

    Attributes:
        places: places in an article where the name counts as a credit.
        articles: number of articles that credit the agency.
    """

    name: str
    spellings: list[str]
    places: list[str]
    articles: int


@dataclass(frozen=True, slots=True)
class PublicationCredits(Answer):
    """Number and share of the articles of a publication that come from news agencies.

    Attributes:
        publication: name of the publication; empty for articles without a publication.
        credited: number of articles that credit an agency for their text, even if the publication is it.
        agency_copy: number of articles that count in `credited`, or share a story with such an article.
        share: `agency_copy` divided by `articles`.
        settled: number of unique and similar articles and duplicates.
        own: number of articles that were the first of their story, and are not the text of another agency.
        own_at_most: `own` plus the articles whose times do not tell whether they were the first.
    """

    publication: str
    articles: int
    credited: int
    agency_copy: int
    share: float
    settled: int
    own: int
    own_at_most: int


class Notices(NamedTuple):
    """The credits of an article, sorted by id of the agency, and its correction."""

    credits: tuple[Credit, ...] = ()
    correction: Correction | None = None


class Reader:
    """Reader of credits and corrections, for lists of agencies and phrases. `names`: agencies by id."""

    def __init__(self, agencies: Iterable[Agency], phrases: Iterable[str]) -> None:
        self._agencies, self._phrases = list(agencies), list(phrases)
        self._credits, self._corrections = CreditReader(self._agencies), CorrectionReader(self._phrases)
        self.names = self._credits.names

    def read_many(self, tasks: Sequence[TextTask]) -> dict[int, Notices]:
        """Return what `read` returns, by article id, in less time."""
        found = self._finder.find([task.text for task in tasks])
        return {task.id: self.read(task, *ends) for task, ends in zip(tasks, found, strict=True)}

    def read(self, task: TextTask, beginning: int = ALL, end: int = ALL) -> Notices:
        """Return the credits and the correction of a text. `beginning`, `end`: what `WordFinder` found."""
        credits = self._credits.read(
            task.text, task.byline, beginning=bool(beginning & NAME), end=bool(end & NAME)
        )
        correction = self._corrections.read(
            task.text, task.title, beginning=bool(beginning & PHRASE), end=bool(end & PHRASE)
        )
        return Notices(credits, correction)

    @cached_property
    def _finder(self) -> WordFinder:
        # Made when it is needed, since that takes as long as to read a hundred texts without it.
        spellings = (spelling for agency in self._agencies for spelling in agency.spellings)
        return WordFinder(spellings, self._phrases)


def make_reader(cursor: Cursor) -> Reader:
    """Return a reader for the listed agencies and phrases."""
    rows = cursor.execute(_sql("agencies")).fetchall()
    agencies = [Agency(row[0], row[1], tuple(row[2]), tuple(row[3])) for row in rows]
    return Reader(agencies, one_column(cursor, _sql("phrases")))


def load(cursor: Cursor, ids: Sequence[int]) -> dict[int, Notices]:
    """Return the stored credits and corrections by article id; leave out articles with neither."""
    found: dict[int, Notices] = {}
    for article, agency, place, phrase in cursor.execute(_sql("stored"), {"ids": bigints(ids)}).fetchall():
        credits, correction = found.get(article, Notices())
        if agency is None:
            correction = (phrase, place)
        else:
            credits = (*credits, (agency, place))
        found[article] = Notices(credits, correction)
    return found


def write(cursor: Cursor, found: Mapping[int, Notices]) -> None:
    """Replace the credits and corrections of articles. Needs the settle lock."""
    stored = load(cursor, list(found))
    new = {article: made for article, made in found.items() if made != stored.get(article, Notices())}
    if old := [article for article in new if article in stored]:
        cursor.execute(_sql("delete"), {"ids": bigints(old)})
        cursor.execute(_sql("delete_corrections"), {"ids": bigints(old)})
    # Ids and places (fixed words such as "byline") need no escaping in COPY.
    lines = [
        f"{article}\t{agency}\t{place}\n" for article, made in new.items() for agency, place in made.credits
    ]
    if lines:
        with cursor.copy(b"COPY dedup.credit (article_id, agency_id, place) FROM STDIN") as copy:
            copy.write("".join(lines))
    announced = [(article, *made.correction) for article, made in new.items() if made.correction]
    if announced:
        ids, phrases, places = zip(*announced, strict=True)
        values = {"ids": bigints(ids), "phrases": list(phrases), "places": list(places)}
        cursor.execute(_sql("insert_corrections"), values)


def read_unread(cursor: Cursor) -> int:
    """Read credits and corrections of some waiting articles; return how many. Needs the settle lock."""
    ids = one_column(cursor, _sql("take_unread"), {"limit": UNREAD_ARTICLES})
    if ids:
        read = make_reader(cursor).read
        failed = set(one_column(cursor, _sql("failed"), {"ids": bigints(ids)}))
        known = articles.load_texts(cursor, [article for article in ids if article not in failed])
        # A failed article has no credits and is no correction (docs/semantics.md, sections 11 and 12).
        # `failed` also has deleted articles.
        write(cursor, dict.fromkeys(failed, Notices()) | {task.id: read(task) for task in known})
    return len(ids)


def find_unread(cursor: Cursor, ids: Sequence[int]) -> set[int]:
    return set(one_column(cursor, _sql("unread_among"), {"ids": bigints(ids)}))


def read_again(cursor: Cursor, ids: Iterable[int]) -> None:
    """Make the next backfill read the credits of these articles again."""
    cursor.execute(_sql("note_unread"), {"ids": bigints(list(ids))})


def list_agencies(cursor: Cursor) -> list[ListedAgency]:
    """Return the list of agencies, the most credited agency first."""
    return [ListedAgency(*row) for row in cursor.execute(_sql("counted")).fetchall()]


def add(cursor: Cursor, name: str, spellings: Iterable[str], places: Iterable[str] = ()) -> None:
    """Add an agency to the list, or change its spellings and places. Raises InputError: a value is wrong."""
    name, spelled = name.strip(), list(dict.fromkeys(spelling.strip() for spelling in spellings))
    if not name or not spelled or any(not 2 <= len(one) <= MAX_SPELLING for one in (name, *spelled)):
        raise InputError(f"the name and each spelling of an agency need 2 to {MAX_SPELLING} characters")
    wanted = list(places)
    if unknown := [place for place in wanted if place not in PLACES]:
        raise InputError(f"{unknown[0]!r} is not a place of a credit; places: {', '.join(PLACES)}")
    values = {"name": name, "spellings": spelled, "places": [p for p in PLACES if not wanted or p in wanted]}
    cursor.execute(_sql("add"), values)


def remove(cursor: Cursor, name: str) -> None:
    """Remove an agency from the list. Raises InputError: it is not listed."""
    if not cursor.execute(_sql("remove"), {"name": name}).rowcount:
        raise InputError(f"no agency is called {name!r}; `dedup agencies` lists them")


def count_by_story(cursor: Cursor, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the articles that credit an agency, per story (source_id of the original) and per agency."""
    found: dict[str, dict[str, int]] = {}
    rows = cursor.execute(_sql("of_stories"), {"source_ids": list(source_ids)}).fetchall()
    for source_id, agency, count in rows:
        found.setdefault(source_id, {})[agency] = count
    return found


def publications(cursor: Cursor) -> list[PublicationCredits]:
    """Return for each publication how many of its articles come from news agencies."""
    return [PublicationCredits(*row) for row in cursor.execute(_sql("publications")).fetchall()]
