"""Reports of `dedup status` and `dedup common`: counts, sizes, common sentences. Read-only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from dedup.attach import outbox
from dedup.base.answer import Answer
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.runs import runs
from dedup.runs.runs import Run
from dedup.store import articles
from dedup.store.setting_rows import load_settings, load_wanted

_sql = Statements("store/overview")
_of_fingerprints = Statements("store/fingerprints")  # This file loads no NumPy, unlike `fingerprints.py`.


@dataclass(frozen=True, slots=True)
class Holder(Answer):
    """A session that holds the settle lock.

    Attributes:
        state: state of the session, such as "active" or "idle in transaction".
        seconds: seconds since its transaction began; None if this role may not see the time.
    """

    pid: int
    application: str
    state: str | None
    seconds: float | None

    def __str__(self) -> str:
        lasted = "" if self.seconds is None else f", for {self.seconds:.0f} s"
        return f"server process {self.pid} ({self.application or 'unnamed'}: {self.state}{lasted})"


@dataclass(frozen=True, slots=True)
class Overview(Answer):
    """Counts, sizes and the state of a corpus, as `dedup status` shows them.

    Attributes:
        counts: articles per status.
        unfingerprinted: articles whose present text has no fingerprint yet.
        stale: articles that must be settled again.
        horizon: articles before this time are archived.
        uncounted: true if the next backfill must count common sentences.
        waiting_settings: names of changed settings, which the next backfill puts in force.
        backfill: the backfill or import that is running now.
        held_by: the session that holds the settle lock.
        deferred: versions of articles that hooks deferred.
        changes: noted changes of attached tables that are not read yet.
        limits: number of articles that each safety limit left to the next backfill.
        failures: number of failed articles per reason (without its details).
        fingerprint_revision: revision of the specification of fingerprints (docs/semantics.md, section 1.10).
        unicode_version: version of the Unicode tables with which fingerprints were made.
        sizes: bytes of each table, with its indexes and out-of-line texts.
        bytes_per_article: bytes by name of each growing table; "text": average size of a text.
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
    waiting_settings: list[str]
    backfill: Run | None
    held_by: Holder | None
    deferred: int
    changes: int
    limits: dict[str, int]
    failures: dict[str, int]
    last_marked_at: datetime | None
    fingerprint_revision: int
    unicode_version: str | None
    sizes: dict[str, int]
    bytes_per_article: dict[str, float]
    database_bytes: int


def overview(cursor: Cursor) -> Overview:
    """Return counts of statuses, limits and failures, sizes of tables, and the state of the corpus."""
    names = ("statuses", "limits", "failures")
    counts, limits, failures = (dict(cursor.execute(_sql(name)).fetchall()) for name in names)
    sizes = table_sizes(cursor)
    row = one_row(cursor, _sql("overview"))
    found = dict(zip((column.name for column in cursor.description or ()), row, strict=True))
    run = runs.find_current(cursor, "backfill")
    holder = cursor.execute(_sql("holder")).fetchone()
    return Overview(
        counts=counts,
        unfingerprinted=int(one_row(cursor, _of_fingerprints("count_unfingerprinted"))[0]),
        limits=limits,
        failures=failures,
        sizes=sizes,
        waiting_settings=_waiting_settings(cursor),
        bytes_per_article=_per_article(sizes, found.pop("text_bytes"), sum(counts.values())),
        backfill=None if run and run.gone else run,
        held_by=Holder(*holder) if holder else None,
        deferred=articles.count_deferred(cursor),
        changes=outbox.count(cursor),
        **found,
    )


def _waiting_settings(cursor: Cursor) -> list[str]:
    present, wanted = (asdict(load(cursor)) for load in (load_settings, load_wanted))
    return [name for name, value in wanted.items() if value != present[name]]


SMALLEST_SHOWN = 0.5  # Minimum bytes per article of a shown table; smaller tables do not grow with the corpus


def _per_article(sizes: dict[str, int], text_bytes: int, articles: int) -> dict[str, float]:
    if not articles:
        return {}
    parts = {"text": text_bytes, **sizes}
    parts["article"] = max(0, parts.get("article", 0) - text_bytes)
    return {
        name: round(size / articles, 1) for name, size in parts.items() if size >= SMALLEST_SHOWN * articles
    }


def table_sizes(cursor: Cursor) -> dict[str, int]:
    """Return the bytes of each table with indexes and out-of-line texts, the largest first."""
    return dict(cursor.execute(_sql("sizes")).fetchall())


@dataclass(frozen=True, slots=True)
class CommonSentence(Answer):
    """A common or pinned sentence.

    Attributes:
        common: true if scores ignore the sentence now.
        pin: "always", "never", or None; a new pin takes effect with the next backfill.
    """

    sentence_hash: int
    carriers: int | None
    effective_stories: float | None
    common: bool
    pin: str | None
    example: str | None
    since: datetime | None


def common_sentences(cursor: Cursor, limit: int | None = None) -> list[CommonSentence]:
    """Return the common and the pinned sentences, in descending order of effective stories."""
    rows = cursor.execute(_sql("common_sentences"), {"limit": limit})
    return [CommonSentence(*row) for row in rows.fetchall()]
