"""What later marks rest on, checked over whole tables and healed (docs/reliability.md, promise 16).

`../settling/verify.py` recomputes marks, pairs and fingerprints; here is what holds them together: revisions,
flags, places in time, counts, triggers. Cheap enough to be checked in full where the rest is sampled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from dedup.attach import outbox
from dedup.base.settings import Settings
from dedup.base.words import counted
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.store import articles, common_sentences, fingerprints, key_segments, window
from dedup.store.settling import order_parameters

_sql = Statements("store/bookkeeping")


class Healing(Enum):
    """How a difference is healed; the next backfill does the rest."""

    SETTLE = auto()  # the article is settled again
    FINGERPRINT = auto()  # the article is fingerprinted and settled again
    COUNT = auto()  # every sentence is counted again
    PLACE = auto()  # up to when articles are settled is looked up again
    ADOPT = auto()  # the settings in force are adopted again, and everything is settled again
    DIVIDE = auto()  # all articles are divided by the horizon again
    CREDITS = auto()  # the credits of the article are read again
    TABLES = auto()  # attached tables are compared with their articles
    SCHEMA = auto()
    """Triggers are switched on, rows that belong to no article are removed, and missing marks begin again."""


@dataclass(frozen=True, slots=True)
class Finding:
    words: str
    repair: Healing
    article_id: int | None = None  # of the article it is about; None where it is about none


_OF_ARTICLES: tuple[tuple[str, Healing, str], ...] = (
    ("the fingerprint is of another revision of its text", Healing.FINGERPRINT, "other_revision"),
    ("it is settled and has no fingerprint", Healing.SETTLE, "no_fingerprint"),
    ("it is settled and takes no part", Healing.SETTLE, "takes_no_part"),
    ("it takes part and was never settled", Healing.SETTLE, "never_settled"),
    ("its mark and its canonical flag disagree", Healing.SETTLE, "flag_disagrees"),
    ("it failed and has a fingerprint or pairs", Healing.FINGERPRINT, "failed_with_more"),
    ("it failed and has credits", Healing.CREDITS, "failed_with_credits"),
    ("it is archived and has a fingerprint", Healing.FINGERPRINT, "archived_with_fingerprint"),
    ("it is not archived, and its original is", Healing.SETTLE, "original_archived"),
    ("its mark and its pairs disagree", Healing.SETTLE, "pairs_disagree"),
)
"""What is wrong with an article, how it is healed, and the statement that finds it."""

_COUNTED: tuple[tuple[str, Healing, str], ...] = (
    ("fingerprints belong to no article", Healing.SCHEMA, "count_lost_fingerprints"),
    ("pairs belong to no article", Healing.SCHEMA, "count_lost_pairs"),
    ("articles have no mark, or one of another time or table", Healing.SCHEMA, "count_missing_marks"),
    ("marks belong to no article", Healing.SCHEMA, "count_lost_marks"),
    ("credits belong to no article or no agency", Healing.SCHEMA, "count_lost_credits"),
    ("pairs of an archived article with one that is not", Healing.SCHEMA, "count_crossing_pairs"),
    ("triggers do not fire always, so that changes go unseen", Healing.SCHEMA, "count_triggers"),
    ("rows fewer than one in dedup.settle_turn", Healing.SCHEMA, "count_missing_turn"),
)
"""What is wrong in so many places, how it is healed, and the statement that counts it."""


def findings(cursor: Cursor, settings: Settings) -> Iterator[Finding]:
    """Everything that is not as it should be; reads whole tables."""
    for words, repair, statement in _OF_ARTICLES:
        for article_id, source_id in cursor.execute(_sql(statement)).fetchall():
            yield Finding(f"{source_id}: {words}", repair, article_id)
    for words, repair, statement in _COUNTED:
        if count := one_row(cursor, _sql(statement))[0]:
            yield Finding(f"{count:,} {words}", repair)
    if absent := key_segments.count_absent(cursor):
        yield Finding(
            f"{counted(absent, 'article is', 'articles are')} not found by some of their keys", Healing.SCHEMA
        )
    if wrong := window.wrong_side(cursor, settings):
        yield Finding(
            f"{counted(wrong, 'article is', 'articles are')} on the wrong side of the horizon", Healing.DIVIDE
        )
    if one_row(cursor, _sql("later_than_noted"), order_parameters(settings))[0]:
        yield Finding("articles are settled that are later than dedup.corpus_state says", Healing.PLACE)


@dataclass(slots=True)
class Repairs:
    # settle, fingerprint: ids of articles to be settled, or fingerprinted and settled, again
    settle: set[int] = field(default_factory=set)
    fingerprint: set[int] = field(default_factory=set)
    credits: set[int] = field(default_factory=set)  # of articles whose credits are to be read again
    others: set[Healing] = field(default_factory=set)

    def add(self, repair: Healing, ids: Collection[int] = ()) -> None:
        if repair is Healing.SETTLE:
            self.settle.update(ids)
        elif repair is Healing.FINGERPRINT:
            self.fingerprint.update(ids)
        elif repair is Healing.CREDITS:
            self.credits.update(ids)
        else:
            self.others.add(repair)


def settle_again(cursor: Cursor, ids: Collection[int], *, fingerprint: bool = False) -> None:
    """Have articles settled again, whatever they are marked. Needs the settle lock. `fingerprint`: drop their
    fingerprints too, and let failed ones be tried again.
    """
    cursor.execute(_sql("unmark_without_original"), {"ids": bigints(ids)})
    if fingerprint:
        fingerprints.drop(cursor, ids)
        articles.remove_pairs(cursor, fingerprints.read_again(cursor, ids))
    else:
        articles.withdraw(cursor, ids)


def repair_lock(cursor: Cursor) -> None:
    """Give the settle lock its row, without which nobody can hold it."""
    cursor.execute(_sql("add_turn"))


def repair_others(cursor: Cursor, repairs: Collection[Healing]) -> None:
    """Heal what is about no single article. Needs the settle lock."""
    if Healing.SCHEMA in repairs:
        for statement in (
            *("delete_lost_pairs", "delete_lost_fingerprints", "delete_lost_marks", "delete_lost_credits"),
            *("add_missing_marks", "delete_crossing_pairs", "fire_always"),
        ):
            cursor.execute(_sql(statement))
        key_segments.add_absent(cursor)
    if Healing.TABLES in repairs:
        outbox.note_whole(cursor)
    if Healing.PLACE in repairs:
        cursor.execute(_sql("forget_place"))
    if Healing.ADOPT in repairs:
        cursor.execute(_sql("forget_digests"))
    if Healing.DIVIDE in repairs:
        window.note_divided(cursor, None)
    if Healing.COUNT in repairs:
        common_sentences.count_again(cursor)
