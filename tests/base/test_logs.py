"""The log of long-running programs: one line per event, safe to print, and without texts of articles."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest

from dedup.base.logs import LOGGERS, LogFormat, LogLevel, configure

LOG = logging.getLogger("dedup.test")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Restore the loggers of pytest after a test."""
    yield
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True


def logged(capsys: pytest.CaptureFixture[str], format_: LogFormat, level: LogLevel = "info") -> list[str]:
    configure(format_, level)
    LOG.info("settled %d of %s", 5, "a\n\x1b[31mb", extra={"event": "settled"})
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
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 info dedup\.test: settled 5 of a \ufffd\[31mb", first
    )
    assert second.endswith(" error dedup.test: it failed (ValueError)")


def test_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = map(json.loads, logged(capsys, "json"))
    assert {**first, "time": ""} == {
        "time": "",
        "level": "info",
        "logger": "dedup.test",
        "event": "settled",
        "message": "settled 5 of a\n\x1b[31mb",
    }
    assert second["message"] == "it failed (ValueError)"


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(logged(capsys, "text", "warning")) == 1
    assert len(logged(capsys, "text", "debug")) == 3


def test_it_can_be_configured_again(capsys: pytest.CaptureFixture[str]) -> None:
    configure("text")
    assert all(line.startswith("{") for line in logged(capsys, "json"))
