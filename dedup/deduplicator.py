"""The library's one door: a corpus to which articles are submitted, one at a time.

For many at once there are `dedup load` and `dedup backfill`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from dedup.article import Article
from dedup.corpus import migrate, rulebooks
from dedup.corpus.database import Database, retried
from dedup.corpus.rulebooks import Rulebook, StaleRulesError
from dedup.engine import hook, lookup
from dedup.errors import BusyError, CollisionError
from dedup.timeouts import Timeouts
from dedup.verdict import Verdict

RULEBOOK_RETRIES = 5
"""How often a submit begins again because someone changes settings at the same moment."""

IN_USE = "others held the corpus for {seconds:g} s: the next backfill settles it"
"""Why a verdict is `pending` that could not be had in time."""

NO_MEMORY = "no memory to read the text with: the next backfill tries it"
"""Why a verdict is `pending` whose text could not be read; that passes, so the article has not failed."""

OTHER_PROGRAM = "the program or its Unicode tables changed: run `dedup backfill`"
"""Why a verdict is `pending` where the fingerprints of the corpus cannot be made by this program."""


class Deduplicator:
    """A corpus of news in Postgres. Use it as a context manager, from one thread or several.

        with Deduplicator() as dd:
            verdict = dd.submit(Article(source_id="a1", text="…", published_at=…))
            if verdict.is_duplicate:
                print("copy of", verdict.duplicate_of)

    Args:
        url: the database, in SQLAlchemy or libpq form; None takes `DEDUP_DATABASE_URL`, or the embedded
            server, whose schema is made if need be.
        timeouts: how long to wait for what; None takes `DEDUP_TIMEOUT_HOOK` and the like, or the defaults.

    Raises:
        UnreachableError: the database does not answer.
        SchemaError: its schema is missing, older or newer; the message names the next step.
    """

    def __init__(self, url: str | None = None, *, timeouts: Timeouts | None = None) -> None:
        self._database = Database(url, timeouts)
        self._rulebook: Rulebook | None = None
        try:
            migrate.prepare(self._database)
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def submit(self, article: Article, *, timeout: float | None = None) -> Verdict:
        """Store an article, or its new version, and say what it is.

        While other articles are unsettled the verdict is provisional and says how many. It is `pending`
        only where a safety limit left it to the next backfill, where it could not be settled in time, or
        where a changed program waits for a backfill; the reason says which.

        Args:
            timeout: seconds to wait for others, and for a statement to work; None takes `Timeouts.hook`.

        Raises:
            DatabaseError: the server refused or went away; nothing was stored.
        """
        seconds = timeout or self._database.timeouts.hook
        try:
            return self._settled(article, seconds)
        except (BusyError, CollisionError):
            hook.store_for_later(self._database, article)
            return Verdict(article.source_id, "pending", None, None, IN_USE.format(seconds=seconds))

    def _settled(self, article: Article, seconds: float) -> Verdict:
        def attempt() -> Verdict:
            with self._database.transaction(settling=True, seconds=seconds) as cursor:
                rulebook.check(cursor)
                return hook.submit(cursor, rulebook, article, made)

        for _ in range(RULEBOOK_RETRIES):
            rulebook = self._load_rulebook(seconds=seconds)
            if not rulebook.state.same_program():  # a backfill may have adopted this program since
                rulebook = self._load_rulebook(fresh=True, seconds=seconds)
            if not rulebook.state.same_program():
                hook.store_for_later(self._database, article)
                return Verdict(article.source_id, "pending", None, None, OTHER_PROGRAM)
            try:
                made = hook.fingerprint(rulebook, article)
            except MemoryError:
                hook.store_for_later(self._database, article)
                return Verdict(article.source_id, "pending", None, None, NO_MEMORY)
            try:
                return retried(attempt)
            except StaleRulesError:
                self._rulebook = None
        raise BusyError("the settings keep changing; submit the article again")

    def lookup(self, article: Article | str) -> Verdict:
        """What an article, or a bare text, would be marked; nothing is stored.

        Raises:
            DatabaseError: the server refused or went away.
        """
        rulebook = self._load_rulebook(fresh=True)
        if not rulebook.state.same_program():
            own_id = article.source_id if isinstance(article, Article) else None
            return Verdict(own_id, "pending", None, None, OTHER_PROGRAM)
        with self._database.transaction() as cursor:
            return lookup.lookup(cursor, rulebook, article)

    def delete(self, source_id: str) -> bool:
        """Delete an article; its duplicates and partners are judged anew. False if it is unknown.

        Raises:
            BusyError: others held it for longer than `Timeouts.lock`; nothing was deleted.
            DatabaseError: the server refused or went away; nothing was deleted.
        """
        return bool(self.delete_all([source_id]))

    def delete_all(self, source_ids: list[str]) -> list[str]:
        """Delete several articles in one transaction; returns the source_ids that were known."""

        def attempt() -> list[str]:
            with self._database.transaction(settling=True) as cursor:
                return hook.delete(cursor, rulebooks.load_settings(cursor), source_ids)

        return retried(attempt)

    def _load_rulebook(self, *, fresh: bool = False, seconds: float | None = None) -> Rulebook:
        """The rulebook, loaded again where it is no longer the corpus' own."""
        if self._rulebook is not None and fresh:
            with self._database.transaction(seconds=seconds) as cursor:
                try:
                    self._rulebook.check(cursor)
                except StaleRulesError:
                    self._rulebook = None
        if self._rulebook is None:
            with self._database.transaction(seconds=seconds) as cursor:
                self._rulebook = rulebooks.load_rulebook(cursor)
        return self._rulebook
