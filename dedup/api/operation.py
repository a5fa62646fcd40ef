"""Operations for the owner of a corpus: grants, statements of the schema, the journal, and uninstalling.

    with Operation() as owner:
        owner.grant(worker=["night"], analyst=["ann"])

The role that connects must own the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dedup.api import OpenCorpus
from dedup.api.arguments import naming_arguments
from dedup.base import config
from dedup.base.errors import DedupError, InputError
from dedup.base.progress import Progress
from dedup.base.schema import chosen, program
from dedup.base.timeouts import Timeouts
from dedup.db import revision, roles
from dedup.db.database import Cursor, Database, run_locked
from dedup.db.rendering import write_out
from dedup.db.roles import Role
from dedup.store import changes, opening, removal, word_counts, word_index
from dedup.store.removal import Contents

__all__ = ["Contents", "Operation", "Role", "printed_schema", "who_may"]


def printed_schema(url: str | None = None, *, schema: str | None = None) -> str:
    """Return the statements that make or upgrade the schema, as one transaction for psql; run nothing.

    Return "" if there is nothing to do. If no `url` is given and no address is configured, no connection is
    made, and the statements make the whole schema. Raises SchemaError: the schema is newer than this program.
    """
    if not url and not config.address():
        return opening.write_script(None, chosen(schema))
    with Operation(url, schema=schema) as owner:
        before = owner._transact(revision.current)
        revision.refuse_unknown(before, owner._database)
        return opening.write_script(before, owner.schema)


def who_may(task: str, allowed: Sequence[Role], url: str | None = None) -> str | None:
    """Return a sentence about a refused task: the kinds of role that may do it, and how to get such a role.

    Return None if no kind of role helps, or the database does not answer. `task`: the task in words.
    `allowed`: kinds of role that may do the task, fewest rights first; empty if only the owner may.
    """
    # The advice is part of an error message, which must appear even if the database does not answer now.
    try:
        with Operation(url) as refused:
            found = refused._transact(roles.advice, task, allowed, program(refused.schema))
            return f"{refused.location}: {found}" if found else None
    except DedupError:
        return None


class Operation(OpenCorpus):
    """Operations for the owner of a corpus. The arguments are as in `Deduplicator`."""

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        super().__init__(Database(url, timeouts, schema))

    @property
    def schema(self) -> str:
        """Schema of the corpus."""
        return self._database.schema

    @naming_arguments()
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
        """Give each database role exactly the rights of its kind, in one transaction; return the statements.

        Args:
            worker: roles that may settle: `backfill`, `load`, `submit`.
            scraper: roles that may store articles and ask about them: `submit`, `check`, `lookup`.
            analyst: roles that may read the views: `marks`, `matches`, `stories`.
            counter: roles that may read the views, but no words of texts, sentences, quotes or alterations.
            reader: roles that may read all that the pages show, with texts: `browse`, `lookup`, `explain`.
            revoke: take all rights in the schema from the roles instead.
            dry_run: change nothing.

        Raises InputError: no role is named, or a named role does not exist. Raises RightsError: the connected
        role does not own the schema.
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
            raise InputError("name a role by --worker, --scraper, --analyst, --counter or --reader")
        with self._database.transaction() as cursor:
            self._require_owner(cursor)
            roles.check_roles(cursor, names)
            wanted = roles.statements(cursor, given, revoke=revoke)
            if not dry_run:
                for statement in wanted:
                    cursor.execute(statement)
            return [write_out(statement, cursor) for statement in wanted]

    def granted(self) -> dict[str, list[str]]:
        """Return the kinds of role, such as "worker", of each database role that may use the schema.

        The kind "owner" may do everything, as superusers may. A role without a kind has other rights.
        """
        with self._database.transaction() as cursor:
            revision.require_head(revision.current(cursor), self._database)
            return roles.granted(cursor)

    def make_searchable(self, wanted: bool = True, *, progress: Progress | None = None) -> bool:
        """Make or drop the word index, for searches in `dedup browse`; return True if the index changed.

        Words of a sample of articles are counted again, for `sources` and `coverage`.
        The index covers titles and stored texts, but no texts of attached tables. Other processes can work
        meanwhile. Raises RightsError: the connected role does not own the schema. Raises BusyError: another
        process makes or drops the index.
        """
        self._transact(self._require_owner)
        changed = word_index.change_index(self._database, wanted=wanted, progress=progress)
        if wanted:
            word_counts.count_words(self._database, progress=progress)
        else:
            self._transact(word_counts.forget_words)
        return changed

    def start_journal(self) -> bool:
        """Start the journal of marks, for `Deduplicator.changes`; return False if the journal was on before.

        Raises RightsError: the connected role does not own the schema. Raises BusyError: tables are locked.
        """
        return self._keep_journal(wanted=True)

    def stop_journal(self) -> bool:
        """Drop the journal of marks; return False if the journal was off. Its cursors become invalid.

        Raises the errors of `start_journal`.
        """
        return self._keep_journal(wanted=False)

    def _keep_journal(self, *, wanted: bool) -> bool:
        self._transact(self._require_owner)
        return run_locked(self._database, partial(changes.keep_journal, wanted=wanted))

    def _require_owner(self, cursor: Cursor) -> None:
        revision.require_head(revision.current(cursor), self._database)
        roles.require_owner(cursor, self.location)

    def contents(self) -> Contents:
        """Return the contents that `uninstall` would remove. Raises SchemaError: there is no schema."""
        return self._transact(removal.contents, self.location)

    def uninstall(self) -> Contents:
        """Remove the schema with everything in it, and nothing else; only a backup can restore the corpus.

        Raises InputError: an outside object depends on the schema. Raises SchemaError: there is no schema.
        Raises RightsError: the role does not own the schema. Raises BusyError: other processes use it.
        """
        return self._transact(removal.remove, self.location)
