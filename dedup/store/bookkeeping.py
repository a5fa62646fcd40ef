"""Checks and repairs the data on which later marks depend: revisions, flags, counts, triggers.

See docs/reliability.md, promise 16. These checks only compare stored values, so they check whole tables.
`../settling/verify.py` recomputes marks, pairs and fingerprints, if wanted only of a sample.
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
    """Kinds of repair. The next backfill completes a repair."""

    SETTLE = auto()  # settle the article again
    FINGERPRINT = auto()  # fingerprint and settle the article again
    COUNT = auto()  # count every sentence again
    PLACE = auto()  # store again the time up to which articles are settled
    ADOPT = auto()  # apply the settings in force again, and settle all articles again
    DIVIDE = auto()  # check again which articles are so old that they must be archived
    CREDITS = auto()  # read the credits and the correction of the article again
    TABLES = auto()  # compare attached tables with their articles
    SCHEMA = auto()  # switch triggers on, remove rows that belong to no article, add missing rows


@dataclass(frozen=True, slots=True)
class Finding:
    words: str
    repair: Healing
    article_id: int | None = None  # None if the fault does not concern a single article


_OF_ARTICLES: tuple[tuple[str, Healing, str], ...] = (
    ("its fingerprint was made from another revision of its text", Healing.FINGERPRINT, "other_revision"),
    ("it is settled but has no fingerprint", Healing.SETTLE, "no_fingerprint"),
    ("it is settled but takes no part in comparisons", Healing.SETTLE, "takes_no_part"),
    ("it takes part in comparisons but was never settled", Healing.SETTLE, "never_settled"),
    ("its mark and its fingerprint disagree on whether it is an original", Healing.SETTLE, "flag_disagrees"),
    ("it failed but has a fingerprint or pairs", Healing.FINGERPRINT, "failed_with_more"),
    ("it failed but has credits or a correction", Healing.CREDITS, "failed_with_credits"),
    ("it is archived but has a fingerprint", Healing.FINGERPRINT, "archived_with_fingerprint"),
    ("it is not archived but its original is archived", Healing.SETTLE, "original_archived"),
    ("its mark does not follow from its pairs", Healing.SETTLE, "pairs_disagree"),
)
"""Faults of single articles: message, repair, and the statement that returns the faulty articles."""

_COUNTED: tuple[tuple[str, Healing, str], ...] = (
    ("fingerprints that belong to no article", Healing.SCHEMA, "count_lost_fingerprints"),
    ("pairs that belong to no article", Healing.SCHEMA, "count_lost_pairs"),
    ("articles whose mark is missing or disagrees with the article", Healing.SCHEMA, "count_missing_marks"),
    ("marks that belong to no article", Healing.SCHEMA, "count_lost_marks"),
    ("credits that belong to no article or no agency", Healing.SCHEMA, "count_lost_credits"),
    ("corrections that belong to no article or no phrase", Healing.SCHEMA, "count_lost_corrections"),
    ("pairs of an archived and an unarchived article", Healing.SCHEMA, "count_crossing_pairs"),
    ("triggers that are not ENABLE ALWAYS, so they may miss changes", Healing.SCHEMA, "count_triggers"),
    ("missing rows of dedup.settle_turn", Healing.SCHEMA, "count_missing_turn"),
)
"""Faults that are only counted: message, repair, and the statement that counts the faults."""


def find_faults(cursor: Cursor, settings: Settings) -> Iterator[Finding]:
    """Yield all faults in the corpus; this reads whole tables."""
    for words, repair, statement in _OF_ARTICLES:
        for article_id, source_id in cursor.execute(_sql(statement)).fetchall():
            yield Finding(f"{source_id}: {words}", repair, article_id)
    for words, repair, statement in _COUNTED:
        if count := one_row(cursor, _sql(statement))[0]:
            yield Finding(f"{words}: {count:,}", repair)
    if absent := key_segments.count_absent(cursor):
        yield Finding(
            f"{counted(absent, 'article is', 'articles are')} missing some index entries", Healing.SCHEMA
        )
    if wrong := window.count_wrong_side(cursor, settings):
        yield Finding(
            f"{counted(wrong, 'article is', 'articles are')} wrongly archived or unarchived", Healing.DIVIDE
        )
    if one_row(cursor, _sql("later_than_noted"), order_parameters(settings))[0]:
        yield Finding("settled articles are later than `settled_through` in corpus_state", Healing.PLACE)


@dataclass(slots=True)
class Repairs:
    settle: set[int] = field(default_factory=set)  # ids of articles, as in the next two fields
    fingerprint: set[int] = field(default_factory=set)
    credits: set[int] = field(default_factory=set)
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
    """Make settled articles stale, so that they are settled again. Needs the settle lock. `fingerprint`: also
    drop the fingerprints of all these articles, and make failed articles pending."""
    # A mark cannot point to an original that is gone, so duplicates without an original become pending.
    cursor.execute(_sql("unmark_without_original"), {"ids": bigints(ids)})
    if fingerprint:
        fingerprints.drop(cursor, ids)
        articles.remove_pairs(cursor, fingerprints.read_again(cursor, ids))
    else:
        articles.withdraw(cursor, ids)


def repair_lock(cursor: Cursor) -> None:
    """Add the row of the settle lock if it is missing; without that row nobody can hold the lock."""
    cursor.execute(_sql("add_turn"))


def repair_others(cursor: Cursor, repairs: Collection[Healing]) -> None:
    """Make the repairs that concern the whole corpus, not single articles. Needs the settle lock."""
    if Healing.SCHEMA in repairs:
        for statement in (
            *("delete_lost_pairs", "delete_lost_fingerprints", "delete_lost_marks", "delete_lost_credits"),
            *("delete_lost_corrections", "add_missing_marks", "delete_crossing_pairs", "fire_always"),
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
        common_sentences.request_full_count(cursor)
