"""Every command has a help, docs/commands.md contains it, and pages name existing commands and options."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import typer

from dedup.base import plugins
from dedup.base.timeouts import Timeouts
from dedup.cli import main, start
from dedup.cli.load import load
from dedup.cli.main import program
from dedup.files.naming import DEFAULT_FIELDS
from tests.loops import each
from tests.scripts import script

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
)

SCRIPT: Any = script("command_pages.py")
PROGRAM = dict(SCRIPT.commands(typer.main.get_command(program())))
COMMANDS = {name.removeprefix("dedup "): command for name, command in PROGRAM.items() if name != "dedup"}
HELP = set(SCRIPT.help_names())
ANYWHERE = {name for command in PROGRAM.values() for o in SCRIPT.options(command) for name in SCRIPT.names(o)}


def named(command: Any) -> set[str]:
    """Return the names of all options of a command."""
    return {name for option in SCRIPT.options(command) for name in SCRIPT.names(option)} | HELP


@each("name", COMMANDS)
def test_every_command_and_option_explains_itself(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert len(command.help) > 20
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


def shown(command: Any) -> list[str]:
    """Return the lines of code in a help text, without indentation."""
    return [line[4:] for line in inspect.cleandoc(command.help).splitlines() if line.startswith("    ")]


@pytest.mark.long("dedup", "migrations")
@each("name", [name for name, command in PROGRAM.items() if shown(command)])
def test_every_example_has_a_line_of_its_own_in_the_help(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main.run([*name.split()[1:], "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [code for code in shown(PROGRAM[name]) if code.strip() not in lines] == []


def test_the_help_of_load_names_fields_as_files_may() -> None:
    told = dict(re.findall(r"^ *- \*\*(\w+)\*\*:? ?(.*)$", inspect.getdoc(load) or "", re.MULTILINE))
    assert list(told) == list(DEFAULT_FIELDS)
    for field, names in told.items():
        assert set(filter(None, names.split(", "))) <= set(DEFAULT_FIELDS[field])


# The page of all commands


@cache
def page() -> str:
    path: Path = SCRIPT.PAGE
    return path.read_text("utf-8")


def section(path: str) -> str:
    """Return the section of a command in the page, without its subcommands."""
    found = re.search(rf"^##+ {path}\n(.*?)(?=^##|\Z)", page(), re.MULTILINE | re.DOTALL)
    assert found, f"no section {path}"
    return found[1]


@pytest.mark.extra("browse", "coverage", "frames", "judging", "lab", "serve", "spark", "watch")
def test_the_page_of_commands_is_what_the_help_tells() -> None:
    if page() != SCRIPT.page():
        pytest.fail(f"docs/commands.md is not what the help tells; make it again: {SCRIPT.REMAKE}")


@pytest.mark.extra("browse", "frames", "judging", "lab", "serve", "spark", "watch")
def test_the_list_of_commands_is_what_the_help_tells() -> None:
    if start.LISTING.read_text("utf-8") != SCRIPT.listing():
        pytest.fail(f"dedup/cli/help.txt is not what the help tells; make it again: {SCRIPT.REMAKE}")
    assert start._is_listed()


@pytest.mark.extra("browse", "frames", "judging", "lab", "serve", "spark", "watch")
@pytest.mark.parametrize("argument", ["-h", "--help"])
def test_the_list_of_commands_is_shown_as_it_is(
    argument: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["dedup", argument])
    monkeypatch.setattr(main, "main", lambda: pytest.fail("all commands were made"))
    start.main()
    assert capsys.readouterr().out == start.LISTING.read_text("utf-8")


def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


def _without_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "declared", lambda _: {})


def _with_a_foreign_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = EntryPoint("watch", "other:watch", "dedup.commands")
    points = {**plugins.declared("commands"), "watch": foreign}
    monkeypatch.setattr(plugins, "declared", lambda _: points)


@pytest.mark.parametrize("change", [_narrow, _without_plug_ins, _with_a_foreign_plug_in])
def test_the_list_of_commands_is_made_where_the_file_does_not_fit(
    change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch)
    assert not start._is_listed()


def test_the_page_is_the_same_whatever_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SCRIPT.page()
    for name, value in {"COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    assert SCRIPT.page() == made
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u2500-\u257f]", made)


@each("name", PROGRAM)
def test_the_page_has_every_command_with_its_help_arguments_and_options(name: str) -> None:
    told, command = section(name), PROGRAM[name]
    assert inspect.cleandoc(command.help) in told
    for option in SCRIPT.options(command):
        rows = [line for line in told.splitlines() if line.startswith("| `-")]
        assert any(
            set(SCRIPT.names(option)) == set(re.findall(r"`(-[^`]*)`", r.split(" | ")[0])) for r in rows
        )
    for parameter in command.params:
        words = " ".join(parameter.help.split()).replace("|", "\\|")
        assert words in told
        if parameter.default not in (None, False):
            assert f"`{parameter.default}`" in told
    assert f"](#{name.replace(' ', '-')})" in page()


def test_the_page_has_the_options_of_every_command() -> None:
    assert {"--debug", "--version", "--help", "-h"} <= set(re.findall(r"`(-[^`]+)`", section("dedup")))


@pytest.mark.extra("browse", "coverage", "frames", "judging", "lab", "serve", "spark", "watch")
def test_the_page_has_every_variable_that_the_code_reads() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "dedup").rglob("*.py"))
    read = set(re.findall(r"environ(?:\.get\(|\[)[\"'](\w+)[\"']", sources))
    read |= set(re.findall(r"^(?:[A-Z]+_)?VARIABLE = \"(DEDUP_\w+)\"", sources, re.MULTILINE))
    assert {"DEDUP_DATABASE_URL", "DEDUP_HOME", "USER"} <= read
    read |= {f"DEDUP_TIMEOUT_{name.upper()}" for name in Timeouts.__dataclass_fields__}
    told = set(re.findall(r"`([A-Z_]+)`", section("Variables of the environment")))
    assert read - told == set()
    assert {name for name in told if name.startswith("DEDUP")} - read == set()


def test_the_page_has_every_exit_code() -> None:
    codes = re.findall(r"^\| (\d+) \|", section("Exit codes"), re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "130", "143", "129"]


# Commands that the pages tell the user to type

CODE = re.compile(r"^```.*?^```|^ {4}[^\n]+$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"(?:^\s*(?:\$ )?|[`(;]|[|&:] |=\S+ )dedup((?: +[^\s;&)\"`#]+)*)")
"""The name dedup where a shell expects a command; pages also use the name in drawings and in sentences."""
HASHED = {"dedup multiplier", "dedup increment"}
"""Texts that docs/semantics.md uses as the input of hashes; they are no commands."""
OPTION = re.compile(r"--?[A-Za-z][\w-]*")


def mistakes(text: str) -> list[str]:
    """Return the commands and options that the code of a page uses but the program does not have."""
    found: list[str] = []
    for code in CODE.findall(text):
        inline = code.strip("`")
        bare = OPTION.match(inline) if not code.startswith("```") else None
        if bare and bare[0].startswith("--"):
            found += [] if bare[0] in ANYWHERE | HELP else [inline]
        elif code[0] == "`" and inline.split(" ")[0] in COMMANDS and " " in inline:
            found += wrong(inline.split())
        for line in code.splitlines():
            for call in CALL.findall(line):  # commas separate the commands of a list
                found += wrong(call.partition(", ")[0].split())
    return [said for said in found if said not in HASHED]


def wrong(words: list[str]) -> list[str]:
    """Return the unknown words after `dedup`, up to a pipe or a redirection."""
    command, path, allowed, unknown = PROGRAM["dedup"], "dedup", named(PROGRAM["dedup"]), []
    given = iter(words)
    for word in given:
        if word in ("--database", "--schema"):
            next(given, None)  # skip the option's value, which is no command
        if word in ("|", "<", ">", "\\|"):
            break
        option = OPTION.match(word.lstrip("["))
        if option and option[0] not in allowed:
            unknown.append(f"{path} {option[0]}")
        below = getattr(command, "commands", {})
        if option or not below:
            continue
        first, *others = re.split(r"\\?\|", word)
        unknown += [f"{path} {name}" for name in others if name not in below]
        if first in below:
            command, path = below[first], f"{path} {first}"
            allowed = named(command) | {f"--{name}" for name in main.ANYWHERE}
        elif re.fullmatch(r"[a-z][a-z-]*", first):
            unknown.append(f"{path} {first}")
            break
    return unknown


@pytest.mark.extra("browse", "coverage", "frames", "judging", "lab", "serve", "spark", "watch")
@each("name", PAGES)
def test_every_command_and_option_that_a_page_tells_to_type_exists(name: str) -> None:
    assert mistakes((ROOT / name).read_text("utf-8")) == []


@pytest.mark.extra("browse", "coverage", "frames", "judging", "lab", "serve", "spark", "watch")
def test_the_check_of_the_pages_sees_what_is_not_there() -> None:
    good = (
        "    dedup load x.csv --map a=b -m c=d   # --no such\n`dedup judge pairs`, `db url\\|start`\n"
        '`psql "$(dedup db url)" -c x`, `load --html x`, `init -h`, `--raw`, `echo | dedup check --dry-run`\n'
        "```\ndedup --debug lab compare x --truth y | jq --nothing\n```\n`verify [--sample N]`, `dedup`"
    )
    assert mistakes(good) == []
    bad: dict[str, str] = {
        "    dedup load --mapp a=b": "dedup load --mapp",
        "`dedup judge --truth`": "dedup judge --truth",
        "`dedup lab score`": "dedup lab score",
        "```\n$ dedup laod x\n```": "dedup laod",
        "    dedup marks   # or: dedup stories --raw": "dedup stories --raw",
        "`--such`": "--such",
        "`verify [--repare]`": "dedup verify --repare",
        "`db url\\|begin`": "dedup db begin",
        "`echo | dedup check -z`": "dedup check -z",
    }
    for text, said in bad.items():
        assert mistakes(text) == [said]
