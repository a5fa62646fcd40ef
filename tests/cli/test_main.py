"""The command line without a database: help, version, completion by Tab, and typing errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import dedup
from dedup.cli import completion, main
from dedup.db.database import URL_VARIABLE
from tests.cli.conftest import Result


@pytest.fixture(autouse=True)
def _no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL_VARIABLE, "postgresql://127.0.0.1:1/absent")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Return a function that runs a command without a database."""

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


COMMANDS = list(paths(typer.main.get_command(main.program())))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_takes_h_for_help(run: Run, path: tuple[str, ...]) -> None:
    short, long = run(*path, "-h"), run(*path, "--help")
    assert short == long
    assert short.code == 0
    assert "Usage: " + " ".join(("dedup", *path)) in short.out


def test_the_help_names_the_exit_codes(run: Run) -> None:
    shown = " ".join(run("--help").out.split())
    assert "0 done, 1 failed, 2 wrong usage, 3 a check found differences" in shown
    assert "130, 143 or 129: stopped by Ctrl-C, SIGTERM or SIGHUP" in shown


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version") == Result(0, f"dedup {dedup.__version__}\n", "")
    assert dedup.__version__ == "0.1.0"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bakfill"], "No such command 'bakfill'. Did you mean backfill? See `dedup --help`"),
        (["marts"], "No such command 'marts'. Did you mean marks or matches? See `dedup --help`"),
        pytest.param(
            ["judge", "scor"],
            "No such command 'scor'. Did you mean score? See `dedup judge --help`",
            marks=pytest.mark.extra("judging"),
        ),
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
        (["show"], "Missing argument 'SOURCE_ID'; see `dedup show --help`"),
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


SHELLS = {
    "bash": lambda words: {"COMP_WORDS": words, "COMP_CWORD": str(len(f"{words}_".split()) - 1)},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": words},
    "fish": lambda words: {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("dedup ma", {"marks", "matches"}),
        pytest.param("dedup judge r", {"review"}, marks=pytest.mark.extra("judging")),
        ("dedup marks --for", {"--format"}),
        ("dedup marks --format ", {"jsonl", "csv", "table"}),
        ("dedup completion ", {"bash", "zsh", "fish"}),
        ("dedup load ne", set()),  # the shell completes names of files instead
        ("dedup load news.jsonl mo", set()),
        ("dedup marks -o fi", set()),
        ("dedup judge review --import fi", set()),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_tab_offers_what_can_follow(
    run: Run, monkeypatch: pytest.MonkeyPatch, shell: str, words: str, offered: set[str]
) -> None:
    monkeypatch.setenv(completion.VARIABLE, f"complete_{shell}")
    for name, value in SHELLS[shell](words).items():
        monkeypatch.setenv(name, value)
    answer = run()
    assert (answer.code, answer.err) == (0, "")
    if shell == "zsh":
        assert answer.out.strip() == "_files" if not offered else answer.out.startswith("_arguments ")
        assert all(f'"{word}"' in answer.out for word in offered)
    else:
        assert {line.split("\t")[0] for line in answer.out.splitlines() if line} == offered


@pytest.mark.parametrize(("words", "code"), [("dedup ma", 0), ("dedup load ne", 1)])
def test_fish_is_told_whether_names_of_files_can_follow(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: str, code: int
) -> None:
    monkeypatch.setenv(completion.VARIABLE, "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    assert run().code == code


PRESSES_TAB = """
source <(dedup completion bash)
complete -p dedup
COMP_WORDS=(dedup ma) COMP_CWORD=1
_dedup_completion dedup ma dedup
echo "${COMPREPLY[@]}"
COMP_WORDS=(dedup load ne) COMP_CWORD=2
_dedup_completion dedup ne load
echo "${#COMPREPLY[@]}"
"""


@pytest.mark.long("dedup", "migrations")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "dedup"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dedup.cli.main "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "--norc", "-c", PRESSES_TAB],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    # dedup offers nothing here, so `-o default` lets bash complete names of files.
    assert done.stdout.splitlines() == [
        "complete -o default -F _dedup_completion dedup",
        "marks matches",
        "0",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_asks_the_program(run: Run, shell: str) -> None:
    script = run("completion", shell)
    assert (script.code, script.err) == (0, "")
    assert f"{completion.VARIABLE}=complete_{shell}" in script.out
