"""`Deduplicator.credits`: the agencies that articles name as their source, and the list that says which."""

from __future__ import annotations

from collections.abc import Iterable

from dedup.api import OfCorpus, transacted
from dedup.settling.locked import held
from dedup.store import credited, credits
from dedup.store.credited import ArticleCredit
from dedup.store.credits import ListedAgency, PublicationCredits

__all__ = ["ArticleCredit", "Credits", "ListedAgency", "PublicationCredits"]


class Credits(OfCorpus):
    """The credits of a corpus."""

    agencies = transacted(credits.list_agencies)
    of = transacted(credited.find_credits)
    of_stories = transacted(credits.count_by_story)
    publications = transacted(credits.publications)

    def add(self, name: str, spellings: Iterable[str], places: Iterable[str] = ()) -> None:
        """Put an agency on the list, or say anew how it is written; all credits are read again.

        Args:
            spellings: how texts write it; case counts where it has fewer than four characters.
            places: where it counts: byline, dateline, end, copyright, contribution; default: all.

        Raises InputError: a name is too short or too long, or there is no such place.
        """
        written, counted = list(spellings), list(places)
        held(self._database, lambda cursor: credits.add(cursor, name, written, counted))

    def remove(self, name: str) -> None:
        """Take an agency off the list. Raises InputError: it is not on it."""
        held(self._database, lambda cursor: credits.remove(cursor, name))
