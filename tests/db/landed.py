"""Corpora as earlier versions of dedup made them, revision by revision.

Revisions 0017 to 0019 were edited after they had landed, so each of these numbers names several schemas;
`LANDED` has all of them. A file of `landed/` is named after the last commit in which the file had this text.
A `.diff` turns a file of `migrations/sql`, which is frozen (`test_frozen.py`), into its old text.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from dedup.db import revision
from dedup.db.database import Database

OLD = Path(__file__).parent / "landed"

_FIRST = (
    *("articles", "marks", "fingerprints", "settling.d6d4141", "attachments"),
    *("worker", "judgements", "browsing", "rights.d6d4141"),
)
_NEWSROOM = (
    *("attached_html", "journal.75696d5", "sentences.d6d4141", "attached_views"),
    *("kept", "byline", "credits.d6d4141", "feeds"),
)
_LAST = (
    *("articles", "marks", "fingerprints", "settling", "storing", "attachments"),
    *("worker", "judgements", "browsing", "rights", "closing"),
)
_LAST_NEWSROOM = (
    *("attached_html", "journal", "sentences", "attached_views", "shown", "credits", "feeds"),
    *("storing", "closing"),
)
_SHOWN = (
    "attached_html",
    "journal",
    "sentences.a167059",
    "attached_views",
    "shown.a167059",
    "credits",
    "feeds",
)


def _first(variant: str) -> tuple[str, ...]:
    return tuple(f"fingerprints.{variant}" if name == "fingerprints" else name for name in _FIRST)


def _newsroom(through: str) -> dict[str, tuple[str, ...]]:
    return {"0017": _FIRST, "0018": (*takewhile(lambda n: n != through, _NEWSROOM), through)}


_WATCHING = _newsroom("feeds")
_REFUSING = tuple("credits.75696d5" if name == "credits.d6d4141" else name for name in _NEWSROOM)
_SHOWING = {
    "0017": tuple("storing.a167059" if name == "storing" else name for name in _LAST),
    "0018": (*_SHOWN, "storing.a167059", "closing"),
    "0019": ("damaged",),
}

LANDED: dict[str, dict[str, tuple[str, ...]]] = {
    "0017 of b6a3d42": {"0017": _first("b6a3d42")},
    "0017 of d3748f4": {"0017": _first("d3748f4")},
    "0017 of 356fd02": {"0017": _FIRST},
    "0017 of a167059": {"0017": _SHOWING["0017"]},
    "0017 of b4a2084": {"0017": _LAST},
    "0018 of 450a484": _newsroom("attached_html"),
    "0018 of 450a484, once 0017 of b6a3d42": _newsroom("attached_html") | {"0017": _first("b6a3d42")},
    "0018 of 4436360": _newsroom("journal.75696d5"),
    "0018 of 6460265": _newsroom("sentences.d6d4141"),
    "0018 of c2950b1": _newsroom("attached_views"),
    "0018 of ec8629d": _newsroom("kept"),
    "0018 of 6baef99": _newsroom("byline"),
    "0018 of 948adad": _newsroom("credits.d6d4141"),
    "0018 of 7ee64a6": _WATCHING,
    "0019 of d6d4141": _WATCHING | {"0019": ("damaged",)},
    "0019 of 75696d5": {"0017": _FIRST, "0018": _REFUSING, "0019": ("damaged",)},
    "0019 of a167059": _SHOWING,
    "0019 of a621e18": _SHOWING
    | {"0018": tuple("sentences" if n == "sentences.a167059" else n for n in _SHOWING["0018"])},
    "0018 of b4a2084": {"0017": _LAST, "0018": _LAST_NEWSROOM},
    "0019 of b4a2084": {"0017": _LAST, "0018": _LAST_NEWSROOM, "0019": ("damaged",)},
}
"""Files of each revision, in order, by the revision and the first commit with these files."""


def make(database: Database, landed: str) -> str:
    """Make the schema that `landed`, a key of `LANDED`, names; return its revision."""
    steps = LANDED[landed]
    with database.engine(database.schema).begin() as engine:
        connection = engine.connection.driver_connection
        assert connection is not None
        connection.execute(b"CREATE SCHEMA dedup")
        connection.execute(
            b"CREATE TABLE dedup.alembic_version"
            b" (version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY)"
        )
        for files in steps.values():
            for name in files:
                connection.execute(_text(name).encode())
        connection.execute("INSERT INTO dedup.alembic_version VALUES (%s)", [max(steps)])
    return max(steps)


def _text(name: str) -> str:
    """Return a file of migrations/sql as it is now, or as it was at a commit."""
    subject, _, commit = name.partition(".")
    if not commit and (OLD / f"{subject}.sql").exists():
        return (OLD / f"{subject}.sql").read_text("utf-8")
    present = (revision.folder() / "sql" / f"{subject}.sql").read_text("utf-8")
    return _patched(present, (OLD / f"{name}.diff").read_text("utf-8")) if commit else present


def _patched(text: str, diff: str) -> str:
    """Return a text with the changes of a unified diff, which must fit line by line."""
    lines, made, at = text.splitlines(), list[str](), 0
    for line in diff.splitlines()[2:]:
        if found := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            begin = int(found[1]) - (found[2] != "0")
            made += lines[at:begin]
            at = begin
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert lines[at] == line[1:], line
            made += lines[at : at + 1] if line[0] == " " else []
            at += 1
    return "\n".join([*made, *lines[at:]]) + "\n"
