r"""Make text of strangers harmless to show: on a terminal, in JSON, in a spreadsheet.

Harmful characters are unseen by a reader, and a program may act on them: control characters (C0, DEL, C1),
characters that turn the direction of writing, invisible ones, line and paragraph separators, lone surrogates,
characters of private use, and those unknown to the Unicode tables of this Python.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

# Invisible, but Persian, the scripts of India and composed emoji are wrong without them.
JOINERS = "\u200c\u200d"
REPLACEMENT = "\ufffd"

# Spreadsheets run a cell with these (OWASP, "CSV Injection"); some take the full-width forms too.
FORMULA_STARTS = "=+-@＝＋－＠"
# Some spreadsheets skip these to find a formula behind them; from the same list.
SPACE_STARTS = "\t\r\n"

_NOT_ASCII = re.compile(r"[^ -~]")
_NOT_ASCII_NOR_LINE_FEED = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """Return a text for a terminal, on one line and of the same length.

    Spaces of every kind and line ends become a space, other harmful characters U+FFFD.
    """
    return text if text.isprintable() else _NOT_ASCII.sub(_shown, text)


def printable_lines(text: str) -> str:
    """Return a text as `printable` does, but keep its line feeds."""
    return text if text.isprintable() else _NOT_ASCII_NOR_LINE_FEED.sub(_shown, text)


def guarded(text: str) -> str:
    """Return a printable cell of CSV, with an apostrophe before a formula."""
    runs = text.startswith(tuple(SPACE_STARTS)) or text.lstrip().startswith(tuple(FORMULA_STARTS))
    return f"'{printable(text)}" if runs else printable(text)


def as_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    r"""Return a value as JSON, with harmful characters as \uXXXX; `json.dumps` gets `default`."""
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
