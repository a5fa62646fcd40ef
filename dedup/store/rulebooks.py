"""Stores settings, parameters for splitting sentences, and the versions with which stored results were made.

A changed setting is wanted until a backfill adopts it (puts it in force). The same transaction makes all
results of the old value stale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from dedup.base.errors import InputError, SchemaError
from dedup.base.settings import Settings
from dedup.db import arrays
from dedup.db.database import Cursor, one_column, one_row
from dedup.db.statements import Statements
from dedup.store import articles, common_sentences, fingerprints, pins
from dedup.store.setting_rows import load_settings, load_wanted
from dedup.text import native
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION, Fingerprinter
from dedup.text.punkt import FILES, PunktModel

_sql = Statements("store/rulebooks")

# Maximum duration of a transaction that writes marks. A mark may become visible this long after `marked_at`.
MARKED_LATE = timedelta(minutes=10)

_NAMES = frozenset(field.name for field in fields(Settings))
# No fingerprint or mark is made with these settings, so they are in force at once. The next backfill or
# worker archives by them.
_AT_ONCE = sorted(field.name for field in fields(Settings) if field.metadata["kind"] == "window")


class StaleRulesError(Exception):
    """Raised if settings or sentence parameters in force changed after the caller loaded them."""


@dataclass(frozen=True, slots=True)
class State:
    """Versions of the settings and of the program with which the stored results were made."""

    fingerprints: str | None  # digest of settings and sentence parameters; None in a new corpus
    rules: str | None  # digest of the settings that decide marks
    algorithm: int  # revision of the fingerprint algorithm
    unicode: str | None  # version of the Unicode tables

    def same_program(self) -> bool:
        """Return whether this program makes fingerprints like the stored ones. Raises SchemaError: a newer
        program made the stored fingerprints."""
        if self.algorithm > ALGORITHM_REVISION:
            raise SchemaError("the fingerprints were made by a newer dedup; upgrade this program")
        return (self.algorithm, self.unicode) == (ALGORITHM_REVISION, UNICODE_VERSION)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Settings, sentence parameters and state of a corpus at one moment."""

    fingerprinter: Fingerprinter  # makes fingerprints, and has the settings
    models: dict[str, PunktModel]  # trained sentence parameters by language
    state: State

    @property
    def settings(self) -> Settings:
        return self.fingerprinter.settings

    def check(self, cursor: Cursor) -> None:
        """Raise StaleRulesError if stored results were made with another rulebook. Needs the settle lock."""
        if load_state(cursor) != self.state:
            raise StaleRulesError


def load_rulebook(cursor: Cursor) -> Rulebook:
    native.tell_if_missing()
    models = load_models(cursor)
    return Rulebook(Fingerprinter(load_settings(cursor), models), models, load_state(cursor))


def load_models(cursor: Cursor, *, wanted: bool = False) -> dict[str, PunktModel]:
    """Return the trained sentence parameters in force, by language. If `wanted`, return the parameters that
    will be in force after the next backfill."""
    rows = cursor.execute(_sql("models"), {"wanted": wanted}).fetchall()
    return {language: _parse_model(language, files) for language, *files in rows}


def _parse_model(language: str, files: Sequence[str]) -> PunktModel:
    try:
        return PunktModel.from_files(dict(zip(FILES, files, strict=True)))
    except InputError:
        raise InputError(describe_damage(language)) from None


def describe_damage(language: str) -> str:
    """Return the message that sentence parameters are damaged, and how the user can train them again."""
    again = f"train them again with the same files, by `dedup train-sentences {language} FILE`"
    return f"the sentence parameters of {language} are damaged: {again}"


def load_state(cursor: Cursor) -> State:
    return State(*one_row(cursor, _sql("state")))


def memory_run(cursor: Cursor) -> int | None:
    """Return the id of the present run of the memory engine, or None. During a run, nothing else settles."""
    row = cursor.execute(_sql("memory_run")).fetchone()
    return row[0] if row else None


def change_settings(cursor: Cursor, values: Mapping[str, Any]) -> Settings:
    """Change wanted settings (None: reset to default); return all wanted settings. Needs the settle lock."""
    Settings().with_values({name: "" for name in values if name not in _NAMES})  # raises for an unknown name
    stored = dict(cursor.execute(_sql("settings_wanted")).fetchall())
    settings = Settings().with_values({n: v for n, v in {**stored, **values}.items() if v is not None})
    for name, value in values.items():
        if value is None:
            cursor.execute(_sql("delete_unadopted_setting"), {"name": name})
            cursor.execute(_sql("reset_setting"), {"name": name})
        else:
            cursor.execute(_sql("write_setting"), {"name": name, "value": str(getattr(settings, name))})
    cursor.execute(_sql("delete_reset_settings_among"), {"names": _AT_ONCE})
    cursor.execute(_sql("adopt_settings_among"), {"names": _AT_ONCE})
    # An empty corpus has no results of older settings, so its settings take effect without a backfill.
    _adopt_where_empty(cursor)
    return settings


def store_model(cursor: Cursor, language: str, model: PunktModel, articles: int) -> None:
    """Store the sentence parameters of a language. The next backfill adopts them. Needs the settle lock.

    If parameters with the same checksum are in force, write these again, in case they were damaged.
    """
    in_force = (language, model.checksum) in cursor.execute(_sql("checksums")).fetchall()
    values = {"language": language, "adopted": in_force, "checksum": model.checksum, "articles": articles}
    files = {name.partition(".")[0]: content for name, content in model.to_files().items()}
    cursor.execute(_sql("write_model"), {**values, **files})
    if in_force:
        cursor.execute(_sql("delete_wanted_model"), {"language": language})
    _adopt_where_empty(cursor)


@dataclass(frozen=True, slots=True)
class Adoption:
    """Changes that the next backfill adopts. The object is false without a change.

    Attributes:
        fingerprints: true if texts must be fingerprinted again.
        rules: true if all articles must be settled again.
        program: true if the cause is a new revision or Unicode version of this program.
    """

    fingerprints: bool
    rules: bool
    program: bool

    def __bool__(self) -> bool:
        return self.fingerprints or self.rules


def find_adoption(cursor: Cursor) -> Adoption:
    """Return what the next backfill must do to adopt changes; the result is false if nothing changed."""
    state, wanted = load_state(cursor), _load_wanted_state(cursor)
    program = not state.same_program()
    return Adoption(
        program or state.fingerprints != wanted.fingerprints, state.rules != wanted.rules, program
    )


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """Plan of an adoption. Before the adoption, affected articles are withdrawn (made stale) page by page."""

    adoption: Adoption
    wanted: State
    fingerprinter: Fingerprinter  # makes fingerprints by the wanted settings
    since: datetime  # `adopt` withdraws articles marked since this time: hooks may have used old settings


def plan_adoption(cursor: Cursor) -> AdoptionPlan:
    """Plan the adoption of wanted settings. Raises SchemaError: a newer program made the stored results."""
    row = one_row(cursor, _sql("marked_since"), {"late": MARKED_LATE})
    fingerprinter = Fingerprinter(load_wanted(cursor), load_models(cursor, wanted=True))
    return AdoptionPlan(find_adoption(cursor), _load_wanted_state(cursor), fingerprinter, row[0])


def keep_pinned_words(cursor: Cursor, plan: AdoptionPlan) -> None:
    """Store the full texts of pinned sentences if the hash key changes: the texts are needed for new hashes.
    Call this before `withdraw_for` drops the fingerprints, which tell the articles with these sentences."""
    present = load_rulebook(cursor).fingerprinter
    if present.settings.hash_key != plan.fingerprinter.settings.hash_key:
        pins.keep_words(cursor, present)


def read_page(cursor: Cursor, after: int, limit: int) -> list[int]:
    return one_column(cursor, _sql("page_of_articles"), {"after": after, "limit": limit})


def withdraw_for(cursor: Cursor, plan: AdoptionPlan, ids: Sequence[int]) -> None:
    """Make articles stale if the plan changes their marks or fingerprints. Needs the settle lock."""
    # This is safe even if the plan is never adopted: stale articles are settled by the rules in force.
    if plan.adoption.rules:
        articles.withdraw(cursor, ids)
    if not plan.adoption.fingerprints:
        return
    rows = cursor.execute(_sql("fingerprint_versions"), {"ids": arrays.bigints(ids)}).fetchall()
    fingerprints.drop(cursor, [row[0] for row in rows if row[1] != plan.fingerprinter.version(row[2])])
    fingerprints.read_again(cursor, ids)  # failed texts may succeed with the new settings


def adopt(cursor: Cursor, plan: AdoptionPlan | None = None, through: int = 0) -> None:
    """Put wanted settings and parameters in force; record this program's versions. Needs the settle lock.

    Marks made with other settings become stale; fingerprints of another version are dropped. With `plan`, the
    caller has done both for article ids up to `through`. Raises StaleRulesError: the plan is outdated.
    """
    present = plan_adoption(cursor)
    if plan is not None and plan.wanted != present.wanted:
        raise StaleRulesError
    keep_pinned_words(cursor, present)
    before = load_rulebook(cursor).fingerprinter
    # Since the plan was made, hooks may have marked articles with the settings that are now replaced.
    since = plan.since if plan else None
    left = one_column(cursor, _sql("not_withdrawn"), {"through": through, "since": since})
    withdraw_for(cursor, plan or present, left)
    for name in ("delete_reset_settings", "adopt_settings", "delete_replaced_models", "adopt_models"):
        cursor.execute(_sql(name))
    after = load_rulebook(cursor).fingerprinter
    if after.settings.hash_key != before.settings.hash_key:
        pins.rehash(cursor, before, after)
    if present.adoption:
        common_sentences.request_full_count(cursor)
    cursor.execute(_sql("write_state"), asdict(present.wanted))


def is_all_settled(cursor: Cursor) -> bool:
    return bool(one_row(cursor, _sql("nothing_unsettled"))[0])


def has_articles(cursor: Cursor) -> bool:
    return bool(one_row(cursor, _sql("any_article"))[0])


def _adopt_where_empty(cursor: Cursor) -> None:
    if not has_articles(cursor):
        adopt(cursor)


def _load_wanted_state(cursor: Cursor) -> State:
    rows = cursor.execute(_sql("wanted_checksums")).fetchall()
    return state_of(load_wanted(cursor), rows)


def load_state_in_force(cursor: Cursor) -> State:
    """Compute the `State` from the settings in force; `dedup verify` compares it with the stored `State`."""
    rows = cursor.execute(_sql("checksums")).fetchall()
    stored = load_state(cursor)
    return replace(state_of(load_settings(cursor), rows), algorithm=stored.algorithm, unicode=stored.unicode)


def find_damaged_models(cursor: Cursor) -> list[str]:
    """Return the languages whose sentence parameters do not match the stored checksum."""
    rows = cursor.execute(_sql("checksums")).fetchall()
    models = load_models(cursor)
    return sorted(language for language, checksum in rows if models[language].checksum != checksum)


def state_of(settings: Settings, models: Sequence[tuple[str, str]] = ()) -> State:
    """Return the `State` of results made with these settings. `models`: languages with their checksums."""
    listed = ",".join(f"{language}={checksum}" for language, checksum in models)
    digest = f"{settings.digest('fingerprint')} {settings.default_language} {listed}"
    return State(digest, settings.digest("rule"), ALGORITHM_REVISION, UNICODE_VERSION)
