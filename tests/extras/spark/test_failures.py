"""Errors of dedup that executors raise are found in the message of Spark's error. Needs no Spark."""

from __future__ import annotations

import traceback

import pytest

from dedup.base import errors
from dedup.extras.spark.failures import ours

SAYS = "an executor has another version: install the same version of dedup on both"


def test_an_error_of_an_executor_is_found_in_the_message_of_spark() -> None:
    """The message contains the traceback of the error, so the test fails if the class moves to another
    module."""
    try:
        raise errors.InputError(SAYS)
    except errors.InputError:
        shown = traceback.format_exc()
    found = ours(RuntimeError(f"Job aborted due to stage failure: PythonException: {shown}\n\tat org.apache"))
    assert isinstance(found, errors.InputError)
    assert str(found) == SAYS


@pytest.mark.parametrize("module", ["dedup.errors", "dedup.base.errors"])
def test_both_names_of_the_module_are_recognised(module: str) -> None:
    assert str(ours(RuntimeError(f"Traceback:\n{module}.InputError: {SAYS}\n"))) == SAYS


def test_other_errors_are_none_of_ours() -> None:
    assert ours(RuntimeError("Traceback:\nValueError: dedup.base.settings is missing\n")) is None
