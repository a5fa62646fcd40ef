"""What the owner of a corpus does: rights for others, the statements of the schema, the journal, and its end.

    with Operation() as owner:
        owner.grant(worker=["night"], analyst=["ann"])

It works as the role it connects as, which must own the schema. What everyone does with a corpus is in
`deduplicator.py`; the embedded server in `server.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from dedup.api import OpenCorpus
from dedup.base.errors import DedupError, InputError
from dedup.base.progress import Progress
from dedup.base.schema import chosen, program
from dedup.base.timeouts import Timeouts
from dedup.db import revision, roles
from dedup.db.database import URL_VARIABLE, Cursor, Database
from dedup.db.rendering import write_out
from dedup.db.roles import Role
from dedup.settling.locked import held
from dedup.store import changes, opening, removal, word_index
from dedup.store.removal import Contents

__all__ = ["Contents", "Operation", "Role", "printed_schema", "who_may"]


def printed_schema(url: str | None = None, *, schema: str | None = None) -> str:
    """The statements that make the schema, or upgrade the one of a database; nothing is run.

    Args:
        url: the database; None takes `DEDUP_DATABASE_URL`. Without either the schema is made from nothing,
            and no connection is made.
        schema: as of `Deduplicator`.

    Returns one transaction for psql; "" if there is nothing to do. Raises SchemaError: the schema is newer
    than this program.
    """
    url = url or os.environ.get(URL_VARIABLE)
    if not url:
        return opening.write_script(None, chosen(schema))
    with Operation(url, schema=schema) as owner:
        before = owner._transact(revision.current)
        revision.refuse_unknown(before, owner._database)
        return opening.write_script(before, owner.schema)


def who_may(task: str, allowed: Sequence[Role], url: str | None = None) -> str | None:
    """Who may do what this role may not, and which grant lets it; None where no grant does.

    Args:
        task: what was refused, for people.
        allowed: the kinds of role that may, the one with the least rights first; empty: only the owner.
        url: as of `Deduplicator`.
    """
    try:
        with Operation(url) as refused:
            found = refused._transact(roles.advice, task, allowed, program(refused.schema))
            return f"{refused.location}: {found}" if found else None
    except DedupError:
        return None


class Operation(OpenCorpus):
    """A corpus in the hands of its owner. `url, schema`: as of `Deduplicator`."""

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        super().__init__(Database(url, timeouts, schema))

    @property
    def schema(self) -> str:
        """The schema of the corpus."""
        return self._database.schema

    def grant(
        self,
        *,
        worker: Sequence[str] = (),
        scraper: Sequence[str] = (),
        analyst: Sequence[str] = (),
        counter: Sequence[str] = (),
        reader: Sequence[str] = (),
        revoke: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        """Give roles of the database exactly the rights of what they are for, in one transaction.

        Args:
            worker: may settle: `backfill`, `load`, `submit`.
            scraper: may store articles and ask about them: `submit`, `check`, `lookup`.
            analyst: may read the views: `marks`, `matches`, `stories`.
            counter: may read the views without the words of texts: bodies, sentences, quotes, alterations.
            reader: may read all that pages show, texts included: `browse`, `lookup`, `explain`.
            revoke: take all rights in the schema from them instead.
            dry_run: change nothing.

        Returns the statements, as people type them.

        Raises:
            InputError: no role is named, or one does not exist.
            RightsError: the schema is not this role's own.
        """
        given: dict[Role, Sequence[str]] = {
            "worker": worker,
            "scraper": scraper,
            "analyst": analyst,
            "counter": counter,
            "reader": reader,
        }
        names = [name for listed in given.values() for name in listed]
        if not names:
            raise InputError("name a role: --worker, --scraper, --analyst, --counter or --reader ROLE")
        with self._transaction() as cursor:
            self._require_owner(cursor)
            roles.check_roles(cursor, names)
            wanted = roles.statements(cursor, given, revoke=revoke)
            if not dry_run:
                for statement in wanted:
                    cursor.execute(statement)
            return [write_out(statement, cursor) for statement in wanted]

    def make_searchable(self, wanted: bool = True, *, progress: Progress | None = None) -> bool:
        """Make the index by which `Deduplicator.browsing` finds words, or drop it; others work meanwhile.

        Titles are searched, and the texts that the corpus keeps; not those of attached tables.

        Args:
            wanted: false drops it.
            progress: told what Postgres is at, and blocks of the table of articles.

        Returns whether there was anything to do. Raises RightsError: the schema is not this role's own.
        Raises BusyError: another process is at it.
        """
        self._transact(self._require_owner)
        return word_index.change_index(self._database, wanted=wanted, progress=progress)

    def start_journal(self) -> bool:
        """Keep the journal of marks, which `Deduplicator.changes` tells; False where it is on already.

        Raises RightsError: the schema is not this role's own. Raises BusyError: others held its tables all
        the time.
        """
        return self._keep_journal(wanted=True)

    def stop_journal(self) -> bool:
        """Drop the journal of marks; False where it was off. No cursor counts after that.

        Raises: as `start_journal`.
        """
        return self._keep_journal(wanted=False)

    def _keep_journal(self, *, wanted: bool) -> bool:
        self._transact(self._require_owner)
        return held(self._database, partial(changes.keep_journal, wanted=wanted))

    def _require_owner(self, cursor: Cursor) -> None:
        revision.require_head(revision.current(cursor), self._database)
        roles.require_owner(cursor, self.location)

    def contents(self) -> Contents:
        """What `uninstall` would remove. Raises SchemaError: there is no schema."""
        return self._transact(removal.contents, self.location)

    def uninstall(self) -> Contents:
        """Remove the schema with everything in it, and nothing else; there is no way back but a backup.

        Raises:
            InputError: something outside of the schema depends on it.
            SchemaError: there is no schema.
            RightsError: it is not this role's own.
            BusyError: others work with it.
        """
        return self._transact(removal.remove, self.location)
