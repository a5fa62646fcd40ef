"""Settings, sentence parameters and the state row: what a corpus knows about itself.

A changed setting takes effect here, in one transaction: what it makes stale is made pending. Read next:
`articles.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dedup.corpus import arrays
from dedup.corpus.database import Cursor
from dedup.errors import SchemaError
from dedup.settings import Settings
from dedup.text.fingerprint import ALGORITHM_REVISION, Fingerprinter
from dedup.text.punkt import FILES, PunktModel

_NAMES = frozenset(field.name for field in fields(Settings))


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """Where sentence parameters of a language came from."""

    language: str
    checksum: str
    articles: int


class StaleRulesError(Exception):
    """The settings or sentence parameters changed since they were loaded; load them again."""


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What a corpus is judged by at one moment.

    Attributes:
        fingerprinter: holds the settings and makes fingerprints by them.
        models: sentence parameters trained for this corpus, by language.
    """

    fingerprinter: Fingerprinter
    models: dict[str, PunktModel]
    digests: tuple[str, int, str]

    @property
    def settings(self) -> Settings:
        """The settings of the corpus."""
        return self.fingerprinter.settings

    def check(self, cursor: Cursor) -> None:
        """Make sure that the stored results are of this rulebook; call it under the settle lock.

        Raises:
            StaleRulesError: they are of another one.
        """
        if _state(cursor) != self.digests:
            raise StaleRulesError


def load_rulebook(cursor: Cursor) -> Rulebook:
    """The present rulebook of the corpus, adopted or not."""
    models = load_models(cursor)
    return Rulebook(Fingerprinter(load_settings(cursor), models), models, _wanted(cursor))


def load_settings(cursor: Cursor) -> Settings:
    """The settings of the corpus."""
    rows = cursor.execute("SELECT name, value FROM dedup.setting").fetchall()
    return Settings().with_values(dict(rows))


def load_models(cursor: Cursor) -> dict[str, PunktModel]:
    """The sentence parameters trained for this corpus, by language."""
    rows = cursor.execute(
        "SELECT language, abbrev_types, collocations, sent_starters, ortho_context FROM dedup.sentence_model"
    ).fetchall()
    return {row[0]: PunktModel.from_files(dict(zip(FILES, row[1:], strict=True))) for row in rows}


def change_settings(cursor: Cursor, values: Mapping[str, Any]) -> Settings:
    """Set some settings; a value of None goes back to the default. Needs the settle lock.

    Raises:
        SettingError: an unknown name or a value out of range; nothing is changed.
    """
    stored = dict(cursor.execute("SELECT name, value FROM dedup.setting").fetchall())
    Settings().with_values({name: "" for name in values if name not in _NAMES})  # raises for unknown names
    settings = Settings().with_values({n: v for n, v in {**stored, **values}.items() if v is not None})
    cursor.execute("DELETE FROM dedup.setting WHERE name = ANY (%s)", [list(values)])
    for name, value in values.items():
        if value is not None:
            cursor.execute(
                "INSERT INTO dedup.setting (name, value) VALUES (%s, %s)",
                [name, str(getattr(settings, name))],
            )
    adopt(cursor)
    return settings


def store_model(cursor: Cursor, language: str, model: PunktModel, articles: int) -> None:
    """Keep trained sentence parameters of a language. Needs the settle lock."""
    files = model.to_files()
    cursor.execute(
        """
        INSERT INTO dedup.sentence_model
            (language, abbrev_types, collocations, sent_starters, ortho_context, checksum, articles)
        VALUES (%s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (language) DO UPDATE SET
            abbrev_types = excluded.abbrev_types, collocations = excluded.collocations,
            sent_starters = excluded.sent_starters, ortho_context = excluded.ortho_context,
            checksum = excluded.checksum, articles = excluded.articles, trained_at = now()
        """,
        [language, *(files[name] for name in FILES), model.checksum, articles],
    )
    adopt(cursor)


def list_models(cursor: Cursor) -> list[TrainedModel]:
    """The trained sentence parameters, by language."""
    rows = cursor.execute("SELECT language, checksum, articles FROM dedup.sentence_model ORDER BY language")
    return [TrainedModel(*row) for row in rows.fetchall()]


def is_adopted(cursor: Cursor) -> bool:
    """Whether the stored results were made with the present settings, parameters and program.

    Raises:
        SchemaError: they were made by a newer program.
    """
    stored = _state(cursor)
    _refuse_older_program(stored[1])
    return stored == _wanted(cursor)


def adopt(cursor: Cursor) -> None:
    """Make pending whatever was made with other settings, parameters or program. Needs the settle lock.

    A change of rules keeps the fingerprints; a change of fingerprints drops those of another version.

    Raises:
        SchemaError: the stored results were made by a newer program.
    """
    fingerprints, revision, rules = _state(cursor)
    _refuse_older_program(revision)
    wanted = _wanted(cursor)
    if (fingerprints, revision) != wanted[:2]:
        _drop_stale_fingerprints(cursor)
    if rules != wanted[2]:
        cursor.execute("DELETE FROM dedup.match")
        cursor.execute("UPDATE dedup.fingerprint SET canonical = NULL WHERE canonical IS NOT NULL")
        cursor.execute("""
            UPDATE dedup.article
            SET status = 'pending', duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
            WHERE status NOT IN ('pending', 'failed')
        """)
        cursor.execute("UPDATE dedup.corpus_state SET recount_all = true")
    cursor.execute(
        "UPDATE dedup.corpus_state SET fingerprint_digest = %s, algorithm_revision = %s, rule_digest = %s",
        wanted,
    )


def nothing_pending(cursor: Cursor) -> bool:
    """Whether every article has its mark."""
    row = cursor.execute("SELECT NOT EXISTS (SELECT FROM dedup.article WHERE status = 'pending')").fetchone()
    return bool(row and row[0])


def _drop_stale_fingerprints(cursor: Cursor) -> None:
    fingerprinter = load_rulebook(cursor).fingerprinter
    languages = [row[0] for row in cursor.execute("SELECT DISTINCT language FROM dedup.article").fetchall()]
    for language in languages:
        version = fingerprinter.version(language)
        stale = cursor.execute(
            """
            SELECT f.article_id FROM dedup.fingerprint f JOIN dedup.article a ON a.id = f.article_id
            WHERE a.language IS NOT DISTINCT FROM %s AND f.version <> %s
            """,
            [language, version],
        ).fetchall()
        ids = [row[0] for row in stale]
        cursor.execute("SELECT dedup.withdraw(%s::bigint[])", [arrays.hashes(ids)])
        cursor.execute("DELETE FROM dedup.fingerprint WHERE article_id = ANY (%s)", [arrays.hashes(ids)])
        cursor.execute("SELECT count(*) FROM dedup.make_pending(%s)", [arrays.hashes(ids)])
    # What could not be read before may be readable now.
    cursor.execute("""
        UPDATE dedup.article SET status = 'pending', reason = NULL, marked_at = NULL WHERE status = 'failed'
    """)


def _state(cursor: Cursor) -> tuple[str | None, int, str | None]:
    row = cursor.execute(
        "SELECT fingerprint_digest, algorithm_revision, rule_digest FROM dedup.corpus_state"
    ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def _wanted(cursor: Cursor) -> tuple[str, int, str]:
    settings = load_settings(cursor)
    models = ",".join(f"{model.language}={model.checksum}" for model in list_models(cursor))
    digest = f"{settings.digest('fingerprint')} {settings.default_language} {models}"
    return digest, ALGORITHM_REVISION, settings.digest("rule")


def _refuse_older_program(revision: int) -> None:
    if revision > ALGORITHM_REVISION:
        raise SchemaError("the fingerprints were made by a newer dedup; upgrade this program")
