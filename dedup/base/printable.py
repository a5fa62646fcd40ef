r"""Text that strangers wrote, made harmless for whoever shows it: a terminal, a file of JSON, a spreadsheet.

Harmful is what a reader does not see and a program may act on: control characters (C0, DEL, C1), characters
that turn the direction of writing, invisible ones, line and paragraph separators, lone surrogates, characters
of private use, and those that the Unicode tables of this Python do not know. Two invisible ones are kept, the
joiners U+200C and U+200D: Persian, the scripts of India and composed emoji are wrong without them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

JOINERS = "\u200c\u200d"
REPLACEMENT = "\ufffd"

FORMULA_STARTS = "=+-@＝＋－＠"
"""What makes a spreadsheet run a cell: OWASP, "CSV Injection", with full-width forms that some take too."""
SPACE_STARTS = "\t\r\n"  # What some spreadsheets skip to find a formula behind it; from the same list

_NOT_ASCII = re.compile(r"[^ -~]")
_NOT_ASCII_NOR_LINE_FEED = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """A text as a terminal may show it: on one line, and with as many characters.

    Spaces of every kind and line ends become a space, other harmful characters U+FFFD.
    """
    return text if text.isprintable() else _NOT_ASCII.sub(_shown, text)


def printable_lines(text: str) -> str:
    """The same, but line feeds stay."""
    return text if text.isprintable() else _NOT_ASCII_NOR_LINE_FEED.sub(_shown, text)


def guarded(text: str) -> str:
    """A cell of CSV, printable, with an apostrophe before what a spreadsheet would run."""
    runs = text.startswith(tuple(SPACE_STARTS)) or text.lstrip().startswith(tuple(FORMULA_STARTS))
    return f"'{printable(text)}" if runs else printable(text)


def as_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    r"""A value as JSON, harmful characters as \uXXXX: harmless to look at, the same value when parsed.

    Args:
        default: as of `json.dumps`.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=default)
    return text if text.isprintable() else _NOT_ASCII_NOR_LINE_FEED.sub(_escaped, text)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in JOINERS


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if _is_harmless(character):
        return character
    return " " if character.isspace() else REPLACEMENT


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    # The spaces of typography stay readable: French has one before every colon.
    if _is_harmless(character) or unicodedata.category(character) == "Zs":
        return character
    return r"\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
