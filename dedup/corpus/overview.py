"""What `dedup status`, `show` and `common` report: counts, sizes, stories, pins. Changes pins only.

Read next: `../cli/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dedup.corpus.arrays import hashes
from dedup.corpus.database import BACKFILL_LOCK_KEY, Cursor
from dedup.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a corpus.

    Attributes:
        counts: articles per status.
        unread: pending articles whose text has no fingerprint yet.
        limits: reason to number of pending articles that a safety limit left to the next backfill.
        failures: reason, without its numbers, to number of failed articles.
        sizes: table to bytes, indexes and out-of-line texts included.
        uncounted: whether the next backfill counts common sentences.
        backfill_running: whether a backfill is at work.
    """

    counts: dict[str, int]
    unread: int
    limits: dict[str, int]
    failures: dict[str, int]
    stories_with_copies: int
    similar_pairs: int
    common_sentences: int
    pins: int
    uncounted: bool
    backfill_running: bool
    last_marked_at: datetime | None
    sizes: dict[str, int]
    database_bytes: int


def overview(cursor: Cursor) -> Overview:
    """The state of the corpus now; reads every article's row once."""
    counts = cursor.execute("SELECT status, count(*) FROM dedup.article GROUP BY status").fetchall()
    limits = cursor.execute(
        "SELECT reason, count(*) FROM dedup.article"
        " WHERE status = 'pending' AND reason IS NOT NULL GROUP BY reason"
    ).fetchall()
    failures = cursor.execute(
        "SELECT split_part(reason, ':', 1), count(*) FROM dedup.article WHERE status = 'failed' GROUP BY 1"
    ).fetchall()
    sizes = cursor.execute("""
        SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
        WHERE c.relnamespace = 'dedup'::regnamespace AND c.relkind = 'r' ORDER BY 2 DESC
    """).fetchall()
    row = cursor.execute(
        """
        SELECT (SELECT count(*) FROM dedup.article a WHERE a.status = 'pending' AND NOT EXISTS (
                    SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id AND f.revision = a.revision)),
               (SELECT count(DISTINCT duplicate_of) FROM dedup.article WHERE duplicate_of IS NOT NULL),
               (SELECT count(*) FROM dedup.match WHERE relation = 'similar'),
               (SELECT count(*) FROM dedup.common_sentence),
               (SELECT count(*) FROM dedup.sentence_pin),
               (SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state),
               EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                       AND (classid::bigint << 32) | objid::bigint = %s),
               (SELECT max(marked_at) FROM dedup.article),
               pg_database_size(current_database())
        """,
        [BACKFILL_LOCK_KEY],
    ).fetchone()
    assert row is not None
    return Overview(
        counts=dict(counts),
        unread=row[0],
        limits=dict(limits),
        failures=dict(failures),
        stories_with_copies=row[1],
        similar_pairs=row[2],
        common_sentences=row[3],
        pins=row[4],
        uncounted=row[5],
        backfill_running=row[6],
        last_marked_at=row[7],
        sizes=dict(sizes),
        database_bytes=row[8],
    )


@dataclass(frozen=True, slots=True)
class Member:
    """An article of a story, without its text."""

    id: str
    title: str | None
    publication: str | None
    time: datetime
    status: str
    score: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """An article, and its story: the canonical article first, then its duplicates by time."""

    article: Member
    text: str
    url: str | None
    language: str | None
    members: tuple[Member, ...]


_MEMBER = "source_id, title, publication, coalesce(published_at, added_at), status, score, reason"


def story(cursor: Cursor, source_id: str) -> Story:
    """The article with this source_id, and its story.

    Raises:
        NotFoundError: it is not stored.
    """
    row = cursor.execute(
        f"SELECT {_MEMBER}, text, url, language, coalesce(duplicate_of, id)"
        " FROM dedup.article WHERE source_id = %s",
        [source_id],
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no article with source_id {source_id!r}")
    members = cursor.execute(
        f"SELECT {_MEMBER} FROM dedup.article WHERE id = %(id)s OR duplicate_of = %(id)s"
        " ORDER BY duplicate_of IS NOT NULL, coalesce(published_at, added_at), source_id",
        {"id": row[10]},
    ).fetchall()
    return Story(Member(*row[:7]), row[7], row[8], row[9], tuple(Member(*member) for member in members))


@dataclass(frozen=True, slots=True)
class CommonSentence:
    """A common or pinned sentence.

    Attributes:
        common: whether it is ignored now.
        pin: "always", "never", or None; a new pin acts with the next backfill.
    """

    sentence_hash: int
    stories: int | None
    common: bool
    pin: str | None
    example: str | None
    since: datetime | None


def common_sentences(cursor: Cursor, limit: int | None = None) -> list[CommonSentence]:
    """The common and the pinned sentences, those of most stories first."""
    rows = cursor.execute(
        """
        SELECT sentence_hash, c.stories, c.sentence_hash IS NOT NULL,
               CASE p.common WHEN true THEN 'always' WHEN false THEN 'never' END,
               coalesce(c.example, p.example), c.since
        FROM dedup.common_sentence c FULL JOIN dedup.sentence_pin p USING (sentence_hash)
        ORDER BY c.stories DESC NULLS LAST, sentence_hash LIMIT %s
        """,
        [limit],
    )
    return [CommonSentence(*row) for row in rows.fetchall()]


def pin(cursor: Cursor, sentence_hash: int, common: bool, example: str | None) -> None:
    """Declare a sentence always or never common; the next backfill acts on it."""
    cursor.execute(
        """
        INSERT INTO dedup.sentence_pin (sentence_hash, common, example)
        VALUES (%(hash)s, %(common)s, coalesce(%(example)s::text,
            (SELECT example FROM dedup.common_sentence WHERE sentence_hash = %(hash)s)))
        ON CONFLICT (sentence_hash) DO UPDATE SET common = excluded.common, pinned_at = now(),
            example = coalesce(excluded.example, sentence_pin.example)
        """,
        {"hash": sentence_hash, "common": common, "example": example},
    )


def unpin(cursor: Cursor, keys: list[int]) -> int:
    """Take pins back; returns how many there were."""
    cursor.execute("DELETE FROM dedup.sentence_pin WHERE sentence_hash = ANY (%s)", [hashes(keys)])
    return cursor.rowcount
