"""Tools for measurements: the sets of news beside the checkout, and a temporary server with a corpus.

No measurement touches a user's own database.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.db import embedded
from dedup.db.database import Database
from dedup.store import articles, opening

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Folder with the sets of real news, beside the checkout."""

BATCH_ARTICLES = 500
BATCH_CHARACTERS = 4_000_000
"""Maximum articles and characters per transaction while loading, as in `dedup load`."""

_TRUTH = re.compile(r"(?P<name>.+)\.truth_silver(?P<part>_\d+)?\.jsonl\.gz")

UNDATED = datetime(2050, 1, 1, tzinfo=UTC)
"""`added_at` for articles that have none. The time is fixed, so that every run has the same order, and later
than all dates of the sets, so that no date counts as implausible."""


def silver_sets(data: Path, names: Sequence[str] = ()) -> dict[str, tuple[Path, Path]]:
    """Return the files of articles and silver truth by set: of the sets `names`, or of all with a truth.

    Raises:
        InputError: the folder holds no truth, or no truth for a name.
    """
    found: dict[str, tuple[Path, Path]] = {}
    for truth in sorted(data.glob("*.truth_silver*.jsonl.gz")):
        if parts := _TRUTH.fullmatch(truth.name):
            name = parts["name"] + (parts["part"] or "")
            found[name] = (data / f"{name}.jsonl.gz", truth)
    if not found:
        raise InputError(f"{data} has no NAME.truth_silver.jsonl.gz; name the folder with --data")
    for name in names:
        if name not in found:
            raise InputError(f"no silver truth for {name!r}; the sets are {', '.join(found)}")
    return {name: found[name] for name in names or found}


@contextmanager
def throwaway_server(home: Path | None = None) -> Iterator[str]:
    """Start a new embedded server, yield its URL, and stop the server after the block.

    Args:
        home: folder of the server, which must not exist yet and is kept; None: a temporary folder.

    Raises:
        InputError: the folder exists.
        EmbeddedServerError: the server does not start.
    """
    if home is not None and home.exists():
        raise InputError(f"{home} exists; name a new folder, so that no corpus is lost")
    with tempfile.TemporaryDirectory(prefix="dedup-sandbox-") as folder:
        chosen = home or Path(folder) / "home"
        try:
            yield embedded.start(chosen)
        finally:
            embedded.stop(chosen)


def read_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Parse settings such as `["rows=4", "bands=16"]`, and return the values by name.

    Raises:
        InputError: a pair without `=`.
        SettingError: an unknown name or a value out of range.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise InputError(f"{pair!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    Settings().with_values(found)
    return found


def fresh_corpus(database: Database) -> None:
    """Drop the schema `dedup` with all data, and make it again; only for servers of `throwaway_server`."""
    with database.transaction() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS dedup CASCADE")
    opening.initialize(database)


def store(database: Database, found: Iterable[Article]) -> int:
    """Store articles as `dedup load` does, and return how many were stored."""
    count, size = 0, 0
    batch: list[Article] = []
    for article in found:
        if article.added_at is None:
            article = replace(article, added_at=UNDATED)
        batch.append(article)
        size += len(article.text)
        if len(batch) >= BATCH_ARTICLES or size >= BATCH_CHARACTERS:
            count += _flush(database, batch)
            batch, size = [], 0
    return count + _flush(database, batch)


def _flush(database: Database, batch: list[Article]) -> int:
    if batch:
        with database.transaction() as cursor:
            articles.store(cursor, batch)
    return len(batch)
