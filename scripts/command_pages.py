"""Write docs/commands.md, the page of all commands, and dedup/cli/help.txt, the output of `dedup --help`.

    .venv/bin/python scripts/command_pages.py

Change help texts in the code of the commands, not in these files. The page does not depend on the version of
Python or Typer, nor on the width of a terminal. This script describes exit codes and environment variables;
the numbers come from the code.
"""

from __future__ import annotations

import enum
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from dedup.base import config
from dedup.base.schema import DEFAULT
from dedup.base.timeouts import Timeouts
from dedup.cli.main import FAILED, INTERRUPTED, WRONG_USAGE, app
from dedup.cli.main import program as every_command
from dedup.cli.read import DIFFERENT
from dedup.cli.signals import STOPPING
from dedup.cli.start import LISTING, WIDTH

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"

REMAKE = ".venv/bin/python scripts/command_pages.py"
"""Command that writes the page."""

PROGRAM = "dedup"

_KINDS = {"int": "a whole number", "float": "a number", "Path": "a path", "str": "text"}
"""Words for types of values; used if the help names no type."""


def commands(group: Any, path: str = PROGRAM) -> Iterator[tuple[str, Any]]:
    """Yield the path and the object of the program and of each command; a group comes before its commands."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{path} {name}")


def options(command: Any) -> list[Any]:
    """Return the options of a command, in the order of its help."""
    return [parameter for parameter in command.params if parameter.param_type_name == "option"]


def names(option: Any) -> list[str]:
    """Return the names of an option, the long one first."""
    return sorted([*option.opts, *option.secondary_opts], key=lambda name: not name.startswith("--"))


def help_names() -> list[str]:
    """Return the names of the option that shows the help, the long name first."""
    settings = app.info.context_settings or {}
    return sorted(settings["help_option_names"], key=len, reverse=True)


def page() -> str:
    """Return the text of the whole page in Markdown."""
    program = typer.main.get_command(every_command())
    found = list(commands(program))
    parts = [
        f"# Every command and option\n\n<!-- Made by `{REMAKE}`; change the help texts in dedup/cli/. -->",
        "This page has the help that `dedup COMMAND --help` prints. [semantics.md](semantics.md) explains"
        " words such as *mark*, *story* and *settle*.",
        "\n".join(_contents(found)),
        _section(PROGRAM, program),
        f"## Exit codes\n\n{_exit_codes()}",
        f"## Variables of the environment\n\n{_variables()}",
        *(_section(path, command) for path, command in found[1:]),
    ]
    return "\n\n".join(parts) + "\n"


def listing() -> str:
    """Return the output of `dedup --help`, without colours and without spaces at the ends of lines."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TERMINAL_WIDTH"):
        environment.pop(name, None)
    code = "from dedup.cli.main import main; main(['--help'])"
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.decode().splitlines())


def _contents(found: list[tuple[str, Any]]) -> Iterator[str]:
    yield f"- [{PROGRAM}](#{PROGRAM}): options of all commands"
    yield "- [Exit codes](#exit-codes)"
    yield "- [Variables of the environment](#variables-of-the-environment)"
    for path, command in found[1:]:
        indent = "  " * (path.count(" ") - 1)
        yield f"{indent}- [{path}](#{path.replace(' ', '-')}): {_first_sentence(command)}"


def _first_sentence(command: Any) -> str:
    """Return the first paragraph of a command's help, usually one sentence, for the list of commands."""
    return " ".join(cleandoc(command.help).split("\n\n")[0].split())


def _section(path: str, command: Any) -> str:
    """Return the section of a command: help, usage, arguments and options."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    rows = [_option(option) for option in options(command)]
    if path == PROGRAM:
        rows.append(
            (_code(help_names()), "", "", "Show the help of the program, or of any command, and exit.")
        )
    parts = [
        f"{'#' * max(2, path.count(' ') + 1)} {path}",
        f"```\n{_usage(path, command, arguments)}\n```",
        cleandoc(command.help),
    ]
    if arguments:
        parts.append(_table(("argument", "value", "default", "meaning"), [_argument(a) for a in arguments]))
    if rows:
        parts.append(_table(("option", "value", "default", "meaning"), rows))
    return "\n\n".join(parts)


def _usage(path: str, command: Any, arguments: list[Any]) -> str:
    words = [path, "[OPTIONS]"] if command.params or path == PROGRAM else [path]
    for argument in arguments:
        word = argument.display_name_raw if argument.required else f"[{argument.display_name_raw}]"
        words.append(f"{word}..." if argument.nargs != 1 else word)
    if hasattr(command, "commands"):
        words.append("[COMMAND]" if command.invoke_without_command else "COMMAND")
    return " ".join(words)


def _argument(argument: Any) -> tuple[str, str, str, str]:
    kind = _kind(argument)
    many = "one or more" if argument.required else "any number"
    value = ", ".join(word for word in (kind, many if argument.nargs != 1 else "") if word)
    default = "required" if argument.required else _default(argument)
    return _code([argument.display_name_raw]), value, default, argument.help


def _option(option: Any) -> tuple[str, str, str, str]:
    value = "" if option.is_flag else _code([option.metavar]) if option.metavar else _kind(option)
    hidden = " Not in the help." if option.hidden else ""
    return _code(names(option)), value, _default(option), f"{option.help}{hidden}"


def _choices(parameter: Any) -> list[str]:
    kind = parameter.type_descriptor.annotation
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    return [item.value for item in kind] if isinstance(kind, type) and issubclass(kind, enum.Enum) else []


def _kind(parameter: Any) -> str:
    """Describe the possible values of a parameter."""
    if choices := _choices(parameter):
        return _code(choices)
    kind = parameter.type_descriptor.annotation
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    word, low, high = _KINDS[kind.__name__], parameter.min, parameter.max
    if low is None and high is None:
        return word
    if high is None:
        return f"{word}, {low:,} or more"
    return f"{word}, {low:,} to {high:,}"


def _default(parameter: Any) -> str:
    """Return the fixed default of a parameter; defaults chosen at run time are described by the help."""
    default = parameter.default
    return "" if default is None or default is False else _code([str(default)])


def _exit_codes() -> str:
    stopped = {INTERRUPTED: "Ctrl-C", **{128 + number: number.name for number in STOPPING}}
    rows = [
        ("0", "done"),
        (str(FAILED), "failed, or not everything could be done; what was finished is kept"),
        (str(WRONG_USAGE), "wrong usage: an option, a file or a setting that cannot be used"),
        (
            str(DIFFERENT),
            f"`{PROGRAM} verify` (after any `--repair`) or `import --dry-run` found differences",
        ),
        *(
            (str(code), f"stopped by {name} before all was done; the same command continues")
            for code, name in stopped.items()
        ),
    ]
    codes = "0 OK, 1 WARNING, 2 CRITICAL or 3 UNKNOWN, as plugins of Nagios do"
    plugin = f"`{PROGRAM} status --check` ends with {codes}."
    return f"{_table(('code', 'means'), rows)}\n\n{plugin}"


def _variables() -> str:
    seconds = dict(re.findall(r"^ {4}(\w+): ((?:.|\n {8})+)", cleandoc(Timeouts.__doc__ or ""), re.MULTILINE))
    rows = [
        (
            _code([config.URL_VARIABLE]),
            "the embedded server",
            "URL of the database, for SQLAlchemy or libpq. Unset: an embedded PostgreSQL, started if needed."
            " `--database` overrules it.",
        ),
        (
            _code([config.SECRET_VARIABLE]),
            "",
            "Path of a file with that URL, as Docker and Kubernetes make of secrets; instead of the URL.",
        ),
        (
            _code([config.SCHEMA_VARIABLE]),
            _code([DEFAULT]),
            "The schema of the corpus, if a database has several; `--schema` overrules it.",
        ),
        (
            _code([config.CONFIG_VARIABLE, "XDG_CONFIG_HOME"]),
            "",
            f"The [file {config.FILE_NAME}](operate.md#configuration); the folder that replaces `~/.config`.",
        ),
        (
            _code([config.HOME_VARIABLE]),
            "your user data folder",
            f"The folder of the embedded server and its data; `{PROGRAM} db status` shows it.",
        ),
        (
            _code([config.EXTRACTOR_VARIABLE]),
            "trafilatura",
            "Name of the plug-in that extracts the text of an article from HTML.",
        ),
        *(
            (
                _code([config.TIMEOUT_PREFIX + item.name.upper()]),
                _code([f"{item.default:g}"]),
                f"Seconds: {' '.join(seconds[item.name].split())}",
            )
            for item in fields(Timeouts)
        ),
        (
            _code(["DEDUP_SERVE_TOKEN"]),
            "",
            f"The token that clients of `{PROGRAM} serve` have to send, without `--token-file`.",
        ),
        (
            _code(["DEDUP_MCP_TOKEN"]),
            "",
            f"The token that clients of `{PROGRAM} mcp --http` have to send, without `--token-file`.",
        ),
        (
            _code(["DEDUP_BROWSE_TOKEN"]),
            "",
            f"The token that is entered once for the pages of `{PROGRAM} browse`, without `--token-file`.",
        ),
        (
            _code(["SPARK_REMOTE", "JAVA_HOME"]),
            "",
            f"For `{PROGRAM} spark`: a Spark Connect server; the folder of Java if it is not on the path.",
        ),
        (_code(["USER", "LOGNAME"]), "", f"Name of the judge in `{PROGRAM} judge review`, without `--as`."),
        (_code(["NO_COLOR"]), "", "Any value: no colours."),
    ]
    return _table(("variable", "default", "meaning"), rows)


def _code(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _table(header: tuple[str, ...], rows: list[Any]) -> str:
    """Return a Markdown table; columns without any value are left out."""
    kept = [n for n in range(len(header)) if any(row[n] for row in rows)]
    lines = [[header[n] for n in kept], ["---"] * len(kept)]
    lines += [[" ".join(str(row[n]).split()).replace("|", "\\|") for n in kept] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    LISTING.write_text(listing(), encoding="utf-8")
