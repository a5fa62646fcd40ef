"""The log of programs that run for long: one line an event, harmless to look at, and nobody's text."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest

from dedup.logs import LogFormat, configure

LOG = logging.getLogger("dedup.test")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave the root logger as pytest had it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    yield
    root.handlers = handlers
    root.setLevel(level)


def logged(capsys: pytest.CaptureFixture[str], format: LogFormat, level: int = logging.INFO) -> list[str]:
    configure(format, level)
    LOG.info("settled %d of %s", 5, "a\n\x1b[31mb")
    LOG.debug("details")
    try:
        raise ValueError("words of an article")
    except ValueError:
        LOG.exception("it failed")
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.splitlines()


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = logged(capsys, "text")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ info dedup\.test: settled 5 of a \ufffd\[31mb", first
    )
    assert second.endswith(" error dedup.test: it failed (ValueError)")


def test_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = map(json.loads, logged(capsys, "json"))
    assert {**first, "at": ""} == {
        "at": "",
        "level": "info",
        "logger": "dedup.test",
        "message": "settled 5 of a\n\x1b[31mb",
    }
    assert second["message"] == "it failed (ValueError)"


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(logged(capsys, "text", logging.WARNING)) == 1
    assert len(logged(capsys, "text", logging.DEBUG)) == 3


def test_it_can_be_configured_again(capsys: pytest.CaptureFixture[str]) -> None:
    configure("text")
    assert all(line.startswith("{") for line in logged(capsys, "json"))
