"""The help teaches every command, and the README lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from dedup.cli.main import app

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def _commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield f"{path}{name}", command
            yield from _commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


COMMANDS = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_explains_itself(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert len(command.help) > 20
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_lists_every_command(name: str) -> None:
    first, *rest = name.split()
    lines = [line for line in README.splitlines() if re.match(rf"\|.*`{first}[ `|]", line)]
    assert any(all(re.search(rf"\b{word}\b", line) for word in rest) for line in lines)


def test_no_command_of_the_readme_is_unknown() -> None:
    for name in re.findall(r"^(?:\s*|\$ )dedup ([a-z-]+)", README, re.MULTILINE):
        assert name in COMMANDS
