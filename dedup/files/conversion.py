"""Recognises JSON that is not one object per line, and names the command that converts it. Reads nothing."""

from __future__ import annotations

import json
import re
from typing import Any

LISTS = frozenset(("articles", "data", "docs", "entries", "items", "news", "posts", "results", "stories"))
"""Keys that services give their articles under, one answer holding many."""

LOOKED_AT_BYTES = 65_536  # Of the beginning. In an answer of a service the articles come after a few numbers

# Compiled when first used: nearly every file is lines, and every command imports this.
_PIECE = r'"(?:[^"\\]|\\.)*"?|[\[\]{}:,]'  # a text that is never closed is not looked through twice
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"  # What jq takes after a dot without quotes


def why_not_lines(name: str, start: bytes, *, packed: bool, is_pipe: bool) -> str | None:
    """What is wrong with a file that begins with these bytes, with the way out; None if it may be JSONL."""
    start = start[:LOOKED_AT_BYTES].lstrip()
    first, newline, rest = start.partition(b"\n")
    rest = rest.lstrip()
    is_json = name.lower().removesuffix(".gz").endswith(".json")
    is_alone = bool(newline) and first.strip() in (b"{", b"[") and (bool(rest) or is_pipe)
    may_go_on = rest[:1] in (b"", b'"', b"}")  # behind a bracket; a `{` there begins a line of its own
    file = "FILE (unpacked)" if packed else "FILE"
    if start[:1] == b"[" and (is_json or is_alone):
        return f"{name} holds one JSON array, not one object per line; convert it: {_jq('.[]', file)}"
    if start[:1] == b"{" and (may_go_on if is_alone else is_json and rest and _goes_on(first)):
        path = _path_in(start.decode(errors="replace"))
        command = _jq(f"{path}[]" if path else ".", file)
        return (
            f"{name} holds a JSON object over several lines, not one object per line; convert it: {command}"
        )
    return None


def why_not_one(record: dict[str, Any]) -> str | None:
    """What is wrong with a record that holds many articles, with the way out; None if it does not."""
    for key, value in record.items():
        inner = value if isinstance(value, dict) and _is_plain(key) else {}
        for path, found in ((key, value), *((f"{key}.{name}", inner[name]) for name in inner.keys() & LISTS)):
            if path.rpartition(".")[2] in LISTS and _is_list_of_objects(found):
                return f"the line is no article but holds some; convert it: {_jq(f'.{path}[]', 'FILE')}"
    return None


def _jq(filter: str, file: str) -> str:
    return f"jq -c '{filter}' {file} > FILE.jsonl"


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _goes_on(line: bytes) -> bool:
    """Whether all of a line is the beginning of a JSON value; not if it breaks off within a text."""
    try:
        text = line.decode().rstrip()
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except (ValueError, RecursionError):  # not UTF-8, for one
        pass
    return False


def _path_in(text: str) -> str | None:
    """The jq path of the list of articles in a JSON object that begins so, such as `.response.results`."""
    opened: list[str | None] = []  # the key of each object we are in, None for a list
    said = key = ""
    for piece in re.finditer(_PIECE, text):
        match piece[0]:
            case ":":
                key = said
            case ",":
                key = ""
            case "{":
                opened.append(key)
                key = ""
            case "[":
                if key in LISTS and None not in opened and text[piece.end() :].lstrip()[:1] == "{":
                    names = [name or "" for name in [*opened[1:], key]]
                    return "".join(f".{name}" for name in names) if all(map(_is_plain, names)) else None
                opened.append(None)
                key = ""
            case "}" | "]":
                if len(opened) < 2:
                    return None
                opened.pop()
            case string:
                said = string[1:-1]
    return None


def _is_plain(name: str) -> bool:
    return re.fullmatch(_NAME, name) is not None
