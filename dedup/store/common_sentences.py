"""Counts the carriers of each sentence (the articles that contain it), and stores the common sentences.

See docs/semantics.md, section 2. Counts of sentences with many carriers are stored; a later count adds only
what changed. `../rules/common.py` decides which sentences are common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.base.settings import Settings
from dedup.db import arrays
from dedup.db.arrays import Bigints
from dedup.db.database import Cursor, one_column, one_row, prefer_indexes
from dedup.db.statements import Statements
from dedup.rules.common import effective_stories, is_common
from dedup.store import articles

_sql = Statements("store/common_sentences")

NO_BIGINTS = arrays.bigints(())


@dataclass(frozen=True, slots=True)
class SentenceCount:
    """Counts that decide whether a sentence is common."""

    sentence_hash: int
    carriers: int  # number of articles that carry the sentence
    pairs: int  # ordered pairs of carriers with similar texts (an equal bucket key): P in `rules.common`
    carrier: int | None  # id of an article that has the sentence, to show its words; None if unknown


@dataclass(frozen=True, slots=True)
class CommonChange:
    sentence_hash: int
    carriers: int
    effective_stories: float | None  # estimated number of stories; None if the sentence stops being common
    carrier: int | None
    enters: bool  # the sentence becomes common
    leaves: bool  # the sentence stops being common; without `enters` and `leaves`, only counts changed


def take_changes(cursor: Cursor) -> tuple[bool, Bigints, int]:
    """Return whether every sentence must be counted, the ids of the changes that are not counted yet, and an
    estimate of the number of fingerprints. Pass the ids to `finish`."""
    row = one_row(cursor, _sql("waiting_changes"))
    return row[0], row[1], row[2]


def must_count(cursor: Cursor) -> bool:
    """Return whether any sentence may have become common, or stopped being common, since the last count."""
    return bool(one_row(cursor, _sql("anything_to_count"))[0])


def request_full_count(cursor: Cursor) -> None:
    cursor.execute(_sql("count_again"))


def count_all(
    cursor: Cursor, settings: Settings, table: str = "dedup.fingerprint", watched: Bigints = NO_BIGINTS
) -> list[SentenceCount]:
    """Count every sentence with more than `common_stories` carriers, in two passes over all fingerprints.

    `watched`: sentences to count even if few articles carry them.
    """
    values = {"limit": settings.common_stories, "watched": watched}
    rows = cursor.execute(_sql("count_every_sentence", fingerprints=table), values).fetchall()
    return [SentenceCount(*row) for row in rows]


def count_changed(cursor: Cursor, settings: Settings) -> list[SentenceCount]:
    """Count sentences whose carriers changed since the last count, in the transaction of `take_changes`."""
    # The transaction must be REPEATABLE READ, so that all statements see the same changes and fingerprints.
    prefer_indexes(cursor)
    for statement in (
        *("drop_taken_changes", "taken_changes", "analyze_taken_changes"),
        *("net_changes", "analyze_net_changes"),
        *("touched_sentences", "index_touched_sentences", "analyze_touched_sentences", "prefer_hash_joins"),
    ):
        cursor.execute(_sql(statement))
    rows = cursor.execute(_sql("count_kept_sentences")).fetchall()
    rows += cursor.execute(_sql("count_other_sentences"), {"limit": settings.common_stories}).fetchall()
    return [SentenceCount(*row) for row in rows]


def find_changes(
    cursor: Cursor,
    counts: Sequence[SentenceCount],
    settings: Settings,
    *,
    everything: bool,
    complete: bool = False,
) -> list[CommonChange]:
    """Compare new counts with the table of common sentences; return the changes to make in the table.

    `everything`: `counts` contains every sentence with many carriers, not only the changed sentences.
    `complete`: `counts` also contains every common or pinned sentence that has any carrier.
    """
    counted = {count.sentence_hash: count for count in counts}
    present = load_common(cursor, None if everything else list(counted))
    pins = dict(cursor.execute(_sql("pins")).fetchall())
    if everything:
        for sentence in (present.keys() | pins.keys()) - counted.keys():
            counted[sentence] = SentenceCount(sentence, 0, 0, None)
            if not complete:
                row = one_row(cursor, _sql("count_one_sentence"), {"sentence": sentence})
                counted[sentence] = SentenceCount(sentence, *row)
    changed = []
    for sentence, count in sorted(counted.items()):
        wanted = pins.get(
            sentence, is_common(count.carriers, count.pairs, settings.buckets, settings.common_stories)
        )
        stories = effective_stories(count.carriers, count.pairs, settings.buckets)
        if wanted and present.get(sentence) != (count.carriers, stories):
            enters = sentence not in present
            changed.append(CommonChange(sentence, count.carriers, stories, count.carrier, enters, False))
        elif not wanted and sentence in present:
            changed.append(CommonChange(sentence, count.carriers, None, None, False, True))
    return changed


def load_common(cursor: Cursor, among: Sequence[int] | None = None) -> dict[int, tuple[int, float]]:
    """Map common sentences to numbers of carriers and effective stories. `among`: only these sentences."""
    keys = None if among is None else arrays.bigints(among)
    rows = cursor.execute(_sql("stored"), {"keys": keys})
    return {row[0]: (row[1], row[2]) for row in rows.fetchall()}


def find_carriers(cursor: Cursor, sentences: Sequence[int]) -> list[int]:
    return one_column(cursor, _sql("carriers"), {"sentences": arrays.bigints(sentences)})


def find_rescored(cursor: Cursor, changed: Sequence[CommonChange]) -> list[int]:
    """Return the articles that have a sentence that becomes common, or stops being common."""
    moved = [c.sentence_hash for c in changed if c.enters or c.leaves]
    return find_carriers(cursor, moved) if moved else []


def apply(
    cursor: Cursor, changed: Sequence[CommonChange], carriers: Sequence[int], examples: dict[int, str]
) -> None:
    if carriers:
        # Scores ignore common sentences, so the scores of the carriers change.
        articles.withdraw(cursor, carriers)
    leaving = arrays.bigints([c.sentence_hash for c in changed if c.leaves])
    cursor.execute(_sql("delete_common"), {"sentences": leaving})
    kept = [c for c in changed if not c.leaves]
    cursor.execute(
        _sql("write_common"),
        {
            "sentences": arrays.bigints([c.sentence_hash for c in kept]),
            "carriers": [c.carriers for c in kept],
            "stories": [c.effective_stories for c in kept],
            "examples": [examples.get(c.sentence_hash) for c in kept],
        },
    )


def finish(
    cursor: Cursor, counts: Sequence[SentenceCount], taken: Bigints, settings: Settings, *, everything: bool
) -> None:
    """Store counts and delete the changes that were counted. Needs the settle lock."""
    if everything:
        cursor.execute(_sql("delete_all_counts"))
        cursor.execute(_sql("note_counted"))
    few = [c.sentence_hash for c in counts if c.carriers <= settings.common_stories]
    many = [c for c in counts if c.carriers > settings.common_stories]
    cursor.execute(_sql("delete_counts"), {"sentences": arrays.bigints(few)})
    cursor.execute(
        _sql("write_counts"),
        {
            "sentences": arrays.bigints([c.sentence_hash for c in many]),
            "carriers": [c.carriers for c in many],
            "pairs": arrays.bigints([c.pairs for c in many]),
        },
    )
    cursor.execute(_sql("delete_changes"), {"taken": taken})
