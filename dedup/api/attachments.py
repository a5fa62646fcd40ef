"""`Deduplicator.attachments`: tables outside of the schema whose rows are articles. See `docs/attach.md`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dedup.api import OfCorpus, checks, transacted
from dedup.api.arguments import in_python, naming_arguments
from dedup.attach import attach as attaching
from dedup.attach import attachments, drift, outbox
from dedup.attach.mapping import LONGEST_PAUSE, TableMapping
from dedup.base.answer import Answer


@dataclass(frozen=True, slots=True)
class Attached(Answer):
    """Result of `attach`, `remap` or `detach`, or of a dry run.

    Attributes:
        name: name of the attachment.
        statements: SQL statements that ran, or would run, in a form for psql.
        articles: number of articles that were deleted, or would be deleted.
        triggers: true if triggers note changes.
        every: minutes between comparisons, if no triggers note changes.
        watched: tables that a view reads, and whose changes triggers note.
        told: messages for the owner of the table, one line each.
    """

    name: str
    statements: list[str]
    articles: int = 0
    triggers: bool = True
    every: int | None = None
    watched: tuple[str, ...] = ()
    told: list[str] = field(default_factory=list)


class Attachments(OfCorpus):
    """Attached tables of a corpus."""

    @naming_arguments()
    def attach(
        self,
        table: str,
        *,
        keys: Sequence[str],
        columns: Mapping[str, str],
        name: str | None = None,
        within: str | None = None,
        where: str | None = None,
        mark_columns: bool = False,
        triggers: bool | None = None,
        html: bool | None = None,
        changed: str | None = None,
        every: int | None = None,
        keep: Sequence[str] = (),
        watch: Sequence[str] = (),
        dry_run: bool = False,
    ) -> Attached:
        """Attach a table or a view; the next backfill reads its rows.

        Args:
            table: SQL name, such as `public.articles`, of a table, view, materialized view or foreign table.
            keys: columns that identify a row: unique and never null.
            columns: name of the column for each field of an article; "text" is required. A name that
                another table has is looked up by a key: `"publication": "feed_id=feeds.title"`.
            name: prefix of the articles' source_ids; None: the table's name.
            within: column whose value is the scope of an article, such as a user's id: rows are compared only
                with rows of the same value.
            where: SQL condition; only rows that meet the condition are articles.
            mark_columns: add columns to the table, and write the marks into these columns too.
            triggers: True: let triggers note changes. False: `sync` finds changes. None: True if possible.
            html: extract articles from HTML bodies and strip tags from titles; needs the extra `html`.
                None: refuse a table whose bodies look like HTML.
            changed: column with the time of a row's last change, for a table without triggers. A comparison
                then reads only rows that changed since the last comparison, and all rows once a day.
            keep: columns whose values are stored with the articles; views show these values as `kept`.
            watch: tables that a view reads, whose changes triggers note: `KEY=TABLE.COLUMN`, where KEY is the
                view's key; `OTHER.COLUMN=TABLE.COLUMN`, where OTHER is another watched table; or `TABLE`,
                after whose changes all rows are compared. See docs/attach.md.
            every: minutes between comparisons of a table without triggers. 0: never. None: 15 for a view,
                never for a table.
            dry_run: change nothing; return the statements that would run.

        Raises:
            InputError: the table cannot be attached; the message says why, and the next step.
            BusyError: other transactions locked the table for longer than `Timeouts.lock`.
        """
        given = _checked(table=table, keys=keys, columns=_with_scope(columns, within), name=name, where=where)
        given |= _checked(changed=changed, every=every, keep=keep, watch=watch)
        wanted = TableMapping(**given, mark_columns=mark_columns, triggers=triggers, html=html)
        made, statements, told = attaching.attach(self._database, wanted, dry_run=dry_run)
        watched = tuple(dict.fromkeys(base.shown for base in made.noting if not made.triggers))
        return Attached(
            made.name,
            statements,
            triggers=made.triggers,
            every=made.every,
            watched=watched,
            told=[*map(in_python, told)],
        )

    @naming_arguments()
    def remap(
        self,
        name: str,
        *,
        table: str | None = None,
        keys: Sequence[str] | None = None,
        columns: Mapping[str, str] | None = None,
        within: str | None = None,
        where: str | None = None,
        changed: str | None = None,
        every: int | None = None,
        keep: Sequence[str] | None = None,
        watch: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Attached:
        """Map a table again after its owner changed it; the articles keep their marks.

        Arguments are as in `attach`. The value "" removes `where` or `changed`. `columns` needs only the
        fields that change. Renamed columns, and a table made again under its old name, are recognized. Then
        a backfill compares all rows. Raises InputError: as in `attach`, or no attached table has this name.
        """
        given = _checked(table=table, keys=keys, columns=_with_scope(columns, within), where=where)
        given |= _checked(changed=changed, every=every, keep=keep, watch=watch)
        attachment, statements = attaching.remap(
            self._database, checks.text("the name", name), given, dry_run=dry_run
        )
        return Attached(attachment.name, statements)

    drift = transacted(drift.problems)

    def detach(
        self, name: str, *, dry_run: bool = False, stop: Callable[[], bool] = lambda: False
    ) -> Attached:
        """Remove all that dedup added to the table, and delete the articles of the table from the corpus.

        `dry_run`: change nothing. `stop`: called between transactions; True ends the work, and another call
        of `detach` continues it. Raises InputError: no attached table has this name. Raises BusyError: other
        transactions locked the table for longer than `Timeouts.lock`.
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
        """Compare one attached table, or all, with the articles; note differing rows for the next backfill.

        Return the number of these rows. This is for tables without triggers, or if triggers were off.
        `whole`: compare all rows, not only recently changed rows. `allow_deletes`: compare all rows, and
        delete articles even if more than half of a table's articles have no row. `stop`: called between pages
        of rows. Raises InputError: no attached table has this name, or a table must be mapped again. Raises
        DatabaseError: a table cannot be read, or more than half of its articles have no row.
        """
        # `allow_deletes` is off by default, because row level security can hide all rows of a table: a
        # backfill once deleted every article for that reason.
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
    "watch": partial(checks.texts, "watch"),
}


def _checked(**given: Any) -> dict[str, Any]:
    """Check the values that are not None; return them by name. Raises InputError: a type is wrong."""
    return {name: _CHECKS[name](value) for name, value in given.items() if value is not None}


def _with_scope(columns: Mapping[str, str] | None, within: str | None) -> Mapping[str, str] | None:
    return columns if within is None else {**(columns or {}), "scope": within}
