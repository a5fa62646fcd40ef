"""The README's picture of an article's three ways through the code: each way runs the files shown."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest

import dedup
from dedup.base.settings import Settings
from dedup.db.database import Database
from dedup.text.fingerprint import Fingerprinter
from dedup.text.native import library
from tests.corpora import article, deduplicator, load, window

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dedup.__file__).parent


def drawn() -> list[list[str]]:
    """Return the files in the three columns of the picture, from top to bottom."""
    page = (ROOT / "README.md").read_text("utf-8")
    (head, rest) = re.findall(r"^( +a scraper's article [^\n]*)\n(.*?)^```", page, re.M | re.S)[0]
    starts = [head.index(words) - 3 for words in ("a scraper", "nightly, few", "nightly, many")]
    columns = [slice(*ends) for ends in pairwise([*starts, None])]
    return [re.findall(r"[\w/]+\.py", "\n".join(line[of] for line in rest.splitlines())) for of in columns]


@contextmanager
def walked() -> Iterator[set[str]]:
    """Yield a set that collects the files of the package whose functions are called."""
    found: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        name = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and name.is_relative_to(PACKAGE):
            found.add(str(name.relative_to(PACKAGE)))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def submit(database: Database) -> None:
    """Submit articles: a unique one, a duplicate, a similar one, and one earlier than its copies."""
    dd = deduplicator(database)
    for name, start, minute in (("first", 0, 5), ("copy", 0, 6), ("similar", 2, 7), ("earlier", 0, 1)):
        dd.submit(article(name, window(start, 6), minute))


def backfill_few(database: Database) -> None:
    load(database, *(article(f"a{i}", window(i, 6), i) for i in range(4)))
    deduplicator(database).backfill(workers=0, engine="postgres")


def backfill_many(database: Database) -> None:
    load(database, *(article(f"a{i}", window(i, 6), i) for i in range(4)))
    deduplicator(database).backfill(workers=0, engine="memory")


@pytest.mark.parametrize(("column", "way"), [(0, submit), (1, backfill_few), (2, backfill_many)])
def test_a_way_of_the_picture_passes_its_files(
    database: Database, column: int, way: Callable[[Database], None]
) -> None:
    files = drawn()[column]
    assert len(files) >= 10
    with walked() as found:
        way(database)
    assert [name for name in files if name not in found] == []
    assert library() is None or "text/native.py" in found


def test_the_steps_of_a_text_are_those_of_the_picture() -> None:
    """The compiled kernel is off, because it runs all steps at once."""
    with walked() as found:
        Fingerprinter(Settings(), compiled=False).fingerprint("The ferry of the coast is late. " * 9)
    page = (ROOT / "README.md").read_text("utf-8")
    steps = re.findall(
        r"`(text/\w+\.py)`", page.partition("Python modules define")[2].partition("B: articles")[0]
    )
    assert len(steps) == 5
    assert set(steps) <= found
