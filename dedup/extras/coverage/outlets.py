"""`Deduplicator.outlets`: owners and other names of outlets, and which outlets are agencies.

The table `dedup.outlet` is small, and is read and changed as a whole. `names.py` proposes rows; nothing is
stored unless a person asks for it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from dedup.api import OfCorpus, checks, transacted
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.printable import guarded
from dedup.db.database import Cursor, one_column
from dedup.db.statements import Statements
from dedup.extras.coverage.names import OutletName, propose

_sql = Statements("extras/coverage/outlets")

COLUMNS = ("name", "family", "alias_of", "agency")  # Columns of CSV files
NAME_BYTES = 1_000  # Maximum length of a name in UTF-8; the schema has the same limit
MOST_ROWS = 1_000_000  # Maximum number of rows of a file, which are held in memory: some 300 MB
SHOWN_ALIASES = 3  # Maximum number of aliases that a message names


@dataclass(frozen=True, slots=True)
class Outlet(Answer):
    """A row of the table of outlets; None where nothing is stated.

    Attributes:
        name: name, as in `Article.publication`.
        alias_of: the outlet of which this is another name.
        agency: the agency that the outlet is.
    """

    name: str
    family: str | None = None
    alias_of: str | None = None
    agency: str | None = None


@dataclass(frozen=True, slots=True)
class CountedOutlet(Outlet):
    """An outlet with its number of articles."""

    articles: int = 0


def load_outlets(cursor: Cursor) -> list[CountedOutlet]:
    """Return the outlets that have articles or a row in the table, the outlet with most articles first."""
    return [CountedOutlet(*row) for row in cursor.execute(_sql("listed")).fetchall()]


def load_table(cursor: Cursor) -> list[Outlet]:
    """Return the rows of the table, sorted by name."""
    return [Outlet(*row) for row in cursor.execute(_sql("stored")).fetchall()]


def proposals(cursor: Cursor) -> list[Outlet]:
    """Propose rows for outlets without a row: aliases by their names, families by their domains.

    A proposal is a guess from the names alone. Store the right ones with `write`.
    """
    listed = load_outlets(cursor)
    stated = {row.name: row for row in load_table(cursor)}
    named = propose(
        [OutletName(one.name, one.articles) for one in listed if len(one.name.encode()) <= NAME_BYTES]
    )
    found = [Outlet(one.name, one.family, one.alias_of) for one in named if one.name not in stated]
    # If the proposed `alias_of` is an alias itself, propose the outlet of that alias.
    targets = {row.name: row.alias_of for row in stated.values() if row.alias_of}
    moved = [replace(one, alias_of=targets.get(one.alias_of or "", one.alias_of)) for one in found]
    return [one for one in moved if one.name != one.alias_of]


def set_outlet(
    cursor: Cursor,
    name: str,
    *,
    family: str | None = None,
    alias_of: str | None = None,
    agency: str | None = None,
) -> Outlet:
    """State family, `alias_of` or agency of an outlet; None keeps a value, "" removes it.

    `alias_of` replaces family and agency, because an alias has those of its outlet. Raises InputError: a name
    is blank or too long, the outlet is an alias and gets a family, or there would be an alias of an alias.
    """
    wanted = _clean("the name", name)
    if wanted is None:
        raise InputError("the name of the outlet is empty")
    row = cursor.execute(_sql("of_name"), {"name": wanted}).fetchone()
    before = Outlet(*row) if row else Outlet(wanted)
    if alias_of:
        before = Outlet(wanted)
    after = Outlet(
        wanted,
        before.family if family is None else _clean("the family", family),
        before.alias_of if alias_of is None else _clean("the outlet of an alias", alias_of),
        before.agency if agency is None else _clean("the agency", agency),
    )
    write(cursor, [after])
    return after


def write(cursor: Cursor, rows: Iterable[Outlet]) -> int:
    """Store rows in place of earlier rows of the same outlets; return their number.

    Raises InputError as `set_outlet`, and if two rows have the same name.
    """
    found: dict[str, Outlet] = {}
    for row in rows:
        if row.name in found:
            raise InputError(f"two rows name the outlet {row.name!r}: keep one of them")
        if row.alias_of and (row.family or row.agency):
            raise InputError(
                f"{row.name!r} is an alias of {row.alias_of!r}, whose family and agency it takes:"
                f" state them for {row.alias_of!r}"
            )
        found[row.name] = row
    values = {
        "names": list(found),
        "families": [row.family for row in found.values()],
        "aliases": [row.alias_of for row in found.values()],
        "agencies": [row.agency for row in found.values()],
    }
    agencies = sorted({row.agency for row in found.values() if row.agency})
    if unlisted := one_column(cursor, _sql("unlisted"), {"agencies": agencies}):
        raise InputError(f"no agency is called {unlisted[0]!r}; `dedup agencies` lists and adds agencies")
    if chained := cursor.execute(_sql("chained"), values).fetchone():
        name, target, beyond = chained
        raise InputError(
            f"{name!r} would be an alias of {target!r}, which is an alias of {beyond!r}:"
            f" make it an alias of {beyond!r}"
        )
    if found:
        cursor.execute(_sql("write"), values)
    return len(found)


def without_articles(cursor: Cursor, names: Sequence[str]) -> list[str]:
    """Return those of the names that no article has as its outlet, in order."""
    given = [checks.text("the name", name) for name in names]
    return one_column(cursor, _sql("without_articles"), {"names": given})


def remove(cursor: Cursor, name: str) -> None:
    """Delete the row of an outlet. Raises InputError: there is no row, or the outlet has aliases."""
    values = {"name": checks.text("the name", name), "limit": SHOWN_ALIASES}
    if aliases := one_column(cursor, _sql("aliases"), values):
        raise InputError(f"{name!r} has aliases: first unset {', '.join(map(repr, aliases))}")
    if not cursor.execute(_sql("remove"), values).rowcount:
        raise InputError(f"nothing is stated about {name!r}; `dedup outlets` lists the outlets")


def _clean(what: str, value: str) -> str | None:
    """Return a name unchanged, since a publication may begin with a space; None for a blank name."""
    if not checks.text(what, value).strip():
        return None
    if len(value.encode()) > NAME_BYTES:
        raise InputError(f"{what} has more than {NAME_BYTES:,} bytes")
    return value


def read_csv(file: TextIO, *, raw: bool = False) -> list[Outlet]:
    """Read rows from CSV with the columns `COLUMNS`, of which all except `name` may be missing.

    `raw`: take cells as they are; by default, remove the apostrophe that `export` puts before a formula.
    Raises InputError: a column is unknown, a row has too many cells, or a name is missing or too long.
    """
    try:
        reader = csv.reader(file, strict=True)
        head = [cell.strip() for cell in next(reader, [])]
        if "name" not in head or len(set(head)) < len(head) or set(head) - set(COLUMNS):
            raise InputError(f"the first line must name columns of {', '.join(COLUMNS)}; name is needed")
        return [
            _row(dict(zip(head, cells, strict=False)), len(cells) - len(head), reader.line_num, raw)
            for cells in reader
            if any(map(str.strip, cells))
        ]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"the file is no CSV in UTF-8: {error}") from None


def _row(cells: dict[str, str], extra: int, line: int, raw: bool) -> Outlet:
    if extra > 0:
        raise InputError(f"line {line:,} has more cells than the first line")
    if line > MOST_ROWS:
        raise InputError(f"the file has more than {MOST_ROWS:,} lines")
    plain = {name: cell if raw else _unguarded(cell) for name, cell in cells.items()}
    values = {name: _clean(f"{name} in line {line:,}", cell) for name, cell in plain.items()}
    if (name := values.pop("name", None)) is None:
        raise InputError(f"line {line:,} has no name")
    return Outlet(name, **values)


def _unguarded(cell: str) -> str:
    bare = cell[1:]
    return bare if cell.startswith("'") and guarded(bare) == cell else cell


class Outlets(OfCorpus):
    """Owners and other names of outlets."""

    counted = transacted(load_outlets)
    stated = transacted(load_table)
    proposals = transacted(proposals)
    set = transacted(set_outlet)
    without_articles = transacted(without_articles)
    remove = transacted(remove)

    def write(self, rows: Sequence[Outlet]) -> int:
        """Store rows in place of earlier rows of the same outlets: all, or none after an error."""
        return self._transact(write, rows)
