"""`Deduplicator.corrections`: the phrases by which articles announce that they are corrections."""

from __future__ import annotations

from dedup.api import OfCorpus, checks, transacted
from dedup.db.database import run_locked
from dedup.store import corrections
from dedup.store.corrections import ListedPhrase

__all__ = ["Corrections", "ListedPhrase"]


class Corrections(OfCorpus):
    """The list of phrases that announce corrections; a change makes the next backfill read all articles."""

    phrases = transacted(corrections.list_phrases)

    def add(self, phrase: str) -> None:
        """Add a phrase. Raises InputError: it has fewer than 5 or more than 80 characters."""
        words = checks.text("phrase", phrase)
        run_locked(self._database, lambda cursor: corrections.add(cursor, words))

    def remove(self, phrase: str) -> None:
        """Remove a phrase. Raises InputError: the phrase is not listed."""
        words = checks.text("phrase", phrase)
        run_locked(self._database, lambda cursor: corrections.remove(cursor, words))
