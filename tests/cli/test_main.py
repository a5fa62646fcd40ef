"""The frame of the command line, without a database: help, version, typos."""

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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bakfill"], "No such command 'bakfill'. Did you mean backfill? See `dedup --help`"),
        (["marts"], "No such command 'marts'. Did you mean marks or matches? See `dedup --help`"),
        (["judge", "scor"], "No such command 'scor'. Did you mean score? See `dedup judge --help`"),
        (["frobnicate"], "No such command 'frobnicate'; see `dedup --help`"),
        (
            ["marks", "--fromat", "csv"],
            "No such option: --fromat. Did you mean --format? See `dedup marks --help`",
        ),
        (["marks", "--zzz"], "No such option: --zzz; see `dedup marks --help`"),
        (
            ["marks", "--format", "xml"],
            "Invalid value for '--format' / '-f': 'xml' is not one of 'jsonl', 'csv', 'table';"
            " see `dedup marks --help`",
        ),
        (["show"], "Missing argument 'source_id'; see `dedup show --help`"),
        (
            ["x'. Did you mean 'y'?"],
            "No such command \"x'. Did you mean 'y'?\"; see `dedup --help`",
        ),
    ],
    ids=lambda value: " ".join(value)[:20] if isinstance(value, list) else "",
)
def test_a_typo_gets_one_line_with_what_may_have_been_meant(
    run: Run, arguments: list[str], line: str
) -> None:
    assert run(*arguments) == Result(2, "", f"dedup: {line}\n")
