"""`Deduplicator.credits`: the agencies that articles name as their source, and the list of known agencies."""

from __future__ import annotations

from collections.abc import Iterable

from dedup.api import OfCorpus, transacted
from dedup.db.database import run_locked
from dedup.store import credited, credits
from dedup.store.credited import ArticleCredit
from dedup.store.credits import ListedAgency, PublicationCredits

__all__ = ["ArticleCredit", "Credits", "ListedAgency", "PublicationCredits"]


class Credits(OfCorpus):
    """Credits in the articles of a corpus, and the list of agencies."""

    agencies = transacted(credits.list_agencies)
    of = transacted(credited.find_credits)
    of_stories = transacted(credits.count_by_story)
    publications = transacted(credits.publications)

    def add(self, name: str, spellings: Iterable[str], places: Iterable[str] = ()) -> None:
        """Add an agency to the list, or replace its spellings; the next backfill reads all credits again.

        `spellings`: the agency's names in texts; letter case matters in spellings of up to three characters.
        `places`: parts of an article where the agency counts (byline, dateline, end, copyright, item,
        contribution, photo); default: all. Raises InputError: a name is too short or long, or a place is
        unknown.
        """
        # `run_locked` may run the function several times, and an iterator would be empty the second time.
        written, counted = list(spellings), list(places)
        run_locked(self._database, lambda cursor: credits.add(cursor, name, written, counted))

    def remove(self, name: str) -> None:
        """Remove an agency from the list. Raises InputError: the agency is not listed."""
        run_locked(self._database, lambda cursor: credits.remove(cursor, name))
