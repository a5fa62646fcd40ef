"""Adopting settings: the number of statements does not depend on the number of languages."""

from __future__ import annotations

from typing import Any

import pytest

from dedup.db.database import Database
from dedup.store import rulebooks
from dedup.text.fingerprint import Fingerprinter
from dedup.text.punkt import PunktModel

LANGUAGES = 5_000
STATEMENTS = 40  # far fewer than `LANGUAGES`: adopting may not make a statement for each language


class Counted:
    """A cursor that counts statements."""

    def __init__(self, cursor: Any) -> None:
        self._cursor, self.count = cursor, 0

    def execute(self, *given: Any) -> Any:
        self.count += 1
        assert self.count < STATEMENTS
        return self._cursor.execute(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def fill(cursor: Any, fingerprinter: Fingerprinter) -> None:
    """Store articles with empty fingerprints in very many languages, in English and without a language."""
    cursor.execute(
        "INSERT INTO dedup.article (source_id, text, language)"
        " SELECT 'l' || n, 'words', nullif(CASE n WHEN 1 THEN 'en' WHEN 2 THEN '' ELSE 'x' || n END, '')"
        " FROM generate_series(1, %s) n",
        [LANGUAGES],
    )
    cursor.execute(
        "INSERT INTO dedup.fingerprint (article_id, version, revision, content_hash, sentence_hashes,"
        " signature, buckets, word_count, shingle_count)"
        " SELECT id, CASE WHEN language = 'en' OR language IS NULL THEN %s::bigint ELSE %s::bigint END,"
        " revision, id, '{}', '', '{}', 1, 0 FROM dedup.article",
        [fingerprinter.version("en"), fingerprinter.version("sw")],
    )


def fingerprints(cursor: Any) -> int:
    return int(cursor.execute("SELECT count(*) FROM dedup.fingerprint").fetchone()[0])


@pytest.mark.long("dedup", "migrations")
@pytest.mark.timeout(60)
def test_adopting_asks_the_same_of_one_language_and_of_very_many(database: Database) -> None:
    counts = []
    for fill_it in (False, True):
        with database.transaction(settling=True) as cursor:
            if fill_it:
                fill(cursor, rulebooks.load_rulebook(cursor).fingerprinter)
            else:
                cursor.execute("INSERT INTO dedup.article (source_id, text) VALUES ('a', 'words')")
            counted: Any = Counted(cursor)
            rulebooks.change_settings(counted, {"bands": 15})
            rulebooks.adopt(counted)
            counts.append(counted.count)
            assert fingerprints(cursor) == 0
            cursor.execute("DELETE FROM dedup.article")
            rulebooks.change_settings(cursor, {"bands": None})
    assert counts[0] == counts[1]


@pytest.mark.long("dedup", "migrations")
def test_only_fingerprints_of_another_version_are_dropped(database: Database) -> None:
    with database.transaction(settling=True) as cursor:
        fill(cursor, rulebooks.load_rulebook(cursor).fingerprinter)
        rulebooks.store_model(cursor, "x7", PunktModel(frozenset({"bzw"})), 1)
        rulebooks.adopt(cursor)
        assert fingerprints(cursor) == LANGUAGES - 1
        rulebooks.store_model(cursor, "en", PunktModel(frozenset({"mr"})), 1)
        rulebooks.adopt(cursor)
        assert fingerprints(cursor) == LANGUAGES - 3
