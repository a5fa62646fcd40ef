"""Makes and drops the full-text index of the words of articles.

Words are without accents, and `ß` is `ss`: "Munchen" and "strasse" find "München" and "Straße". Articles of
attached tables are indexed by their titles only, since the corpus does not store the texts of these tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, timedelta
from functools import cache
from threading import Event, Thread

from dedup.base.errors import BusyError, DedupError, InputError
from dedup.base.folding import ACCENTS, LETTERS, folded
from dedup.base.progress import Progress
from dedup.base.schema import migration_lock, program
from dedup.db.connection import set_values
from dedup.db.database import Cursor, Database, translate_errors
from dedup.db.rendering import schema_of
from dedup.db.statements import Statements

_sql = Statements("store/word_index")

INDEX = "article_folded_words"

FORMER = "article_words"  # Name of the index of older versions of dedup; `change_index` drops it

# Maximum numbers of indexed characters of a title and of a text: a tsvector may have at most 1 MB.
TITLE_CHARACTERS, TEXT_CHARACTERS = 1_000, 50_000

OUTLET_CHARACTERS = 100  # Maximum length of an outlet's name in the index; a search also compares whole names
BLOCK_DAYS = 32  # Number of days in a block; the index tells each article's block, to search newest first
PATIENCE = 7 * 86_400.0  # Maximum seconds to build the index; 1,000,000 articles take minutes


def _fold_in_sql() -> str:
    single = {letter: plain for letter, plain in LETTERS.items() if len(plain) == 1}
    bare = f"regexp_replace(normalize({{0}}, NFKD), '[{ACCENTS}]+', '', 'g')"
    for letter, plain in LETTERS.items():
        if letter not in single:
            bare = f"replace({bare}, '{letter}', '{plain}')"
    bare = f"translate({bare}, '{''.join(single)}', '{''.join(single.values())}')"
    # Most English texts are pure ASCII, without accents. This quick test skips the work for such texts.
    return f"CASE WHEN octet_length({{0}}) = length({{0}}) THEN {{0}} ELSE normalize({bare}, NFKC) END"


# The extension unaccent is not used: its function is not immutable, and some servers do not have it.
FOLDED = _fold_in_sql()
"""SQL for the expression `{0}` without accents."""

GIVEN = FOLDED.format("%(words)s::text")
"""SQL for the parameter `words` of a search, without accents."""


@cache
def _spellings() -> dict[str, str]:
    """Map plain letters ("o", "ss") to the accented or special letters that fold to them ("öø", "ß")."""
    found: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000)):
        plain = folded(chr(code)).lower()
        if plain != chr(code) and plain.isalpha() and len(plain) <= 2:
            found[plain] = found.get(plain, "") + chr(code)
    return found


def pattern_of(words: str) -> re.Pattern[str]:
    """Return a pattern that finds any of these words in a text, ignoring case and accents."""
    spellings = _spellings()

    def letter(plain: str) -> str:
        return f"[{re.escape(plain)}{spellings.get(plain, '')}][{ACCENTS}]*"

    def spelt(word: str) -> str:
        parts, at = [], 0
        while at < len(word):
            pair = word[at : at + 2]
            if len(pair) == 2 and pair in spellings:
                parts.append(f"(?:[{spellings[pair]}][{ACCENTS}]*|{letter(pair[0])}{letter(pair[1])})")
            else:
                parts.append(letter(word[at]))
                pair = word[at]
            at += len(pair)
        return "".join(parts)

    found = "|".join(map(spelt, re.findall(r"\w+", folded(words).lower())))
    return re.compile(rf"(?<!\w)(?:{found})(?!\w)", re.IGNORECASE)


# Seconds between two queries for the progress of the index build. Each query is a short transaction, because
# the build waits for every open snapshot.
ASK_SECONDS = 0.5

_ZERO = date(2000, 1, 1)
_DAY = "((coalesce(published_at, added_at) AT TIME ZONE 'UTC')::date - date '2000-01-01')"

_READ = (
    f"(left(coalesce(title, ''), {TITLE_CHARACTERS}) || ' ' || left(coalesce(text, ''), {TEXT_CHARACTERS}))"
)

# 'simple' keeps every word without stemming, because a corpus has many languages and names. Markers of day,
# block and outlet let a search find the newest articles with a frequent word, without reading all articles.
WORDS = f"""(
    to_tsvector('simple'::regconfig, {FOLDED.format(_READ)})
    || array_to_tsvector(ARRAY['@d' || {_DAY}::text, '@b' || ({_DAY} / {BLOCK_DAYS})::text,
                               '@o' || left(coalesce(publication, ''), {OUTLET_CHARACTERS})]))"""
"""SQL expression that is indexed. Markers begin with @; no word begins with @."""


def mark(of: date | int | str) -> str:
    """Return the index marker of a day, of a block (given by its number), or of an outlet."""
    match of:
        case date():
            return f"@d{(of - _ZERO).days}"
        case int():
            return f"@b{of}"
        case _:
            return f"@o{of[:OUTLET_CHARACTERS]}"


def block(day: date) -> int:
    """Return the number of a day's block as SQL computes it: block 0 also has the 31 days before 2000."""
    number = (day - _ZERO).days
    return abs(number) // BLOCK_DAYS * (-1 if number < 0 else 1)


def block_start(number: int) -> datetime:
    first = number * BLOCK_DAYS if number > 0 else (number - 1) * BLOCK_DAYS + 1
    start = _ZERO + timedelta(days=max(first, (date.min - _ZERO).days))
    return datetime(start.year, start.month, start.day, tzinfo=UTC)


@contextmanager
def _unlocked(cursor: Cursor) -> Iterator[None]:
    yield
    # Unlock now: at the end of a session the server keeps a lock for a moment, and the next call would fail.
    cursor.execute("SELECT pg_advisory_unlock_all()")


def change_index(database: Database, *, wanted: bool, progress: Progress | None = None) -> bool:
    """Make or drop the index; see `Operation.make_searchable`. An incomplete index is rebuilt."""
    connection = database.connect(patient=True)
    with (
        translate_errors(database.location),
        closing(connection),
        connection.cursor() as cursor,
        _unlocked(cursor),
    ):
        # Timeouts are off: the build must wait for running transactions, and nobody waits for the build.
        patient = {"lock_timeout": "0", "statement_timeout": "0"}
        cursor.execute(set_values(patient, local=False))
        connection.patience = PATIENCE
        # Do not wait for the lock: a waiting session has a snapshot, for which the index build would wait.
        row = cursor.execute("SELECT pg_try_advisory_lock(%s)", [migration_lock(f"{database.schema} words")])
        if row.fetchone() != (True,):
            words = f"another `init` is making or dropping the index of words{connection.lock_hint}"
            raise BusyError(f"{database.location}: {words}")
        present = index_is_complete(cursor)
        if present is wanted or (present is None and not wanted):
            return False
        # A build that was interrupted leaves an invalid index of this name.
        for name in (INDEX, FORMER):
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS dedup.{name}".encode())
        if wanted:
            making: AbstractContextManager[None] = nullcontext()
            if progress is not None:
                making = _reporting(database, connection.info.backend_pid, progress)
            with making:
                cursor.execute(
                    f"CREATE INDEX CONCURRENTLY {INDEX} ON dedup.article USING gin ({WORDS})".encode()
                )
        return True


def index_is_complete(cursor: Cursor) -> bool | None:
    """Return whether the index is complete; None without an index."""
    row = cursor.execute(_sql("index_of_words"), {"index": INDEX}).fetchone()
    return bool(row[0]) if row else None


def require_index(cursor: Cursor) -> None:
    """Raise InputError if there is no complete index."""
    if not index_is_complete(cursor):
        command = f"{program(schema_of(cursor))} init --search"
        raise InputError(f"words cannot be searched yet: run `{command}` to make the index")


@contextmanager
def _reporting(database: Database, process_id: int, progress: Progress) -> Iterator[None]:
    """Report progress while the `with` block makes an index; report nothing if no connection is free."""
    over = Event()
    thread = Thread(target=_watch, args=(database, process_id, progress, over), name="index", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(database: Database, process_id: int, progress: Progress, over: Event) -> None:
    stage, before = "", 0
    with (
        # Without a free connection the index is built without a report.
        suppress(DedupError),
        translate_errors(database.location),
        closing(database.connect()) as connection,
        connection.cursor() as cursor,
    ):
        while not over.wait(ASK_SECONDS):
            row = cursor.execute(_sql("index_making"), {"process_id": process_id}).fetchone()
            if row is None:
                continue
            phase, done, total = row
            if phase != stage:
                progress.start(phase, total)
                stage, before = phase, 0
            progress.advance(max(0, done - before), total)
            before = max(before, done)
