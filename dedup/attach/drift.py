"""Find what an owner did to an attached table since it was mapped, and say what it means for us.

*Problems* need a person, and mostly `dedup remap`: a renamed column, another table under the name. Until then
the table is left alone: its changes wait, and its marks stay. *Unseen* changes need nobody: after a new
partition, a rewrite or TRUNCATE the table is compared as a whole. A table that could not be followed
(`sync.py` says why) is *held*: it is left alone, named in the same way, and tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from dedup.attach import attachments
from dedup.attach.attachments import Attachment
from dedup.attach.functions import mark_columns
from dedup.attach.outbox import TableBusyError, UnfitError
from dedup.base.words import counted
from dedup.db.database import Cursor, one_row
from dedup.db.rendering import schema_of
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

# A worker leaves a table that could not be followed alone for so long: a try costs a look at all rows.
HELD_MINUTES = 15

EVENTS = 4  # Triggers of an attached table: for INSERT, UPDATE, DELETE and TRUNCATE


@dataclass(frozen=True, slots=True)
class TableState:
    oid: int | None  # None: there is no table of that name
    strangers: Sequence[str]  # roles that are not trusted and whose code runs when it is read
    altered: int  # functions made for it that are not as they were made
    known_as: str | None  # present name of the table with the stored oid; None: it is gone
    owner: str | None  # the role that owns it
    secured: bool  # row security hides rows from that role too
    maker: str | None  # owner of the functions made for it; None: there are none
    columns: Mapping[str, Sequence[Any]]  # name to number, type, and generating expression or None
    triggers: int  # how many of it note changes
    off: int  # how many of it and its partitions are switched off
    parts: Sequence[int]  # oids of it and its partitions
    state: str | None  # tells whether rows may have come or gone unnoticed

    def seen(self, names: Iterable[str], ever: Iterable[int] = ()) -> dict[str, Any]:
        """Return what to store. `names`: columns whose change is a change of an article. `ever`: former
        parts."""
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
    return TableState(*one_row(cursor, _sql("attached_table"), values))


def problems_of(cursor: Cursor, attachment: Attachment, found: TableState | None = None) -> list[str]:
    """Return the problems for a person, one line each, which names the table and ends with the next step."""
    found = found or find(cursor, attachment)
    words = [f"{word}: `dedup remap {attachment.name}`" for word in _changes(cursor, attachment, found)]
    if found.secured:
        table = attachment.identifier.as_string(cursor)
        words.append(
            f"row security is forced on its owner {found.owner}, and hides rows: `ALTER TABLE {table}"
            " NO FORCE ROW LEVEL SECURITY`"
        )
    return [f"{attachment.shown}: {word}" for word in words]


def _changes(cursor: Cursor, attachment: Attachment, found: TableState) -> list[str]:
    """Return the changes of a table after which it must be mapped again."""
    if found.maker is None:
        return ["its functions are missing, or made by an older dedup"]
    oid = attachment.seen.get("oid")
    now = f"is called {found.known_as} now" if found.known_as else "is gone"
    if found.oid is None:
        step = f"`dedup detach {attachment.name}` deletes its articles, and another table can be named"
        return [f"the table {now}; {step}"]
    # A restore gives other numbers to everything; the triggers come along.
    ours = found.triggers if attachment.triggers else 0
    if oid != found.oid and attachment.triggers and not ours:
        return [f"another table has the name; the one that was attached {now}"]
    words = []
    called = {number: name for name, (number, _, _) in found.columns.items()}
    for name, (number, kind, made_of) in attachment.seen.get("columns", {}).items():
        column = found.columns.get(name)
        if oid == found.oid and called.get(number, name) != name:
            words.append(f"column {name} is called {called[number]} now")
        elif column is None:
            words.append(f"column {name} is gone")
        elif column[1] != kind:
            words.append(f"column {name} is of type {column[1]} now, and was of {kind}")
        elif column[2] != made_of:
            words.append(f"column {name} is generated in another way")
    if attachment.mark_columns:
        words += [
            f"column {name} is gone" for name in mark_columns(schema_of(cursor)) if name not in found.columns
        ]
    if attachment.triggers and (ours < EVENTS or found.off):
        words.append("triggers that note its changes are missing or switched off")
    if found.maker != found.owner:
        words.append(f"it belongs to {found.owner} now, and its functions to {found.maker}")
    if not attachment.copied:
        if found.strangers:
            words.append(
                f"{', '.join(found.strangers)} has fewer rights than the corpus' owner, and reading it would"
                " run code of that role"
            )
        elif found.altered:
            words.append("functions that were made for it were altered")
    return words


def problems(cursor: Cursor) -> list[str]:
    return [
        line
        for attachment in attachments.list_active(cursor)
        for line in problems_of(cursor, attachment) or held(attachment)
    ]


def held(attachment: Attachment) -> list[str]:
    """Return why a table could not be followed at the last try, as `problems_of`."""
    return [attachment.seen["held"]] if "held" in attachment.seen else []


def hold(cursor: Cursor, attachment: Attachment, error: UnfitError) -> None:
    """Leave a table alone for a while, and name it until a comparison of all its rows ends."""
    # A table on which another session works is tried again at once.
    if not isinstance(error, TableBusyError):
        values = {"id": attachment.id, "why": str(error), "minutes": HELD_MINUTES}
        cursor.execute(_sql("hold"), values)


def list_unwritten(cursor: Cursor) -> list[str]:
    """Return a line for each table with rows that take no marks, since a trigger or a constraint raises."""
    rows = cursor.execute(_sql("unwritten"), {}).fetchall()
    return [
        f"{table}: {counted(amount, 'row takes', 'rows take')} no marks, such as {source_id}:"
        f" a trigger or constraint of the table raises SQLSTATE {state}"
        for table, amount, source_id, state in rows
    ]


def check(cursor: Cursor, attachment: Attachment) -> list[str]:
    """Return the problems of a table; without any, have it compared if rows may have changed unnoticed."""
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
    """Return whether `check` would find something new; cheap, for frequent questions."""
    for attachment in attachments.list_active(cursor):
        found = find(cursor, attachment)
        if _is_news(attachment, found, problems_of(cursor, attachment, found)):
            return True
    return False


def _is_news(attachment: Attachment, found: TableState, words: list[str]) -> bool:
    known = attachment.seen.get("problems", [])
    return words != known if words else bool(known) or found.state != attachment.seen.get("state")
