"""List the marks that the next backfill, or other settings, would change; change nothing.

A new version of dedup or a changed setting may change many marks. A dry run decides the whole corpus with the
wanted rules, as the memory engine does (`run.py`), and compares the decisions with the stored marks. If it
tries settings of the kind *fingerprint*, it reads all texts, and keeps their new fingerprints in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from dedup.base.answer import Answer
from dedup.base.errors import InputError, SettingError
from dedup.base.numbers import Flags
from dedup.base.progress import Progress, SilentProgress
from dedup.base.settings import Settings
from dedup.base.words import counted
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, Database
from dedup.rules.marks import Status
from dedup.rules.pairs import RULES
from dedup.settling import choice
from dedup.settling.memory.snapshot import Cache, Snapshot, count_fitting
from dedup.settling.memory.writing import decide_all, make_marks
from dedup.store import articles, common_sentences, fingerprints, memory_engine, rulebooks, setting_rows
from dedup.store.fingerprints import StoredBatch
from dedup.store.memory_engine import NO_RULE, STATUSES, StoredMarks
from dedup.text.fingerprint import Fingerprinter

TEXTS_AT_ONCE = 100  # Maximum number of texts in memory; a text may have millions of characters
FAILED = STATUSES.index(Status.FAILED)


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
    database: Database,
    tried: Mapping[str, Any] | None = None,
    *,
    memory: int | None = None,
    limit: int = 1_000,
    progress: Progress | None = None,
) -> DryRun:
    """Decide all settled articles with the wanted rules; arguments as in `Deduplicator.dry_run`."""
    memory, progress = memory or choice.choose_memory(), progress or SilentProgress()
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        settings, again = _settings(cursor, tried or {})
        kept, failed, unread = Cache(0), bigints([]), bigints([])
        if again:
            kept, failed, unread = _read_again(cursor, settings, memory, progress)
        start = partial(progress.start, "reading fingerprints")
        without = np.concatenate([failed, unread])
        snapshot = Snapshot(cursor, settings, memory, kept, start, progress.advance, without)
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
        if len(failed):
            lost = memory_engine.read_marks(cursor, failed)
            lost = lost[np.isin(lost.id, failed)]
            old, new = StoredMarks.joined([old, lost]), StoredMarks.joined([new, _failed(lost)])
        differs = np.flatnonzero((old.status != new.status) | (old.duplicate_of != new.duplicate_of))
        kinds = Counter(_kind(old.status[i], new.status[i]) for i in differs.tolist())
        adoption = rulebooks.find_adoption(cursor)
        waiting = fingerprints.count(cursor, "unfingerprinted") + len(unread)
        return DryRun(
            len(old),
            dict(sorted(kinds.items())),
            tuple(_differences(cursor, old[differs[:limit]], new[differs[:limit]])),
            len(snapshot) + waiting if adoption.fingerprints and not again else waiting,
        )


def _settings(cursor: Cursor, tried: Mapping[str, Any]) -> tuple[Settings, bool]:
    """Return the settings to decide by, and whether all texts must be fingerprinted by these.

    Otherwise stored fingerprints and their settings stay. Raises SettingError: a value is wrong, or a setting
    cannot be tried.
    """
    present, wanted = setting_rows.load_settings(cursor), setting_rows.load_wanted(cursor).with_values(tried)
    kinds = {item.name: item.metadata["kind"] for item in fields(Settings)}
    if "hash_key" in tried:
        raise SettingError("hash_key cannot be tried: another key changes every hash, but no mark")
    if window := [name for name in tried if kinds[name] == "window"]:
        raise SettingError(
            f"{window[0]} cannot be tried: it archives articles; `dedup prune --older-than AGE --dry-run`"
            " counts them"
        )
    again = any(
        kinds[name] == "fingerprint" and getattr(wanted, name) != getattr(present, name) for name in tried
    )
    if again:
        return wanted.with_values({"hash_key": present.hash_key}), True
    rules = (name for name, kind in kinds.items() if kind == "rule")
    return present.with_values({name: getattr(wanted, name) for name in rules}), False


def _read_again(
    cursor: Cursor, settings: Settings, memory: int, progress: Progress
) -> tuple[Cache, Bigints, Bigints]:
    """Fingerprint all texts by other settings.

    Return the fingerprints, the ids of articles that fail, ascending, and the ids of rows of attached tables
    that changed since the last sync. Raises InputError: the fingerprints do not fit in `memory` bytes.
    """
    ids, revisions, *_ = memory_engine.read_order(cursor, settings)
    fitting = count_fitting(memory, settings)
    if len(ids) > fitting:
        needed = -(-memory * len(ids) // fitting // 1_000_000)
        many = counted(len(ids), "article")
        raise InputError(f"new fingerprints of {many} need {needed:,} MB: raise --memory")
    fingerprinter = Fingerprinter(settings, rulebooks.load_models(cursor))
    made, waiting = Cache(len(ids)), dict(zip(ids.tolist(), revisions.tolist(), strict=True))
    failed: list[int] = []
    progress.start("fingerprinting in memory", len(ids))
    for at in range(0, len(ids), TEXTS_AT_ONCE):
        tasks = articles.load_texts(cursor, ids[at : at + TEXTS_AT_ONCE].tolist())
        prints = fingerprinter.fingerprint_many(tasks)
        chosen: Flags = np.array([reason is None for reason in prints.reasons], np.bool_)
        read, known = bigints([task.id for task in tasks]), [waiting.pop(task.id) for task in tasks]
        made.add(StoredBatch(read[chosen], bigints(known)[chosen], prints, chosen))
        failed += read[~chosen].tolist()
        progress.advance(len(tasks))
    return made, np.sort(bigints(failed)), bigints(waiting)


def _failed(marks: StoredMarks) -> StoredMarks:
    """Return marks with the status failed for the articles of `marks`."""
    size = len(marks)
    return StoredMarks(
        marks.id,
        np.zeros(size, np.bool_),
        np.full(size, FAILED, np.int8),
        np.zeros(size, np.int64),
        np.full(size, -1.0),
        np.full(size, NO_RULE, np.int8),
    )


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
