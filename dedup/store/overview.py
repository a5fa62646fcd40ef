"""What `dedup status` and `common` report: counts, sizes, common sentences. Read-only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dedup.attach import outbox
from dedup.base.answer import Answer
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.runs import runs
from dedup.runs.runs import Run
from dedup.store import articles

_sql = Statements("store/overview")


@dataclass(frozen=True, slots=True)
class Holder(Answer):
    """A session that holds the settle lock."""

    pid: int
    application: str  # as it names itself
    state: str | None  # such as "active" or "idle in transaction"
    seconds: float | None  # for how long its transaction has lasted; None where that may not be seen

    def __str__(self) -> str:
        lasted = "" if self.seconds is None else f", for {self.seconds:.0f} s"
        return f"server process {self.pid} ({self.application or 'unnamed'}: {self.state}{lasted})"


@dataclass(frozen=True, slots=True)
class Overview(Answer):
    """The state of a corpus.

    Attributes:
        counts: articles per status.
        unfingerprinted: articles whose present text has no fingerprint yet.
        stale: articles with a mark that must be settled again.
        limits: safety limit to number of articles that it left to the next backfill.
        failures: reason, without its numbers, to number of failed articles.
        sizes: table to bytes, indexes and out-of-line texts included.
        bytes_per_article: the same of tables that grow with the corpus, for each article; the texts of the
            articles are told apart as "text".
        horizon: articles before it are archived; None: none is. archived: how many are.
        uncounted: whether the next backfill counts common sentences.
        backfill: the one at work, or the import; None where neither is.
        held_by: who holds the settle lock at this moment, or None.
        deferred: versions of articles deferred by a hook, since others held them.
        changes: changes of attached tables that are noted and not read yet.
    """

    counts: dict[str, int]
    unfingerprinted: int
    stale: int
    stories_with_copies: int
    similar_pairs: int
    common_sentences: int
    sentence_pins: int
    pair_pins: int
    horizon: datetime | None
    archived: int
    uncounted: bool
    backfill: Run | None
    held_by: Holder | None
    deferred: int
    changes: int
    limits: dict[str, int]
    failures: dict[str, int]
    last_marked_at: datetime | None
    sizes: dict[str, int]
    bytes_per_article: dict[str, float]
    database_bytes: int


_OVERVIEW = (
    *("unfingerprinted", "stale", "stories_with_copies", "similar_pairs", "common_sentences"),
    *("sentence_pins", "pair_pins", "horizon", "archived", "uncounted"),
    *("last_marked_at", "database_bytes", "text_bytes"),
)
"""The columns of `overview.sql`."""


def overview(cursor: Cursor) -> Overview:
    """The state of the corpus: counts, sizes, what is at work, what limits fired."""
    names = ("statuses", "limits", "failures")
    counts, limits, failures = (dict(cursor.execute(_sql(name)).fetchall()) for name in names)
    sizes = table_sizes(cursor)
    row = one_row(cursor, _sql("overview"))
    found = dict(zip(_OVERVIEW, row, strict=True))
    run = runs.current(cursor, "backfill")
    holder = cursor.execute(_sql("holder")).fetchone()
    return Overview(
        counts=counts,
        limits=limits,
        failures=failures,
        sizes=sizes,
        bytes_per_article=_per_article(sizes, found.pop("text_bytes"), sum(counts.values())),
        backfill=None if run and run.gone else run,
        held_by=Holder(*holder) if holder else None,
        deferred=articles.count_deferred(cursor),
        changes=outbox.count(cursor),
        **found,
    )


SMALLEST_SHOWN = 0.5
"""Bytes per article below which a table is left out: it does not grow with the corpus."""


def _per_article(sizes: dict[str, int], text_bytes: int, articles: int) -> dict[str, float]:
    if not articles:
        return {}
    parts = {"text": text_bytes, **sizes}
    parts["article"] = max(0, parts.get("article", 0) - text_bytes)
    return {
        name: round(size / articles, 1) for name, size in parts.items() if size >= SMALLEST_SHOWN * articles
    }


def table_sizes(cursor: Cursor) -> dict[str, int]:
    """Table to bytes, indexes and out-of-line texts included, the largest first."""
    return dict(cursor.execute(_sql("sizes")).fetchall())


@dataclass(frozen=True, slots=True)
class CommonSentence(Answer):
    """A common or pinned sentence."""

    sentence_hash: int
    carriers: int | None
    effective_stories: float | None
    common: bool  # whether it is ignored now
    pin: str | None  # "always", "never", or None; a new pin acts with the next backfill
    example: str | None
    since: datetime | None


def common_sentences(cursor: Cursor, limit: int | None = None) -> list[CommonSentence]:
    """The common and the pinned sentences, those of most effective stories first."""
    rows = cursor.execute(_sql("common_sentences"), {"limit": limit})
    return [CommonSentence(*row) for row in rows.fetchall()]
