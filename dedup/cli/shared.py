"""What the commands share: options, opening the corpus, reading articles from files, stopping on a signal.

It has no command of its own.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from dedup.article import Article
from dedup.cli import output
from dedup.errors import InputError, SettingError
from dedup.files.readers import Reject, parse_field_map
from dedup.files.record import MAX_RECORD_BYTES
from dedup.settings import HASH_KEY_CHARACTERS, random_hash_key

if TYPE_CHECKING:
    from dedup.corpus.database import Database
    from dedup.engine.backfill import Preview

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        "-m",
        metavar="FIELD=NAME",
        help="Where a field is found in the file, such as `text=body`; may be repeated.",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="jsonl, csv, tsv or parquet, where the file name does not say it."),
]
PublicationOption = Annotated[
    str | None, typer.Option("--publication", help="Publication of articles that name none.")
]
LanguageOption = Annotated[
    str | None, typer.Option("--language", help="Language of articles that name none, such as `en`.")
]
TruthOption = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        help='Known duplicates, JSONL: {"a", "b", "label"}, {"a", "b", "jaccard5"} or {"cluster", "ids"}.',
    ),
]
MinJaccardOption = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="In a truth with `jaccard5`, pairs from this value on are duplicates; below, unclear.",
    ),
]

NAME_BYTES = 200
"""Of the name of a file, in that of its rejects file: file systems take 255 bytes, and some is added."""

LAB_PACKAGES = ("scipy", "sklearn", "datasketch", "ppdeep", "jinja2")
"""What the extra `newsdedup[lab]` brings."""


def needs_lab(what: str) -> None:
    """Refuse what cannot be done without the extra.

    Raises:
        InputError: a package of the extra is missing.
    """
    missing = [name for name in LAB_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{what} needs {', '.join(missing)}: run `pip install 'newsdedup[lab]'`,"
            " or in a checkout `scripts/setup dev`"
        )


@contextmanager
def corpus() -> Iterator[Database]:
    """The corpus, with a schema that this program understands."""
    from dedup.corpus import migrate

    database = open_database()
    try:
        migrate.prepare(database)
        yield database
    finally:
        database.close()


def open_database() -> Database:
    """The database as it is, whatever its schema; says so if that starts the embedded server."""
    from dedup.corpus import embedded
    from dedup.corpus.database import URL_VARIABLE, Database

    if not os.environ.get(URL_VARIABLE) and embedded.running_url() is None:
        output.say("starting the embedded PostgreSQL server; `dedup db stop` stops it")
    return Database()


def previewed(preview: Preview) -> str:
    """What a backfill has to do, in words."""
    texts = f"{preview.fingerprint:,} texts to fingerprint, " if preview.fingerprint else ""
    seconds = preview.seconds
    duration = f"{max(1, round(seconds)):,} s" if seconds < 90 else f"{round(seconds / 60):,} min"
    return f"{texts}{preview.settle:,} articles to settle, about {duration}"


def field_map(pairs: list[str] | None) -> dict[str, str]:
    """The mapping of `--map`."""
    return parse_field_map(pairs or ())


def completed(item: Article | Reject, publication: str | None, language: str | None) -> Article | Reject:
    """An article with the publication and language of the command line where it has none."""
    if isinstance(item, Reject):
        return item
    if (publication and item.publication is None) or (language and item.language is None):
        return replace(item, publication=item.publication or publication, language=item.language or language)
    return item


def max_record_bytes(database: Database) -> int:
    """The bound of a line of a file: room for the longest text that the corpus can read, or will.

    A character takes up to 6 bytes in JSON; the other fields and what else the line holds may take 1 MiB.
    """
    from dedup.corpus import rulebooks

    with database.transaction() as cursor:
        settings = (rulebooks.load_settings(cursor), rulebooks.load_wanted(cursor))
    longest = max(found.text_max_characters for found in settings)
    return max(MAX_RECORD_BYTES, 6 * longest + 1_048_576)


def rejects_path(given: Path | None, source: str) -> Path:
    """Where refused lines go: as told, or beside the work, named after the file."""
    name = "stdin" if source == "-" else Path(source).name
    kept = os.fsdecode(os.fsencode(name)[:NAME_BYTES])
    return given or Path(f"{kept}.rejects.jsonl")


def hash_key(given: str) -> str:
    """The hash key that a user asks for: `random` makes one, - reads it from stdin.

    Raises:
        SettingError: it is so short that it could be guessed; the message does not hold it.
    """
    if given == "random":
        return random_hash_key()
    key = sys.stdin.readline().strip() if given == "-" else given
    if len(key) < HASH_KEY_CHARACTERS:
        raise SettingError(
            f"a hash key has at least {HASH_KEY_CHARACTERS} characters; write random, or - for one from stdin"
        )
    return key


def say_pins_left_behind(database: Database) -> None:
    """Say which pinned sentences cannot follow a new hash key."""
    from dedup.corpus import pins, rulebooks

    with database.transaction() as cursor:
        if not rulebooks.waiting_adoption(cursor):
            return
        fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
        found = [key for key, words in pins.pinned_words(cursor, fingerprinter).items() if words is None]
    if found:
        output.say(
            f"the words of {len(found):,} pinned sentences are nowhere, so these pins end with the old hash"
            f" key: {', '.join(map(str, found[:5]))}{' …' if found[5:] else ''}"
        )


@contextmanager
def ending() -> Iterator[None]:
    """SIGTERM is as Ctrl-C: processes at work are ended, and temporary files removed."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def stopping() -> Iterator[Event]:
    """An event that SIGTERM sets: the batch in hand is finished, and the command ends well."""
    event = Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        event.set()

    previous = signal.signal(signal.SIGTERM, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGTERM, previous)
