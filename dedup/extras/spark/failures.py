"""Turn errors of Spark into errors of this package, without Java stack, query plan or texts of articles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dedup.base.errors import DedupError, InputError

# If an executor raises an error of this package, Spark quotes its class and message in a Spark error.
_OURS = re.compile(r"dedup\.(?:base\.)?errors\.(\w+): (.+)")


def kinds() -> tuple[type[Exception], ...]:
    """Return the exception classes of Spark and of py4j, its bridge to Java, for use after `except`."""
    from pyspark.errors import PySparkException

    found: tuple[type[Exception], ...] = (PySparkException,)
    try:
        from py4j.protocol import Py4JError
    except ImportError:  # a client of Spark Connect has no py4j
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
    """Return the error of this package that an executor raised; None if it raised another error."""
    found = _OURS.search(str(error))
    return InputError(found[2].strip()) if found else None


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of Spark into a DedupError, which names the error. Spark's log has the details."""
    try:
        yield
    except kinds() as error:
        raise ours(error) or DedupError(
            f"{what}: Spark failed ({named(error)}); Spark's log says more. Finished steps are kept in the"
            " work folder: run the command again to continue"
        ) from error
