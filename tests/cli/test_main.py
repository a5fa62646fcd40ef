"""The frame of the command line, without a database: help and version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

import dedup
from dedup.cli import main
from dedup.corpus.database import URL_VARIABLE
from tests.cli.conftest import Result


@pytest.fixture(autouse=True)
def _no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL_VARIABLE, "postgresql://127.0.0.1:1/absent")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs a command that needs no database."""

    def run(*arguments: str) -> Result:
        capsys.readouterr()
        code = main.run(list(arguments))
        return Result(code, *capsys.readouterr())

    return run


Run = Callable[..., Result]


def paths(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from paths(command, (*path, name))


COMMANDS = list(paths(typer.main.get_command(main.app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_takes_h_for_help(run: Run, path: tuple[str, ...]) -> None:
    short, long = run(*path, "-h"), run(*path, "--help")
    assert short == long
    assert short.code == 0
    assert "Usage: " + " ".join(("dedup", *path)) in short.out


def test_the_help_names_the_exit_codes(run: Run) -> None:
    shown = " ".join(run("--help").out.split())
    assert "0 done, 1 failed, 2 wrong usage, 3 a check found differences" in shown
    assert "130, 143 or 129 stopped by Ctrl-C, SIGTERM or SIGHUP" in shown


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version") == Result(0, f"dedup {dedup.__version__}\n", "")
    assert dedup.__version__ == "0.1.0"
