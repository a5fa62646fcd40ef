"""Counting the carriers of sentences, and changing which are common (docs/semantics.md, section 2).

Counts are kept for every sentence that enough articles carry, and changed by difference. The rule itself is
in `../rules/common.py`; when it is applied, in `../engine/refresh.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.corpus import arrays, articles
from dedup.corpus.arrays import Bigints
from dedup.corpus.database import Cursor, prefer_indexes
from dedup.corpus.statements import Statements
from dedup.rules.common import effective_stories, is_common
from dedup.settings import Settings

_sql = Statements("common_sentences")

NO_BIGINTS = arrays.bigints(())


@dataclass(frozen=True, slots=True)
class SentenceCount:
    """What decides whether a sentence is common."""

    sentence_hash: int
    carriers: int  # articles that carry it
    pairs: int  # ordered pairs of them with an equal bucket key, summed over the bands
    carrier: int | None  # the id of one of them, for the example; None where it is not known


@dataclass(frozen=True, slots=True)
class CommonChange:
    """A change of the table of common sentences."""

    sentence_hash: int
    carriers: int
    effective_stories: float | None  # see `rules.common`; None for a sentence that leaves the table
    carrier: int | None
    # enters, leaves: whether it becomes common, or stops being common; neither: its counts changed
    enters: bool
    leaves: bool


def take_changes(cursor: Cursor) -> tuple[bool, Bigints, int]:
    """The changes that this transaction sees; `finish` removes just these. Returns whether everything must be
    counted, the numbers of the changes that wait, and how many fingerprints there are, as the planner knows.
    """
    row = cursor.execute("""
        SELECT s.recount_all, coalesce((SELECT array_agg(id) FROM dedup.sentence_change), '{}'),
               (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.fingerprint'::regclass)
        FROM dedup.corpus_state s
    """).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def anything_to_count(cursor: Cursor) -> bool:
    """Whether a sentence may have become common, or stopped being common, since the last count."""
    row = cursor.execute(
        "SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state"
    ).fetchone()
    return bool(row and row[0])


def count_all(
    cursor: Cursor, settings: Settings, table: str = "dedup.fingerprint", watched: Bigints = NO_BIGINTS
) -> list[SentenceCount]:
    """Count every sentence of more than `common_stories` carriers, in two passes over all fingerprints.
    `table`: where the fingerprints are. `watched`: sentences that are counted however few carry them.
    """
    rows = cursor.execute(
        _sql("count_every_sentence", fingerprints=table),
        {"limit": settings.common_stories, "watched": watched},
    ).fetchall()
    return [SentenceCount(*row) for row in rows]


def count_changed(cursor: Cursor, settings: Settings) -> list[SentenceCount]:
    """Count again the sentences of the waiting changes, through the indexes. The changes and the fingerprints
    must be seen at one moment: call it in a REPEATABLE READ transaction, the one that took them.
    """
    prefer_indexes(cursor)
    cursor.execute("DROP TABLE IF EXISTS pg_temp.taken_change, pg_temp.net_change, pg_temp.touched_sentence")
    cursor.execute(
        "CREATE TEMPORARY TABLE taken_change ON COMMIT DROP AS SELECT id FROM dedup.sentence_change"
    )
    cursor.execute("ANALYZE pg_temp.taken_change")
    cursor.execute(_sql("net_changes"))
    cursor.execute("ANALYZE pg_temp.net_change")
    cursor.execute(_sql("touched_sentences"))
    cursor.execute("CREATE INDEX ON pg_temp.touched_sentence (sentence_hash)")
    cursor.execute("ANALYZE pg_temp.touched_sentence")
    # What is joined next is small and of known size; the functions in it set their own ways to the rows.
    cursor.execute(
        "SELECT set_config('enable_hashjoin', 'on', true), set_config('enable_seqscan', 'on', true)"
    )
    rows = cursor.execute(_sql("count_kept_sentences")).fetchall()
    rows += cursor.execute(_sql("count_other_sentences"), {"limit": settings.common_stories}).fetchall()
    return [SentenceCount(*row) for row in rows]


def changes(
    cursor: Cursor,
    counts: Sequence[SentenceCount],
    settings: Settings,
    *,
    everything: bool,
    complete: bool = False,
) -> list[CommonChange]:
    """What to change in the table of common sentences. `everything`: the counts are of all sentences; those
    not among them are carried by few. `complete`: of those that are common or pinned too; nobody carries one
    that is not among them.
    """
    counted = {count.sentence_hash: count for count in counts}
    present = stored(cursor, None if everything else list(counted))
    pins = dict(cursor.execute("SELECT sentence_hash, common FROM dedup.sentence_pin").fetchall())
    if everything:
        for sentence in (present.keys() | pins.keys()) - counted.keys():
            found = (0, 0, None) if complete else _count_one(cursor, sentence)
            counted[sentence] = SentenceCount(sentence, *found)
    changed = []
    for sentence, count in sorted(counted.items()):
        wanted = pins.get(
            sentence, is_common(count.carriers, count.pairs, settings.bands, settings.common_stories)
        )
        stories = effective_stories(count.carriers, count.pairs, settings.bands)
        if wanted and present.get(sentence) != (count.carriers, stories):
            enters = sentence not in present
            changed.append(CommonChange(sentence, count.carriers, stories, count.carrier, enters, False))
        elif not wanted and sentence in present:
            changed.append(CommonChange(sentence, count.carriers, None, None, False, True))
    return changed


def stored(cursor: Cursor, among: Sequence[int] | None = None) -> dict[int, tuple[int, float]]:
    """The common sentences, all or those among some, with their carriers and effective stories."""
    keys = None if among is None else arrays.bigints(among)
    rows = cursor.execute(
        "SELECT sentence_hash, carriers, effective_stories FROM dedup.common_sentence"
        " WHERE %(keys)s::bigint[] IS NULL OR sentence_hash = ANY (%(keys)s::bigint[])",
        {"keys": keys},
    )
    return {row[0]: (row[1], row[2]) for row in rows.fetchall()}


def _count_one(cursor: Cursor, sentence: int) -> tuple[int, int, int | None]:
    """Carriers, agreeing pairs and a carrier of a sentence that few articles carry."""
    row = cursor.execute(_sql("count_one_sentence"), {"sentence": sentence}).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def carriers(cursor: Cursor, sentences: Sequence[int]) -> list[int]:
    rows = cursor.execute("SELECT DISTINCT article_id FROM dedup.carrier(%s)", [arrays.bigints(sentences)])
    return [row[0] for row in rows.fetchall()]


def carriers_of(cursor: Cursor, changed: Sequence[CommonChange]) -> list[int]:
    """The articles whose scores change with these sentences: the carriers of those that enter or leave."""
    moved = [c.sentence_hash for c in changed if c.enters or c.leaves]
    return carriers(cursor, moved) if moved else []


def apply(
    cursor: Cursor, changed: Sequence[CommonChange], carriers: Sequence[int], examples: dict[int, str]
) -> None:
    if carriers:
        articles.withdraw(cursor, carriers)
    cursor.execute(
        "DELETE FROM dedup.common_sentence WHERE sentence_hash = ANY (%s::bigint[])",
        [arrays.bigints([c.sentence_hash for c in changed if c.leaves])],
    )
    kept = [c for c in changed if not c.leaves]
    cursor.execute(
        """
        INSERT INTO dedup.common_sentence (sentence_hash, carriers, effective_stories, example)
        SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::double precision[], %s::text[])
        ON CONFLICT (sentence_hash) DO UPDATE
            SET carriers = excluded.carriers, effective_stories = excluded.effective_stories
        """,
        [
            arrays.bigints([c.sentence_hash for c in kept]),
            [c.carriers for c in kept],
            [c.effective_stories for c in kept],
            [examples.get(c.sentence_hash) for c in kept],
        ],
    )


def finish(
    cursor: Cursor, counts: Sequence[SentenceCount], taken: Bigints, settings: Settings, *, everything: bool
) -> None:
    """Keep the counts and forget the changes that were taken, in one transaction. Needs the settle lock."""
    if everything:
        cursor.execute("DELETE FROM dedup.sentence_count")
        cursor.execute("UPDATE dedup.corpus_state SET recount_all = false WHERE recount_all")
    few = [c.sentence_hash for c in counts if c.carriers <= settings.common_stories]
    many = [c for c in counts if c.carriers > settings.common_stories]
    cursor.execute(
        "DELETE FROM dedup.sentence_count WHERE sentence_hash = ANY (%s::bigint[])", [arrays.bigints(few)]
    )
    cursor.execute(
        """
        INSERT INTO dedup.sentence_count (sentence_hash, carriers, pairs)
        SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::bigint[])
        ON CONFLICT (sentence_hash) DO UPDATE SET carriers = excluded.carriers, pairs = excluded.pairs
        """,
        [
            arrays.bigints([c.sentence_hash for c in many]),
            [c.carriers for c in many],
            arrays.bigints([c.pairs for c in many]),
        ],
    )
    cursor.execute("DELETE FROM dedup.sentence_change WHERE id = ANY (%s)", [taken])
