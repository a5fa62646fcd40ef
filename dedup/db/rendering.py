"""Statements and the schema of the corpus: here, and nowhere else, `dedup.article` becomes `wires.article`.

Statements are written for the schema `dedup`, in Python and in SQL files. The connection of a corpus in
another schema makes cursors that render each of them before it is sent. In the default schema there are no
such cursors, and statements are sent as they are written.

Only what this program wrote is rendered: never values, quoted names, or the SQL of a user (`Verbatim`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.abc import AdaptContext

from dedup.base.schema import DEFAULT, outer

RENDERED = 1_000  # Statements that are kept as they were rendered: more than this program has

_PLACES = re.compile(
    rb"""
      (?<![\w.$"])dedup\.(?=(?:settling|storing|syncing|publishing|writing)\b)  (?P<parameter>) # of a session
    | (?<![\w.$"])dedup\.(?=[a-z_%])                       (?P<prefix>)     # dedup.article, 'dedup.%I'
    | (?<=\bSCHEMA[ ])dedup\b                               (?P<name>)
    | (?<=\bsearch_path[ ]=[ ]pg_catalog,[ ])dedup\b        (?P<path>)
    | (?<=')dedup(?='::regnamespace)                        (?P<catalogue>)
    | (?<=\bNOTIFY[ ])dedup\b                               (?P<channel>)
    """,
    re.VERBOSE,
)
"""Every way in which a statement names the schema."""


class Verbatim(sql.SQL):
    """SQL that a user or the server gave: it is sent as it is."""


class Named(sql.Composable):
    """Part of a statement that depends on the schema; it is given what makes it of the schema's name."""

    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        made: sql.Composable = self._obj(schema_of(context))
        return made.as_bytes(context)


SCHEMA = Named(sql.Identifier)  # The schema itself


def own(name: str) -> Named:
    """Something in the schema: `dedup.article`."""
    return Named(lambda schema: sql.Identifier(schema, name))


def prefixed(name: str) -> Named:
    """A name outside of the schema that must be another one for each corpus: `dedup_1_insert`."""
    return Named(lambda schema: sql.Identifier(f"{schema}_{name}"))


def schema_of(context: AdaptContext | None) -> str:
    """The schema of the corpus that a connection or a cursor is of."""
    schema: str = getattr(context.connection, "schema", DEFAULT) if context else DEFAULT
    return schema


def rendered(query: Any, schema: str) -> Any:
    """A statement for the corpus of a schema; in the default schema it is the statement itself. `query`: what
    psycopg takes.
    """
    if schema == DEFAULT:
        return query
    if isinstance(query, sql.Composed):
        return sql.Composed([rendered(part, schema) for part in query])
    if type(query) is sql.SQL:
        return Verbatim(rendered_text(query.as_string(), schema))
    if isinstance(query, sql.Composable):
        return query
    return _rendered(query.encode() if isinstance(query, str) else bytes(query), schema)


def rendered_text(text: str, schema: str) -> str:
    return text if schema == DEFAULT else _rendered(text.encode(), schema).decode()


def written_out(query: sql.Composable, context: AdaptContext) -> str:
    """A statement as people type it."""
    made: sql.Composable = rendered(query, schema_of(context))
    return f"{made.as_string(context)};"


@lru_cache(maxsize=RENDERED)
def _rendered(query: bytes, schema: str) -> bytes:
    name, outside = schema.encode(), outer(schema).encode()
    said = {"parameter": outside + b".", "prefix": name + b".", "channel": outside}
    return _PLACES.sub(lambda found: said.get(found.lastgroup or "", name), query)


class SchemaCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, *given: Any, **options: Any) -> Self:
        return super().execute(rendered(query, schema_of(self)), *given, **options)

    def executemany(self, query: Any, *given: Any, **options: Any) -> None:
        super().executemany(rendered(query, schema_of(self)), *given, **options)

    def stream(self, query: Any, *given: Any, **options: Any) -> Iterator[Any]:
        return super().stream(rendered(query, schema_of(self)), *given, **options)

    def copy(self, statement: Any, *given: Any, **options: Any) -> Any:
        return super().copy(rendered(statement, schema_of(self)), *given, **options)


def raw(text: str) -> sql.SQL:
    """SQL that is sent as it is: of the server, or what the user gave as SQL."""
    return Verbatim(text)
