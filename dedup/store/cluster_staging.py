"""The result of a cluster in temporary tables of one session, before any of it is believed.

    import_mark, import_match, import_common     as the folder has them
    import_article, import_fingerprint           its fingerprints, by their places in the folder

They go with the session, whatever ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.files.exchange import COMMON_SENTENCE, MARK, MATCH, Column, Table
from dedup.store.copy_rows import COLUMNS, copy_data, copy_rows
from dedup.text.fingerprints import Fingerprints

Row = Sequence[object]

_sql = Statements("store/cluster")

ARTICLE: Table = {
    "place": Column("long"),
    "source_id": Column("string"),
    "published_at": Column("long", nullable=True),
    "added_at": Column("long"),
    "reason": Column("string", nullable=True),
}
"""Of a row of the table `fingerprint` what is no fingerprint; and its digest, besides."""

STAGED: dict[str, Table] = {"import_mark": MARK, "import_match": MATCH, "import_common": COMMON_SENTENCE}


def create(cursor: Cursor) -> None:
    for name in ("stage_marks", "stage_pairs", "stage_common", "stage_articles", "stage_fingerprints"):
        cursor.execute(_sql(name))


def add(cursor: Cursor, name: str, rows: Iterable[Row]) -> None:
    columns = STAGED[name]
    _copy(cursor, name, list(columns), [_COPIED[column.kind] for column in columns.values()], rows)


def add_articles(cursor: Cursor, rows: Iterable[Row], first: int, made: Fingerprints) -> None:
    """Add rows of the table `fingerprint`. `rows`: source_id, published_at, added_at, reason, text_digest.
    `first`: the place of the first of them. `made`: their fingerprints.
    """
    columns = [*ARTICLE, "text_digest"]
    kinds = [*(_COPIED[column.kind] for column in ARTICLE.values()), "bytea"]
    placed = ((place, *row) for place, row in enumerate(rows, first))
    _copy(cursor, "import_article", columns, kinds, placed)
    places = bigints(range(first, first + len(made)))
    into = f"COPY pg_temp.import_fingerprint ({COLUMNS}) FROM STDIN (FORMAT BINARY)"
    with cursor.copy(into.encode()) as copy:
        copy.write(copy_data(copy_rows(places, 0 * places, made)))


_COPIED = {"string": "text", "long": "int8", "double": "float8", "boolean": "bool"}


def _copy(cursor: Cursor, name: str, columns: list[str], kinds: list[str], rows: Iterable[Row]) -> None:
    into = f"COPY pg_temp.{name} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with cursor.copy(into.encode()) as copy:
        copy.set_types(kinds)
        for row in rows:
            copy.write_row(row)


def finish(cursor: Cursor) -> None:
    cursor.execute(_sql("analyze_staged"))
