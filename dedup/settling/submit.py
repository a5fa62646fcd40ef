"""Submit and look up articles, even while other processes settle, settings change or the program is updated.
One object serves any number of threads. `hook.py` and `lookup.py` find the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from dedup.base.article import Article
from dedup.base.errors import BusyError, CollisionError
from dedup.base.verdict import Verdict
from dedup.db import roles
from dedup.db.database import Database, retry
from dedup.settling import hook, lookup
from dedup.store import rulebooks
from dedup.store.rulebooks import Rulebook, StaleRulesError

RULEBOOK_RETRIES = 5  # Maximum number of attempts while someone changes settings at the same moment

# Reasons of `pending` verdicts. Like messages of errors, each names the next step.
IN_USE = "other processes held the corpus for {seconds:g} s: the next backfill settles the article"
NOT_ASKED = "stored, but other processes held the corpus: the next backfill settles the article"
NO_MEMORY = "not enough memory to read the text: the next backfill tries again"
OTHER_PROGRAM = "the program or its Unicode tables changed: run `dedup backfill`"


class Submissions:
    """Submits and looks up articles, and keeps the rulebook (the settings in force) between calls."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rulebook: Rulebook | None = None
        self._may_settle: bool | None = None

    def submit(self, article: Article, seconds: float) -> Verdict:
        """Store an article, or its new version, and settle it. `seconds`: maximum wait for other
        transactions; after that the next backfill settles the article."""
        try:
            if self._may_settle is None:
                with self._database.transaction(seconds=seconds) as cursor:
                    self._may_settle = roles.may_settle(cursor)
            if not self._may_settle:
                return self._store_and_look_up(article)
            return self._settle(article, seconds)
        except (BusyError, CollisionError):
            return self.defer(article, IN_USE.format(seconds=seconds))

    def lookup(self, article: Article | str, scope: str | None = None) -> Verdict:
        """Return the mark that an article, or a bare text, would get; store nothing. `scope`: compare with
        the articles of this scope; None: the scope of the article."""

        def look(rulebook: Rulebook) -> Verdict:
            with self._database.transaction() as cursor:
                rulebook.check(cursor)
                if rulebook.state.same_program():
                    return lookup.lookup(cursor, rulebook, article, scope)
            own_id = article.source_id if isinstance(article, Article) else None
            return Verdict(own_id, "pending", None, None, OTHER_PROGRAM)

        return self._with_rulebook(look)

    def _store_and_look_up(self, article: Article) -> Verdict:
        hook.store_for_later(self._database, article, may_edit=False)
        try:
            verdict = self.lookup(article)
        except (BusyError, CollisionError):
            return Verdict(article.source_id, "pending", None, None, NOT_ASKED)
        # At least this article is unsettled; the lookup does not count a deferred article.
        return replace(verdict, unsettled=max(1, verdict.unsettled))

    def _settle(self, article: Article, seconds: float) -> Verdict:
        def settle(rulebook: Rulebook) -> Verdict:
            if not rulebook.state.same_program():
                with self._database.transaction(seconds=seconds) as cursor:
                    # Raise StaleRulesError if a backfill has recorded this program's versions meanwhile.
                    rulebook.check(cursor)
                return self.defer(article, OTHER_PROGRAM)
            try:
                made = hook.fingerprint(rulebook, article)
            except MemoryError:
                # A lack of memory is temporary, so the article must not be marked as failed.
                return self.defer(article, NO_MEMORY)

            def attempt() -> Verdict:
                if made.fingerprint is not None:
                    ask = partial(self._database.ask, seconds=seconds)
                    if verdict := hook.settle_new(ask, rulebook, article, made.fingerprint):
                        return verdict
                with self._database.transaction(settling=True, seconds=seconds) as cursor:
                    return hook.submit(cursor, rulebook, article, made)

            return retry(attempt)

        return self._with_rulebook(settle, seconds)

    def defer(self, article: Article, why: str) -> Verdict:
        """Store an article for the next backfill; its verdict is `pending` until then."""
        hook.store_for_later(self._database, article)
        return Verdict(article.source_id, "pending", None, None, why)

    def _with_rulebook(self, work: Callable[[Rulebook], Verdict], seconds: float | None = None) -> Verdict:
        """Call `work` with the rulebook; if the settings changed meanwhile, repeat it with a new rulebook."""
        for _ in range(RULEBOOK_RETRIES):
            rulebook = self._rulebook  # read the attribute once: another thread may set it to None
            if rulebook is None:
                with self._database.transaction(seconds=seconds) as cursor:
                    self._rulebook = rulebook = rulebooks.load_rulebook(cursor)
            try:
                return work(rulebook)
            except StaleRulesError:
                self._rulebook = None
        raise BusyError("the settings keep changing; try again")
