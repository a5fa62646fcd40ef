r"""Make texts from strangers safe to show on a terminal, in JSON or in a spreadsheet.

Harmful characters are invisible to a reader, while a program may act on them: control characters (C0, DEL,
C1), characters that change the writing direction, invisible characters, line and paragraph separators, lone
surrogates, private-use characters, and characters unknown to the Unicode tables of this Python.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

# Invisible characters that are allowed: Persian, the scripts of India and composed emoji need them.
JOINERS = "\u200c\u200d"
REPLACEMENT = "\ufffd"

# Spreadsheets run a cell that begins with one of these characters as a formula (OWASP, "CSV Injection").
# Some spreadsheets accept the full-width forms of the characters, too.
FORMULA_STARTS = "=+-@＝＋－＠"
# Some spreadsheets skip these characters at the start of a cell and run a formula after them (OWASP).
SPACE_STARTS = "\t\r\n"

_NOT_ASCII = re.compile(r"[^ -~]")
_NOT_ASCII_NOR_LINE_FEED = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """Return a text that is safe for a terminal, on one line and of the same length.

    Each space of any kind and each line end becomes a space; any other harmful character becomes U+FFFD.
    """
    return text if text.isprintable() else _NOT_ASCII.sub(_shown, text)


def printable_lines(text: str) -> str:
    """Return a text as `printable` does, but keep its line feeds."""
    return text if text.isprintable() else _NOT_ASCII_NOR_LINE_FEED.sub(_shown, text)


def guarded(text: str) -> str:
    """Return a printable CSV cell; an apostrophe before a formula keeps spreadsheets from running it."""
    runs = text.startswith(tuple(SPACE_STARTS)) or text.lstrip().startswith(tuple(FORMULA_STARTS))
    return f"'{printable(text)}" if runs else printable(text)


def as_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    r"""Return a value as JSON text, with harmful characters as \uXXXX. `default`: as in `json.dumps`."""
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
    # Keep the spaces of typography readable: French has a no-break space before a colon.
    if _is_harmless(character) or unicodedata.category(character) == "Zs":
        return character
    return r"\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
