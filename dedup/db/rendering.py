"""Renders statements for the schema of a corpus: `dedup.article` becomes `wires.article`.

All statements are written for the schema `dedup`; cursors of a corpus in another schema render them. Values,
quoted names and the SQL of users (`Verbatim`) are never rendered.
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

RENDERED = 1_000  # Maximum number of rendered statements in the cache; the program has fewer
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


class Verbatim(sql.SQL):
    """SQL of a user or of the server, sent unchanged."""


class Named(sql.Composable):
    """Part of a statement. A function makes the part from the name of the schema."""

    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        made: sql.Composable = self._obj(schema_of(context))
        return made.as_bytes(context)


SCHEMA = Named(sql.Identifier)


def own(name: str) -> Named:
    """Name an object in the schema: `dedup.article`."""
    return Named(lambda schema: sql.Identifier(schema, name))


def prefixed(name: str) -> Named:
    """Name an object that is not in the schema. The schema's name is the prefix: `dedup_1_insert`."""
    return Named(lambda schema: sql.Identifier(f"{schema}_{name}"))


def schema_of(context: AdaptContext | None) -> str:
    schema: str = getattr(context.connection, "schema", DEFAULT) if context else DEFAULT
    return schema


def render(query: Any, schema: str) -> Any:
    """Return a statement (any type that psycopg takes) with the schema's name in place of `dedup`."""
    if schema == DEFAULT:
        return query
    if isinstance(query, sql.Composed):
        return sql.Composed([render(part, schema) for part in query])
    if type(query) is sql.SQL:
        return Verbatim(render_text(query.as_string(), schema))
    if isinstance(query, sql.Composable):
        return query
    return _render(query.encode() if isinstance(query, str) else bytes(query), schema)


def render_text(text: str, schema: str) -> str:
    return text if schema == DEFAULT else _render(text.encode(), schema).decode()


def write_out(query: sql.Composable, context: AdaptContext) -> str:
    """Return the text of a statement for a person to run, with a semicolon."""
    made: sql.Composable = render(query, schema_of(context))
    return f"{made.as_string(context)};"


@lru_cache(maxsize=RENDERED)
def _render(query: bytes, schema: str) -> bytes:
    name, outside = schema.encode(), outer(schema).encode()
    said = {"parameter": outside + b".", "prefix": name + b".", "channel": outside}
    return _PLACES.sub(lambda found: said.get(found.lastgroup or "", name), query)


class SchemaCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, *given: Any, **options: Any) -> Self:
        return super().execute(render(query, schema_of(self)), *given, **options)

    def executemany(self, query: Any, *given: Any, **options: Any) -> None:
        super().executemany(render(query, schema_of(self)), *given, **options)

    def stream(self, query: Any, *given: Any, **options: Any) -> Iterator[Any]:
        return super().stream(render(query, schema_of(self)), *given, **options)

    def copy(self, statement: Any, *given: Any, **options: Any) -> Any:
        return super().copy(render(statement, schema_of(self)), *given, **options)
