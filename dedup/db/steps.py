"""Work on a database as plain data, so that one copy of it serves blocking programs and asyncio.

Steps are a generator: it yields a statement with its parameters, is sent the rows of the answer, and returns
its result. It does no input or output of its own. `run` and `run_async` have them answered.

    def known(name: str) -> Steps[bool]:
        rows = yield Ask(_sql("find"), {"source_id": name})
        return bool(rows)

    run(ask, known("a1"))
    await run_async(ask, known("a1"))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

_Value = TypeVar("_Value")

Row = tuple[Any, ...]


class Ask(NamedTuple):
    """A statement to be executed, with its parameters."""

    statement: bytes
    parameters: Sequence[Any] | Mapping[str, Any]


Steps = Generator[Ask, list[Row], _Value]
"""What yields statements, is sent their rows, and returns a value."""


def run(ask: Callable[[Ask], list[Row]], steps: Steps[_Value]) -> _Value:
    """Take steps one after the other. `ask`: executes a statement and returns the rows of its answer."""
    try:
        asked = next(steps)
        while True:
            asked = steps.send(ask(asked))
    except StopIteration as end:
        result: _Value = end.value
        return result


async def run_async(ask: Callable[[Ask], Awaitable[list[Row]]], steps: Steps[_Value]) -> _Value:
    """Take steps one after the other; the event loop does other work while the database does ours."""
    try:
        asked = next(steps)
        while True:
            asked = steps.send(await ask(asked))
    except StopIteration as end:
        result: _Value = end.value
        return result
