"""Turn options of the command line, which messages of errors name, into arguments of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dedup.base.errors import InputError

on_command_line = ContextVar("on_command_line", default=False)
"""True while a command runs: then messages keep the names of options."""

_FIELDS = ("text", "title", "url", "publication", "language", "byline")
_ARGUMENTS = {
    **{"id": "keys", "html": "html=True", "no-html": "html=False"},
    **{"triggers": "triggers=True", "no-triggers": "triggers=False"},
    **{"day-first": "day_first=True", "month-first": "day_first=False", "lose-dates": "lose_dates=True"},
    **{field: f'columns["{field}"]' for field in _FIELDS},
    "published": 'columns["published_at"]',
}
"""Arguments that differ from their options not only by underscores."""

# Matches options in messages, with their values. Also matches whole commands in backquotes, so that their
# options stay: a person runs such a command in a shell.
_NAMED = re.compile(
    r"(?P<command>`dedup [^`]*`)|--map (?P<field>\w+)=(?P<name>[^,;]+)|--id a --id b"
    r"|(?P<quote>`?)--(?P<option>[a-z]+(?:-[a-z]+)*)"
    r"(?: (?P<value>\S+=TABLE\.COLUMN|'[^']*'|(?<=--encoding )[\w-]+)| (?P<quoted>[^`]+)(?=`))?(?P=quote)"
)


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Let the message of an InputError name arguments, unless a command runs."""
    try:
        yield
    except InputError as error:
        error.args = (in_python(str(error)),)
        raise


def in_python(message: str) -> str:
    """Return a message that names arguments instead of options; unchanged while a command runs."""
    return message if on_command_line.get() else _NAMED.sub(_argument, message)


def _argument(found: re.Match[str]) -> str:
    if found["command"]:
        return found["command"]
    if found["field"]:
        return f'`fields={{"{found["field"]}": "{found["name"]}"}}`'
    if not (option := found["option"]):
        return '`keys=["a", "b"]`'
    name = _ARGUMENTS.get(option, option.replace("-", "_"))
    value = (found["value"] or found["quoted"] or "").strip("'")
    return f'`{name}="{value}"`' if value else f"`{name}`"
