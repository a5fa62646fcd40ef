"""Work on a database as plain data, so that one copy of it serves blocking programs and asyncio.

Steps are a generator: it yields a statement with its parameters, is sent the rows of the answer, and returns
its result. It does no input or output of its own. `run` takes the steps on a connection of a thread,
`run_async` on one of asyncio.

    def known(name: str) -> Steps[bool]:
        rows = yield Ask(_sql("find"), {"source_id": name})
        return bool(rows)

    run(cursor, known("a1"))
    await run_async(cursor, known("a1"))
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import psycopg

_Value = TypeVar("_Value")

Row = tuple[Any, ...]


class Ask(NamedTuple):
    """A statement to be executed, with its parameters."""

    statement: bytes
    parameters: Sequence[Any] | Mapping[str, Any]


Steps = Generator[Ask, list[Row], _Value]
"""What yields statements, is sent their rows, and returns a value."""


def run(cursor: psycopg.Cursor[Any], steps: Steps[_Value]) -> _Value:
    """Take steps one after the other on a connection that blocks."""
    try:
        asked = next(steps)
        while True:
            cursor.execute(*asked)
            asked = steps.send(cursor.fetchall() if cursor.description else [])
    except StopIteration as end:
        result: _Value = end.value
        return result


async def run_async(cursor: psycopg.AsyncCursor[Any], steps: Steps[_Value]) -> _Value:
    """Take steps one after the other; the event loop does other work while the database does ours."""
    try:
        asked = next(steps)
        while True:
            await cursor.execute(*asked)
            asked = steps.send(await cursor.fetchall() if cursor.description else [])
    except StopIteration as end:
        result: _Value = end.value
        return result
