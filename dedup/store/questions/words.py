"""The index of words, which `dedup init --search` makes, and how it is asked.

Words are those of Postgres' configuration 'simple': a corpus has many languages and is full of names, so
nothing is stemmed and no word is left out. Beside them each article has marks that are no words: its day, 32
days around it, and its outlet. So the newest articles with a common word are found without reading all of
them.

Of an attached table the corpus keeps no texts: only the titles of its articles are in the index.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime, timedelta

from dedup.base.errors import BusyError, InputError
from dedup.base.schema import migration_lock, program
from dedup.db.connection import set_values
from dedup.db.database import Cursor, Database, translated
from dedup.db.statements import Statements

_sql = Statements("store/questions/questions")

INDEX = "article_words"

TITLE_CHARACTERS, TEXT_CHARACTERS = 1_000, 50_000
"""Of a title and a text that are searched: what Postgres makes of them may have 1 MB, whatever they hold."""

OUTLET_CHARACTERS = 100
"""Of an outlet's name in its mark; two outlets that begin so are told apart afterwards."""

BLOCK_DAYS = 32
"""Days that have a mark in common."""

PATIENCE = 7 * 86_400.0
"""Seconds within which the index must be made: of 1,000,000 articles it takes minutes."""

_ZERO = date(2000, 1, 1)
_DAY = "((coalesce(published_at, added_at) AT TIME ZONE 'UTC')::date - date '2000-01-01')"

WORDS = f"""(
    to_tsvector('simple'::regconfig,
        left(coalesce(title, ''), {TITLE_CHARACTERS}) || ' ' || left(coalesce(text, ''), {TEXT_CHARACTERS}))
    || array_to_tsvector(ARRAY['@d' || {_DAY}::text, '@b' || ({_DAY} / {BLOCK_DAYS})::text,
                               '@o' || left(coalesce(publication, ''), {OUTLET_CHARACTERS})]))"""
"""What is indexed, of the table of articles. No word begins with @."""


def day_mark(day: date) -> str:
    return f"@d{(day - _ZERO).days}"


def block(day: date) -> int:
    """The number of the block of days that a day is in; as in SQL, the one around day 0 is twice as long."""
    number = (day - _ZERO).days
    return abs(number) // BLOCK_DAYS * (-1 if number < 0 else 1)


def block_mark(number: int) -> str:
    return f"@b{number}"


def block_start(number: int) -> datetime:
    first = number * BLOCK_DAYS if number > 0 else (number - 1) * BLOCK_DAYS + 1
    start = _ZERO + timedelta(days=max(first, (date.min - _ZERO).days))
    return datetime(start.year, start.month, start.day, tzinfo=UTC)


def outlet_mark(publication: str) -> str:
    return f"@o{publication[:OUTLET_CHARACTERS]}"


def query(marks: list[str]) -> str:
    quoted = (mark.replace("\\", "\\\\").replace("'", "''") for mark in marks)
    return " & ".join(f"'{mark}'" for mark in quoted)


def searchable(cursor: Cursor) -> bool:
    """Whether the index is there and complete."""
    return _present(cursor) is True


def require(cursor: Cursor, schema: str) -> None:
    """Make sure that words can be searched. Raises InputError: the index is not there."""
    if not searchable(cursor):
        raise InputError(f"words cannot be searched yet: `{program(schema)} init --search` makes the index")


def change(database: Database, *, wanted: bool) -> bool:
    """Make the index, or drop it; others read and write meanwhile. What was broken off is made again.

    Returns:
        Whether anything was done.

    Raises:
        BusyError: someone else is at it.
        RightsError: the schema is not this role's own.
    """
    connection = database.connect(patient=True)
    with translated(database.location), closing(connection), connection.cursor() as cursor:
        # To wait for those who are at work is part of it, and nobody waits for it.
        patient = {"lock_timeout": "0", "statement_timeout": "0"}
        cursor.execute(set_values(patient, local=False))
        connection.patience = PATIENCE
        # Not to wait for it: who waits has a snapshot, and the index waits for all of these to end.
        row = cursor.execute("SELECT pg_try_advisory_lock(%s)", [migration_lock(f"{database.schema} words")])
        if row.fetchone() != (True,):
            raise BusyError(f"{database.location}: another `init` makes or drops the index of words just now")
        present = _present(cursor)
        if present is wanted or (present is None and not wanted):
            return False
        if present is not None:
            cursor.execute(f"DROP INDEX CONCURRENTLY dedup.{INDEX}".encode())
        if wanted:
            cursor.execute(f"CREATE INDEX CONCURRENTLY {INDEX} ON dedup.article USING gin ({WORDS})".encode())
        return True


def _present(cursor: Cursor) -> bool | None:
    """Whether the index is complete; None where there is none."""
    row = cursor.execute(_sql("index_of_words"), {"index": INDEX}).fetchone()
    return bool(row[0]) if row else None
