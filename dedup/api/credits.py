"""`Deduplicator.credits`: the agencies that articles name as their source, and the list that says which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dedup.api import OfCorpus
from dedup.settling.locked import held
from dedup.store import credited, credits
from dedup.store.credited import ArticleCredit
from dedup.store.credits import ListedAgency, PublicationCredits

__all__ = ["ArticleCredit", "Credits", "ListedAgency", "PublicationCredits"]


class Credits(OfCorpus):
    """The credits of a corpus."""

    def agencies(self) -> list[ListedAgency]:
        """The list, with how many articles credit each."""
        return self._transact(credits.listed)

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

    def of(self, source_ids: Sequence[str]) -> dict[str, tuple[ArticleCredit, ...]]:
        """The credits of some articles; those without any are left out."""
        return self._transact(credited.of_articles, source_ids)

    def of_stories(self, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Whose text some stories are, by the source_ids of their originals: agency to how many articles of
        the story credit it.
        """
        return self._transact(credits.of_stories, source_ids)

    def publications(self) -> list[PublicationCredits]:
        """How much of each publication is agency copy, also where the agency is not in the corpus."""
        return self._transact(credits.publications)
