"""Find how an owner altered an attached table after it was mapped, and decide what dedup must do.

A *problem*, such as a renamed column, needs a person, who usually runs `dedup remap`. Until then dedup does
not read the table, and its articles keep their marks. Other changes, such as a new partition, a rewrite or
TRUNCATE, need no person: dedup compares all rows of the table. A table that could not be read is *held*:
dedup reports the error, and tries again after some minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg.types.json import Jsonb

from dedup.attach import attachments, bases
from dedup.attach.attachments import NAME, Attachment, Base
from dedup.attach.bases import BaseState
from dedup.attach.functions import mark_columns
from dedup.attach.outbox import TableBusyError, UnfitError
from dedup.base.words import counted
from dedup.db.database import Cursor, one_row
from dedup.db.rendering import schema_of
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

# Minutes before a worker tries again to read a table. The pause is long: each attempt reads all rows.
HELD_MINUTES = 15

EVENTS = 4  # Number of triggers of an attached table: for INSERT, UPDATE, DELETE and TRUNCATE


@dataclass(frozen=True, slots=True)
class TableState:
    oid: int | None  # oid of the table that has the stored name; None: no table has this name
    strangers: Sequence[str]  # roles that are not trusted and whose code runs when the table is read
    altered: int  # how many of the functions made for the table were altered
    known_as: str | None  # present name of the table with the stored oid; None: that table is gone
    owner: str | None  # role that owns the table
    secured: bool  # whether row security hides rows even from the owner
    maker: str | None  # owner of the functions made for the table; None: they are missing
    columns: Mapping[str, Sequence[Any]]  # number, type, and generation expression or None, by column name
    triggers: int  # number of dedup's triggers on the table, which note changes
    off: int  # how many triggers of the table and its partitions are switched off
    parts: Sequence[int]  # oids of the table and its partitions
    state: str | None  # digest that changes if rows may have been added or removed unnoticed
    bases: Sequence[BaseState] = ()  # states of the base tables, in the order of `Attachment.bases`

    def seen(self, names: Iterable[str], ever: Iterable[int] = ()) -> dict[str, Any]:
        """Return a value for `Attachment.seen`. `names`: columns whose types must stay the same. `ever`: oids
        of earlier partitions, which are stored together with the oids of present partitions."""
        return {
            "oid": self.oid,
            "columns": {name: self.columns[name] for name in names if name in self.columns},
            "parts": sorted({*self.parts, *ever}),
            "state": self.state,
        }


def find(cursor: Cursor, attachment: Attachment) -> TableState:
    values = {
        **attachment.place,
        "oid": attachment.seen.get("oid", 0),
        "changed": f"attached_{attachment.id}_changed",
        "rows": f"attached_{attachment.id}_rows",
        "made": attachment.made,
    }
    found = TableState(*one_row(cursor, _sql("attached_table"), values))
    if not attachment.bases:
        return found
    of_bases = bases.states(cursor, attachment)
    state = " ".join([found.state or "", *(base.digest for base in of_bases)])
    return replace(found, bases=of_bases, state=state)


def problems_of(cursor: Cursor, attachment: Attachment, found: TableState | None = None) -> list[str]:
    """Return the problems of a table, one line each, with the name of the table and the next step."""
    found = found or find(cursor, attachment)
    words = [f"{word}: run `dedup remap {attachment.name}`" for word in _changes(cursor, attachment, found)]
    tables: list[tuple[Attachment | Base, TableState | BaseState]] = [(attachment, found)]
    for table, state in [*tables, *zip(attachment.bases, found.bases, strict=False)]:
        if state.secured:
            words.append(
                f"row security is forced on the owner {state.owner} of {table.shown}, and hides rows: run"
                f" `ALTER TABLE {table.identifier.as_string(cursor)} NO FORCE ROW LEVEL SECURITY`"
            )
    return [f"{attachment.shown}: {word}" for word in words]


def _changes(cursor: Cursor, attachment: Attachment, found: TableState) -> list[str]:
    """Return descriptions of changes that make it necessary to map a table again."""
    if found.maker is None:
        return ["the functions made for it are missing, or an older version of dedup made them"]
    oid = attachment.seen.get("oid")
    now = f"is called {found.known_as} now" if found.known_as else "is gone"
    if found.oid is None:
        step = f"delete its articles with `dedup detach {attachment.name}`, or give another table by --table"
        return [f"the table {now}; {step}"]
    # If the oid is new but dedup's triggers are there, this is the attached table, restored from a backup.
    ours = found.triggers if attachment.triggers else 0
    if oid != found.oid and attachment.triggers and not ours:
        return [f"a different table has this name now; the attached table {now}"]
    seen = attachment.seen.get("columns", {})
    words = [*_column_changes(seen, found.columns, same=oid == found.oid)]
    if attachment.mark_columns:
        words += [
            f"column {name} is gone" for name in mark_columns(schema_of(cursor)) if name not in found.columns
        ]
    if attachment.triggers and (ours < EVENTS or found.off):
        words.append("triggers that note its changes are missing or switched off")
    if found.maker != found.owner:
        words.append(f"it belongs to {found.owner} now, but its functions in dedup belong to {found.maker}")
    if not attachment.copied:
        if found.strangers:
            words.append(
                f"{', '.join(found.strangers)} has fewer rights than the corpus' owner, and reading the table"
                " would run code of that role"
            )
        elif found.altered:
            words.append("functions that were made for it were altered")
    for base, state in zip(attachment.bases, found.bases, strict=True):
        words += [f"{base.shown}: {word}" for word in _base_changes(attachment, base, state, found.owner)]
    if any(base.way != NAME for base in attachment.bases):
        words += _view_changes(attachment, found, bases.columns_read(cursor, found.oid))
    return words


def _column_changes(
    seen: Mapping[str, Sequence[Any]], found: Mapping[str, Sequence[Any]], *, same: bool
) -> Iterator[str]:
    """Yield changes of columns. `same`: the table was not replaced, so renamed columns keep their numbers."""
    called = {number: name for name, (number, _, _) in found.items()}
    for name, (number, kind, made_of) in seen.items():
        column = found.get(name)
        if same and called.get(number, name) != name:
            yield f"column {name} is called {called[number]} now"
        elif column is None:
            yield f"column {name} is gone"
        elif column[1] != kind:
            yield f"column {name} is of type {column[1]} now, and was of type {kind}"
        elif column[2] != made_of:
            yield f"column {name} is generated by a different expression now"


def _base_changes(attachment: Attachment, base: Base, state: BaseState, owner: str | None) -> Iterator[str]:
    if state.oid is None:
        yield f"the table is called {state.known_as} now" if state.known_as else "the table is gone"
        return
    if not state.plain:
        yield "it is not a plain table now"
    noting = base in attachment.noting
    if state.oid != base.oid and not (noting and state.triggers):
        yield "a different table has this name now"
        return
    yield from _column_changes(base.columns, state.columns, same=state.oid == base.oid)
    if noting and (state.triggers < EVENTS or state.off):
        yield "triggers that note its changes are missing or switched off"
    if state.owner != owner:
        yield f"it belongs to {state.owner} now, and the attached table belongs to {owner}"


def _view_changes(
    attachment: Attachment, found: TableState, read: Mapping[int, set[str] | None]
) -> Iterator[str]:
    for base, state in zip(attachment.bases, found.bases, strict=True):
        names = read.get(state.oid or 0, set())
        for name in sorted((state.columns.keys() if names is None else names) - base.columns.keys()):
            yield f"it reads the column {name} of {base.shown} now, whose changes are not noted"


def problems(cursor: Cursor) -> list[str]:
    """Return the problems of attached tables that their owners changed, each with the command to run."""
    return [
        line
        for attachment in attachments.list_active(cursor)
        for line in problems_of(cursor, attachment) or held(attachment)
    ]


def held(attachment: Attachment) -> list[str]:
    """Return the stored reason why a table could not be read. A comparison of all rows deletes the reason."""
    return [attachment.seen["held"]] if "held" in attachment.seen else []


def hold(cursor: Cursor, attachment: Attachment, error: UnfitError) -> None:
    """Pause work on a table for some minutes, and report `error` until a comparison of all rows succeeds."""
    # If reading failed only because another session uses the table, no pause is needed.
    if not isinstance(error, TableBusyError):
        values = {"id": attachment.id, "why": str(error), "minutes": HELD_MINUTES}
        cursor.execute(_sql("hold"), values)


def list_unwritten(cursor: Cursor) -> list[str]:
    """Return one line for each table where a trigger or a constraint prevents the writing of marks."""
    rows = cursor.execute(_sql("unwritten"), {}).fetchall()
    return [
        f"{table}: {counted(amount, 'row takes', 'rows take')} no marks, such as {source_id}:"
        f" a trigger or constraint of the table raises SQLSTATE {state}"
        for table, amount, source_id, state in rows
    ]


def check(cursor: Cursor, attachment: Attachment) -> list[str]:
    """Return the problems of a table. If only its state changed, request a comparison of all rows."""
    found = find(cursor, attachment)
    words = problems_of(cursor, attachment, found)
    if not _is_news(attachment, found, words):
        return words
    if words:
        seen = {**attachment.seen, "problems": words}
    else:
        seen = found.seen(attachment.seen.get("columns", {}), attachment.seen.get("parts", ()))
        cursor.execute(_sql("compare_whole"), {"id": attachment.id})
    values = {"seen": Jsonb(seen), "before": Jsonb(attachment.seen), "id": attachment.id}
    cursor.execute(_sql("keep_seen"), values)
    return words


def has_news(cursor: Cursor) -> bool:
    """Return whether `check` would find a new problem or a changed state in any table. This is fast."""
    for attachment in attachments.list_active(cursor):
        found = find(cursor, attachment)
        if _is_news(attachment, found, problems_of(cursor, attachment, found)):
            return True
    return False


def _is_news(attachment: Attachment, found: TableState, words: list[str]) -> bool:
    known = attachment.seen.get("problems", [])
    return words != known if words else bool(known) or found.state != attachment.seen.get("state")
