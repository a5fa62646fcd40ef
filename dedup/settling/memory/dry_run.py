"""Say which marks the next backfill would change, and change nothing.

A new version of dedup or a changed setting may change many marks. A dry run decides the whole corpus with the
wanted rules, as the memory engine does (`run.py`), and compares the decisions with the stored marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial

import numpy as np

from dedup.base.answer import Answer
from dedup.base.progress import Progress, SilentProgress
from dedup.base.settings import Settings
from dedup.db.database import Cursor, Database
from dedup.rules.pairs import RULES
from dedup.settling import choice
from dedup.settling.memory.snapshot import Cache, Snapshot
from dedup.settling.memory.writing import decide_all, make_marks
from dedup.store import articles, common_sentences, fingerprints, memory_engine, rulebooks
from dedup.store.memory_engine import STATUSES, StoredMarks


@dataclass(frozen=True, slots=True)
class MarkDifference(Answer):
    """The stored mark of an article, and the mark that it would get."""

    id: str
    status: str
    duplicate_of: str | None
    reason: str | None
    new_status: str
    new_duplicate_of: str | None
    new_score: float | None
    new_reason: str | None


@dataclass(frozen=True, slots=True)
class DryRun(Answer):
    """Result of a dry run. Articles whose score or reason alone would change are not listed.

    Attributes:
        articles: articles that were compared.
        counts: number of changed marks by kind, such as "duplicate -> similar".
        differences: articles whose mark would change, at most `limit`, in canonical order.
        unread: texts that the backfill fingerprints first; compared by old fingerprints, or not at all.
    """

    articles: int
    counts: dict[str, int]
    differences: tuple[MarkDifference, ...]
    unread: int


def dry_run(
    database: Database, *, memory: int | None = None, limit: int = 1_000, progress: Progress | None = None
) -> DryRun:
    """Decide all settled articles with the wanted rules; arguments as in `Deduplicator.dry_run`."""
    memory, progress = memory or choice.choose_memory(), progress or SilentProgress()
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        settings = _wanted_rules(cursor)
        start = partial(progress.start, "reading fingerprints")
        snapshot = Snapshot(cursor, settings, memory, Cache(0), start, progress.advance)
        changes = common_sentences.find_changes(
            cursor, snapshot.counts, settings, everything=True, complete=True
        )
        common = set(memory_engine.read_sentences(cursor, "common").tolist())
        common |= {change.sentence_hash for change in changes if change.enters}
        common -= {change.sentence_hash for change in changes if change.leaves}
        progress.start("comparing in memory", len(snapshot))
        pins = memory_engine.read_pinned_pairs(cursor)
        sentences = np.array(sorted(common), np.int64)
        decisions = decide_all(snapshot, sentences, pins, settings, progress.advance)
        old, new = snapshot.marks, make_marks(snapshot, decisions)
        differs = np.flatnonzero((old.status != new.status) | (old.duplicate_of != new.duplicate_of))
        kinds = Counter(_kind(old.status[i], new.status[i]) for i in differs.tolist())
        adoption = rulebooks.find_adoption(cursor)
        waiting = fingerprints.count(cursor, "unfingerprinted")
        return DryRun(
            len(snapshot),
            dict(sorted(kinds.items())),
            tuple(_differences(cursor, old[differs[:limit]], new[differs[:limit]])),
            len(snapshot) + waiting if adoption.fingerprints else waiting,
        )


def _wanted_rules(cursor: Cursor) -> Settings:
    """Return the settings in force, but with the wanted rules: stored fingerprints stay as they are."""
    present, wanted = rulebooks.load_settings(cursor), rulebooks.load_wanted(cursor)
    rules = (item.name for item in fields(Settings) if item.metadata["kind"] == "rule")
    return present.with_values({name: getattr(wanted, name) for name in rules})


def _kind(old: int, new: int) -> str:
    before, after = STATUSES[old].value, STATUSES[new].value
    return f"{before} -> {after}" if before != after else f"{before} -> {after} of another article"


def _differences(cursor: Cursor, old: StoredMarks, new: StoredMarks) -> Iterator[MarkDifference]:
    names = articles.find_names(cursor, np.concatenate([old.id, old.duplicate_of, new.duplicate_of]))
    for i, id in enumerate(old.id.tolist()):
        yield MarkDifference(
            names[id],
            STATUSES[old.status[i]].value,
            names.get(int(old.duplicate_of[i])),
            _reason(old.reason[i]),
            STATUSES[new.status[i]].value,
            names.get(int(new.duplicate_of[i])),
            float(new.score[i]) if new.score[i] >= 0 else None,
            _reason(new.reason[i]),
        )


def _reason(code: int) -> str | None:
    return RULES[code].value if code >= 0 else None
