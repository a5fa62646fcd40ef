"""Loops over many small cases in one test, since pytest takes longer to report a case than to run it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

Test = Callable[..., None]


def each(name: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for every case, instead of `parametrize`, and report all failed cases.

    The cases share the fixtures.
    """
    found = list(cases)
    names = (name,) if isinstance(name, str) else name
    assert found, f"no cases for {name}"

    def decorate(test: Test) -> Test:
        @wraps(test)
        def loop(**fixtures: Any) -> None:
            failures = []
            for case in found:
                values = (case,) if isinstance(name, str) else case
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except Exception as error:
                    error.add_note(f"{name} = {case!r}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(found)} cases", failures)

        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name not in names]
        loop.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return loop

    return decorate
