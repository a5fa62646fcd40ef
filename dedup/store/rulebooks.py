"""Settings, sentence parameters and the state row: what a corpus is judged by, and will be.

A changed setting waits: everything goes on under the values in force until a backfill adopts the new ones, in
one transaction that makes stale whatever was made under the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from dedup.base.errors import SchemaError
from dedup.base.settings import Settings
from dedup.db import arrays
from dedup.db.database import Cursor, one_column, one_row
from dedup.db.statements import Statements
from dedup.store import articles, common_sentences, fingerprints, pins
from dedup.text import native
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION, Fingerprinter
from dedup.text.punkt import FILES, PunktModel

_sql = Statements("store/rulebooks")

MARKED_LATE = timedelta(minutes=10)
"""A mark carries the time at which its transaction began; none takes this long to be written."""

_NAMES = frozenset(field.name for field in fields(Settings))
_AT_ONCE = sorted(field.name for field in fields(Settings) if field.metadata["kind"] == "window")
"""The settings that nothing stored was made with: they need not be adopted."""


class StaleRulesError(Exception):
    """The settings or sentence parameters in force changed since they were loaded; load them again."""


@dataclass(frozen=True, slots=True)
class State:
    """What the stored results were made with."""

    # digest of the settings and sentence parameters of fingerprints; None in a new corpus
    fingerprints: str | None
    rules: str | None  # digest of the settings of marks
    algorithm: int  # revision of the fingerprint algorithm
    unicode: str | None  # version of the Unicode tables

    def same_program(self) -> bool:
        """Whether this program makes the same fingerprints. Raises SchemaError: a newer program made them."""
        if self.algorithm > ALGORITHM_REVISION:
            raise SchemaError("the fingerprints were made by a newer dedup; upgrade this program")
        return (self.algorithm, self.unicode) == (ALGORITHM_REVISION, UNICODE_VERSION)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What a corpus is judged by at one moment."""

    fingerprinter: Fingerprinter  # holds the settings and makes fingerprints by them
    models: dict[str, PunktModel]  # sentence parameters trained for this corpus, by language
    state: State

    @property
    def settings(self) -> Settings:
        return self.fingerprinter.settings

    def check(self, cursor: Cursor) -> None:
        """Make sure that the stored results are of this rulebook; call it under the settle lock."""
        if load_state(cursor) != self.state:
            raise StaleRulesError


def load_rulebook(cursor: Cursor) -> Rulebook:
    native.tell_if_missing()
    models = load_models(cursor)
    return Rulebook(Fingerprinter(load_settings(cursor), models), models, load_state(cursor))


def load_settings(cursor: Cursor) -> Settings:
    """The settings that marks are made with."""
    rows = cursor.execute(_sql("settings_in_force")).fetchall()
    return Settings().with_values(dict(rows))


def load_wanted(cursor: Cursor) -> Settings:
    """The settings that the next backfill puts in force."""
    rows = cursor.execute(_sql("settings_wanted")).fetchall()
    return Settings().with_values(dict(rows))


def load_models(cursor: Cursor, *, wanted: bool = False) -> dict[str, PunktModel]:
    """The sentence parameters trained for this corpus, by language. `wanted`: those that the next backfill
    adopts, in place of those in force.
    """
    rows = cursor.execute(_sql("models"), {"wanted": wanted}).fetchall()
    return {row[0]: PunktModel.from_files(dict(zip(FILES, row[1:], strict=True))) for row in rows}


def load_state(cursor: Cursor) -> State:
    return State(*one_row(cursor, _sql("state")))


def bulk_run(cursor: Cursor) -> int | None:
    """The run that settles the whole corpus at once, if one is at work; nobody else settles meanwhile."""
    row = cursor.execute(_sql("bulk_run")).fetchone()
    return row[0] if row else None


def change_settings(cursor: Cursor, values: Mapping[str, Any]) -> Settings:
    """Set some settings, for the next backfill to adopt; None goes back to the default. In a corpus without
    articles they are adopted at once. Needs the settle lock.
    """
    Settings().with_values({name: "" for name in values if name not in _NAMES})  # raises for unknown names
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
    _adopt_where_empty(cursor)
    return settings


def store_model(cursor: Cursor, language: str, model: PunktModel, articles: int) -> None:
    """Keep sentence parameters of a language, for the next backfill to adopt. Needs the settle lock."""
    values = {"language": language, "checksum": model.checksum, "articles": articles}
    files = {name.partition(".")[0]: content for name, content in model.to_files().items()}
    cursor.execute(_sql("write_model"), {**values, **files})
    _adopt_where_empty(cursor)


@dataclass(frozen=True, slots=True)
class Adoption:
    fingerprints: bool  # texts are fingerprinted again
    rules: bool  # everything is settled again
    program: bool  # the reason is a program of another revision, or with other Unicode tables

    def __bool__(self) -> bool:
        return self.fingerprints or self.rules


def waiting_adoption(cursor: Cursor) -> Adoption:
    """What the next backfill puts in force: settings, sentence parameters, the program; false if nothing."""
    state, wanted = load_state(cursor), _wanted_state(cursor)
    program = not state.same_program()
    return Adoption(
        program or state.fingerprints != wanted.fingerprints, state.rules != wanted.rules, program
    )


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """An adoption as it was planned, before articles were withdrawn for it page by page."""

    adoption: Adoption
    wanted: State  # what is adopted
    fingerprinter: Fingerprinter  # by it
    since: datetime  # articles marked after this may have to be withdrawn again


def plan_adoption(cursor: Cursor) -> AdoptionPlan:
    """What there is to adopt now. Raises SchemaError: the stored results were made by a newer program."""
    row = one_row(cursor, _sql("marked_since"), {"late": MARKED_LATE})
    fingerprinter = Fingerprinter(load_wanted(cursor), load_models(cursor, wanted=True))
    return AdoptionPlan(waiting_adoption(cursor), _wanted_state(cursor), fingerprinter, row[0])


def keep_pinned_words(cursor: Cursor, plan: AdoptionPlan) -> None:
    """Before fingerprints go: keep what lets pinned sentences follow a changed hash key."""
    present = load_rulebook(cursor).fingerprinter
    if present.settings.hash_key != plan.fingerprinter.settings.hash_key:
        pins.keep_words(cursor, present)


def page_of_articles(cursor: Cursor, after: int, limit: int) -> list[int]:
    return one_column(cursor, _sql("page_of_articles"), {"after": after, "limit": limit})


def withdraw_for(cursor: Cursor, plan: AdoptionPlan, ids: Sequence[int]) -> None:
    """Withdraw articles whose marks or fingerprints the plan makes again. Needs the settle lock. They keep
    their marks. It is right whether or not the plan is adopted in the end: what is withdrawn is settled
    again, by the rules in force then.
    """
    if plan.adoption.rules:
        articles.withdraw(cursor, ids)
    if not plan.adoption.fingerprints:
        return
    rows = cursor.execute(_sql("fingerprint_versions"), {"ids": arrays.bigints(ids)}).fetchall()
    fingerprints.drop(cursor, [row[0] for row in rows if row[1] != plan.fingerprinter.version(row[2])])
    fingerprints.read_again(cursor, ids)  # what could not be read before may be readable now


def adopt(cursor: Cursor, plan: AdoptionPlan | None = None, through: int = 0) -> None:
    """Put the wanted settings, parameters and program in force. Needs the settle lock. Whatever was made
    under others becomes stale and keeps its mark. New rules keep the fingerprints; where fingerprints change,
    those of another version are dropped. `plan`: articles were withdrawn for it, up to the id `through`; what
    was marked since is withdrawn here. None: nothing was withdrawn yet.
    """
    present = plan_adoption(cursor)
    if plan is not None and plan.wanted != present.wanted:
        raise StaleRulesError
    keep_pinned_words(cursor, present)
    before = load_rulebook(cursor).fingerprinter
    since = plan.since if plan else None
    left = one_column(cursor, _sql("not_withdrawn"), {"through": through, "since": since})
    withdraw_for(cursor, plan or present, left)
    for name in ("delete_reset_settings", "adopt_settings", "delete_replaced_models", "adopt_models"):
        cursor.execute(_sql(name))
    after = load_rulebook(cursor).fingerprinter
    if after.settings.hash_key != before.settings.hash_key:
        pins.rehash(cursor, before, after)
    if present.adoption:
        common_sentences.count_again(cursor)
    cursor.execute(_sql("write_state"), asdict(present.wanted))


def nothing_unsettled(cursor: Cursor) -> bool:
    return bool(one_row(cursor, _sql("nothing_unsettled"))[0])


def any_article(cursor: Cursor) -> bool:
    return bool(one_row(cursor, _sql("any_article"))[0])


def _adopt_where_empty(cursor: Cursor) -> None:
    if not any_article(cursor):
        adopt(cursor)


def _wanted_state(cursor: Cursor) -> State:
    rows = cursor.execute(_sql("wanted_checksums")).fetchall()
    return state_of(load_wanted(cursor), rows)


def state_in_force(cursor: Cursor) -> State:
    """What the stored results are made with, going by the settings in force."""
    rows = cursor.execute(_sql("checksums")).fetchall()
    stored = load_state(cursor)
    return replace(state_of(load_settings(cursor), rows), algorithm=stored.algorithm, unicode=stored.unicode)


def damaged_models(cursor: Cursor) -> list[str]:
    """The languages whose sentence parameters are not those that their checksum was made of."""
    rows = cursor.execute(_sql("checksums")).fetchall()
    models = load_models(cursor)
    return sorted(language for language, checksum in rows if models[language].checksum != checksum)


def state_of(settings: Settings, models: Sequence[tuple[str, str]] = ()) -> State:
    """What this program makes by some settings, and models by their languages and checksums."""
    listed = ",".join(f"{language}={checksum}" for language, checksum in models)
    digest = f"{settings.digest('fingerprint')} {settings.default_language} {listed}"
    return State(digest, settings.digest("rule"), ALGORITHM_REVISION, UNICODE_VERSION)
