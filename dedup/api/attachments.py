"""`Deduplicator.attachments`: other people's tables whose rows are articles and whose texts stay there.

Triggers note what changes in such a table, and the next backfill reads it. See `docs/attach.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dedup.api import OfCorpus, checks, transacted
from dedup.attach import attach as attaching
from dedup.attach import attachments, drift, outbox
from dedup.attach.mapping import LONGEST_PAUSE, TableMapping
from dedup.base.answer import Answer


@dataclass(frozen=True, slots=True)
class Attached(Answer):
    """What `attach` or `detach` did, or would do."""

    name: str  # what is attached, or was
    statements: list[str]  # what ran, or would run, as psql takes it
    articles: int = 0  # how many articles were deleted, or would be
    triggers: bool = True  # whether triggers note changes
    every: int | None = None  # else minutes after which they are looked for
    told: list[str] = field(default_factory=list)  # what the owner of the table is to know, a line each


class Attachments(OfCorpus):
    """The tables of others that are attached to a corpus."""

    def attach(
        self,
        table: str,
        *,
        keys: Sequence[str],
        columns: Mapping[str, str],
        name: str | None = None,
        where: str | None = None,
        mark_columns: bool = False,
        triggers: bool | None = None,
        html: bool | None = None,
        changed: str | None = None,
        every: int | None = None,
        keep: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Attached:
        """Attach a table or a view; the next backfill reads its rows.

        Args:
            table: as in SQL: `public.articles`. A view, a materialized view or a foreign table will do.
            keys: the columns that tell its rows apart, which must be unique and never null.
            columns: field of an article to column; "text" is one of them.
            name: what the source_ids of its articles begin with; None for the table's name.
            where: which rows are articles, as SQL over the columns of the table.
            mark_columns: add columns for the marks to the table, and write them there too.
            triggers: have triggers note changes; without them `sync` finds what changed. None: where there
                can be any.
            html: whether to take the articles out of bodies that are HTML, and tags out of titles, which
                needs the extra `html`. None refuses a table whose bodies look like HTML.
            changed: without triggers, the column of the time of a row's last change: only what changed since
                is looked at, and once a day all rows.
            keep: columns of the table that articles keep: shown in views as `kept`, never compared.
            every: without triggers, the minutes after which a backfill or a worker looks for changes; 0 for
                never; None for 15 where a view is attached, else never.
            dry_run: only say which statements would run.

        Raises:
            InputError: it cannot be attached; the message says why, and the next step.
            BusyError: others held the table for longer than `Timeouts.lock`.
        """
        given = _checked(table=table, keys=keys, columns=columns, name=name, where=where)
        given |= _checked(changed=changed, every=every, keep=keep)
        wanted = TableMapping(**given, mark_columns=mark_columns, triggers=triggers, html=html)
        made, statements, told = attaching.attach(self._database, wanted, dry_run=dry_run)
        return Attached(made.name, statements, triggers=made.triggers, every=made.every, told=told)

    def remap(
        self,
        name: str,
        *,
        table: str | None = None,
        keys: Sequence[str] | None = None,
        columns: Mapping[str, str] | None = None,
        where: str | None = None,
        changed: str | None = None,
        every: int | None = None,
        keep: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Attached:
        """Map a table again that its owner changed; its articles keep their marks.

        What is not said is found out: a table that has the name now, columns that were renamed. The next
        backfill compares every row with its article.

        Args:
            columns: field of an article to column, of the fields that change.
            where: which rows are articles; "" for all.
            changed: the column of the time of a row's last change; "" for none.
            keep: all columns that articles keep.
            The others: as of `attach`.

        Raises: as `attach`; and InputError where nothing is attached under that name.
        """
        told = _checked(table=table, keys=keys, columns=columns, where=where)
        told |= _checked(changed=changed, every=every, keep=keep)
        attachment, statements = attaching.remap(
            self._database, checks.text("the name", name), told, dry_run=dry_run
        )
        return Attached(attachment.name, statements)

    drift = transacted(drift.problems)

    def detach(
        self, name: str, *, dry_run: bool = False, stop: Callable[[], bool] = lambda: False
    ) -> Attached:
        """Leave the table as it was found, and delete its articles from the corpus.

        `dry_run`: only say what would be done. `stop`: asked between transactions; the same call again goes
        on. Raises InputError: nothing is attached under that name. Raises BusyError: others held the table
        for longer than `Timeouts.lock`.
        """
        deleted, statements = attaching.detach(
            self._database, checks.text("the name", name), dry_run=dry_run, stop=stop
        )
        return Attached(name, statements, deleted)

    def sync(
        self,
        name: str | None = None,
        *,
        whole: bool = False,
        allow_deletes: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Compare tables with their articles, and note what differs for the next backfill.

        Needed where there are no triggers, or where they were disabled for a while. `name`: of one
        attachment; None for all. `whole`: compare all rows, also where a column tells which have changed.
        `allow_deletes`: the same, and let articles go even if more than half of a table's have no row.
        `stop`: asked between pages. Returns how many rows are new, changed or gone. Raises InputError:
        nothing is attached under that name. DatabaseError: a table cannot be read as it was mapped, or more
        than half of its articles have no row.
        """
        chosen = checks.optional(checks.text, "the name", name)
        return attaching.sync(self._database, chosen, whole=whole, allow_deletes=allow_deletes, stop=stop)

    list = transacted(attachments.attachments)

    waiting = transacted(outbox.count)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "table": partial(checks.text, "the table"),
    "keys": partial(checks.texts, "key"),
    "columns": lambda columns: {field: checks.text(field, column) for field, column in columns.items()},
    "name": partial(checks.text, "the name"),
    "where": partial(checks.text, "the condition"),
    "changed": partial(checks.text, "changed"),
    "every": lambda minutes: checks.whole_number("every", minutes, 0, LONGEST_PAUSE),
    "keep": partial(checks.texts, "keep"),
}


def _checked(**given: Any) -> dict[str, Any]:
    """Return what was given, by its name; raises InputError: a value is of another type."""
    return {name: _CHECKS[name](value) for name, value in given.items() if value is not None}
