"""Options and functions that several commands share."""

from __future__ import annotations

import importlib.util
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import dedup
from dedup.base.errors import InputError, SettingError
from dedup.base.extras import installing
from dedup.base.logs import LogFormat, LogLevel
from dedup.base.words import counted as counted
from dedup.cli import output
from dedup.cli.progress import duration
from dedup.cli.signals import stopping as stopping

JsonOption = Annotated[bool, Option("--json", help="Print JSON for machines.")]
YesOption = Annotated[bool, Option("--yes", help="Do not ask, even if the change cannot be undone.")]
ForceOption = Annotated[bool, Option("--force", help="Replace an existing file.")]
FirstArgument = Annotated[str, Argument(metavar="A", help="Your id of one article.")]
SecondArgument = Annotated[str, Argument(metavar="B", help="Your id of the other article.")]
MapOption = Annotated[
    list[str] | None,
    Option("--map", "-m", metavar="FIELD=NAME", help="Column for a field: `text=fulltxt`. May be repeated."),
]
FormatOption = Annotated[
    str | None,
    Option("--format", help="jsonl, json, csv, tsv, parquet, xlsx or xml, if the name does not show it."),
]
PublicationOption = Annotated[
    str | None, Option("--publication", help="Publication for articles without publication.")
]
LanguageOption = Annotated[
    str | None, Option("--language", help="Language for articles without language, such as `en`.")
]
HtmlOption = Annotated[
    bool, Option("--html", help="Extract texts from HTML, remove tags from titles; needs the extra `html`.")
]
DateFormatOption = Annotated[
    str | None,
    Option("--date-format", metavar="FORMAT", help="Form of dates, as for strptime: `%d.%m.%Y %H:%M`."),
]
DayFirstOption = Annotated[
    bool | None,
    Option("--day-first/--month-first", help="Order of dates such as 05/06/2018, if no other date shows it."),
]
LoseDatesOption = Annotated[
    bool, Option("--lose-dates", help="Load the file even if over a tenth of its dates cannot be read.")
]
KeepOption = Annotated[
    list[str] | None,
    Option(metavar="NAMES", help="Columns to store and show beside marks: `topic,desk`. May be repeated."),
]
LogFormatOption = Annotated[LogFormat, Option("--log-format", help="Form of log lines: text or JSON.")]
LogLevelOption = Annotated[LogLevel, Option("--log-level", help="Lowest level of events that are logged.")]

TITLE_CHARACTERS = 60  # Maximum number of characters of a title within a message

METRICS_PACKAGES = ("prometheus_client",)  # Packages of the extra `metrics`


def needs(what: str, extra: str, packages: Sequence[str]) -> None:
    """Raise InputError if a package of an extra is missing. `what`: the command that needs the extra."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{what} needs {', '.join(missing)}: run `{installing(extra)}`")


@contextmanager
def corpus(
    timeouts: dedup.Timeouts | None = None, *, make: bool = False, start: bool = True
) -> Iterator[dedup.Deduplicator]:
    """Open the corpus; print a message if that starts the embedded server.

    `make`: whether to make a missing corpus on the embedded server; False for commands that only read.
    `start`: whether the embedded server may be started and its schema upgraded; False for monitors.
    """
    if not make:
        dedup.server.require_data(start=start)
    say_if_started()
    if not make:
        dedup.server.require_schema(exact=not start)
    with dedup.Deduplicator(timeouts=timeouts) as found:
        yield found


def agree(what: str, *, yes: bool) -> None:
    """Print a change that cannot be undone and, unless `yes` is true, ask for consent.

    Raises InputError: there is no terminal for the question. Raises typer.Exit: the answer is no.
    """
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"{what}; this cannot be undone: add --yes to confirm")
    output.say(what)
    if not yes and not typer.confirm("this cannot be undone; continue?", err=True):
        output.say("nothing was changed")
        raise typer.Exit(1)


def say_if_started() -> None:
    if dedup.server.will_start():
        output.say("starting the embedded PostgreSQL server; `dedup db stop` stops it")


def shortened(text: str) -> str:
    """Return a title, cut to at most `TITLE_CHARACTERS`."""
    return text if len(text) <= TITLE_CHARACTERS else f"{text[: TITLE_CHARACTERS - 1].rstrip()}…"


def previewed(preview: dedup.Preview) -> str:
    """Describe the amount of work of the next backfill, and how long it will take."""
    texts = f"{counted(preview.fingerprint, 'text')} to fingerprint, " if preview.fingerprint else ""
    return f"{texts}{counted(preview.settle, 'article')} to settle, about {duration(preview.seconds)}"


def field_map(pairs: list[str] | None) -> dict[str, str]:
    from dedup.files.reading import parse_field_map

    return parse_field_map(pairs or ())


def refuse_existing(file: Path, *, force: bool) -> None:
    """Raise InputError if a file to be written exists, unless `force` is true."""
    if file.exists() and not force:
        raise InputError(f"{file} exists; give another name, or --force to replace it")


def names(given: list[str] | None) -> list[str] | None:
    """Split values such as `topic,desk` into names."""
    if given is None:
        return None
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def moment(given: str) -> datetime:
    """Return the time in an argument, which is a time as in files or an age such as `30m`, `24h` or `7d`."""
    from dedup.api import checks

    with suppress(InputError):
        return checks.moment("the time", given)
    raise InputError(f"{given!r} is not a time: write 2026-11-20, 2026-11-20T08:00Z, or an age: 30m, 24h, 7d")


def seconds_of(given: str) -> float:
    """Return the seconds of a time span in an argument: `90s`, `30m`, `26h`, `7d`."""
    from dedup.base.times import seconds_in

    if not (span := seconds_in(given, "smhd")):
        raise InputError(f"{given!r} is not a time span: write 90s, 30m, 26h or 7d")
    return span


def hash_key(given: str) -> str:
    """Return a hash key: `random` makes a key, `-` reads it from stdin, any other text is the key itself."""
    from dedup.base.settings import HASH_KEY_CHARACTERS

    if given == "random":
        return secrets.token_hex(32)
    key = sys.stdin.readline().strip() if given == "-" else given
    # The message does not quote the key: it is a secret.
    if len(key) < HASH_KEY_CHARACTERS:
        raise SettingError(
            f"a hash key has at least {HASH_KEY_CHARACTERS} characters; write random, or - to read stdin"
        )
    return key


def say_pins_left_behind(found: Sequence[int]) -> None:
    if found:
        pins = counted(len(found), "sentence pin is lost", "sentence pins are lost")
        hashes = f"{', '.join(map(str, found[:5]))}{' …' if found[5:] else ''}"
        output.say(f"{pins}, because a new hash key needs the words, which are not stored: {hashes}")
