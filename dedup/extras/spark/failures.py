"""Errors of Spark as errors of this package, without Java stack, query plan, or content of articles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dedup.base.errors import DedupError, InputError

# If an executor raises an error of this package, Spark shows it only within the message of Spark's own error.
_OURS = re.compile(r"dedup\.(?:base\.)?errors\.(\w+): (.+)")


def kinds() -> tuple[type[Exception], ...]:
    """Return the exception classes of Spark and of its bridge to Java, for use after `except`."""
    from pyspark.errors import PySparkException

    found: tuple[type[Exception], ...] = (PySparkException,)
    try:
        from py4j.protocol import Py4JError
    except ImportError:  # a client of Spark Connect has no Java
        return found
    return (*found, Py4JError)


def named(error: Exception) -> str:
    """Return only the name of a Spark error, such as `PATH_NOT_FOUND`, because its message may quote data."""
    condition = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    name = condition() if condition else None
    if name:
        return str(name)
    java = getattr(error, "java_exception", None)
    return java.getClass().getSimpleName() if java is not None else type(error).__name__


def ours(error: Exception) -> DedupError | None:
    """Return the error of this package that made a task of Spark fail, or None."""
    found = _OURS.search(str(error))
    return InputError(found[2].strip()) if found else None


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn errors of Spark into a DedupError that names the Spark error; the details are in Spark's log."""
    try:
        yield
    except kinds() as error:
        raise ours(error) or DedupError(
            f"{what}: Spark failed ({named(error)}); Spark's log says more. Finished steps are kept in the"
            " work folder: run the command again to continue"
        ) from error
