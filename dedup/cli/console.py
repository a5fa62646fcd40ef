"""Where the command line writes: results on stdout, words for people on stderr.

Everything passes through `dedup.base.printable`, so no stranger's text drives a terminal, unless `--raw`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dedup.base.printable import printable, printable_lines
from dedup.base.schema import program

UNBOUNDED = 1_000_000_000  # Columns of what is no terminal: nothing is wrapped for a program that reads along


of_schema: str | None = None  # What `--schema` was, for the commands that words for people name

_COMMANDS = re.compile(r"(?<=`)dedup (?!--)|(?:(?<=[:,&] )|(?<=then ))dedup (?=[a-z])")
"""A command in backticks, or after "next:"."""


class PrintableConsole(Console):
    """Shows nothing but printable text, whatever it is given."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)


def console(*, raw: bool = False) -> Console:
    """Where results go; `raw` lets through what could drive the terminal."""
    kind = Console if raw else PrintableConsole
    return kind(width=None if sys.stdout.isatty() else UNBOUNDED, highlight=False)


def say(words: str) -> None:
    """One line for people, on stderr, after what was written to stdout before."""
    with suppress(OSError, ValueError):  # a full disk or a closed pipe, which the command itself will meet
        sys.stdout.flush()
    if of_schema is not None:
        words = _COMMANDS.sub(f"{program(of_schema)} ", words)
    PrintableConsole(stderr=True, highlight=False).print(Text(printable(words)), soft_wrap=True)
