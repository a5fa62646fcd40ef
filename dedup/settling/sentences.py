"""Fill the views `alteration`, `addition` and `quote`, for `dedup sentences` or a worker.

The views need words, but fingerprints have only hashes. So texts are read again, which hooks and backfills
never do. Each version is compared once with the version before, and each copy once with its original; quotes
are counted anew each time. A stopped run keeps its results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.base.progress import Progress, SilentProgress
from dedup.base.settings import MIN_OUTLETS
from dedup.base.words import counted
from dedup.db.database import Database
from dedup.settling.refresh import EXAMPLE_CHARACTERS
from dedup.settling.versions import find_alterations, index_sentences, split_sentences
from dedup.store import articles, quotes, rulebooks, versions
from dedup.store.versions import ComparedCopy, Difference, UncomparedPair
from dedup.text.additions import Cut, find_addition
from dedup.text.fingerprint import Fingerprinter

PAGE = 200  # Maximum number of compared pairs or texts per transaction
MAX_MINUTES = 365 * 24 * 60  # Maximum pause of a worker before it fills the views again: a year

Texts = dict[int, tuple[int, Cut]]
"""Texts by article: the revision, and the sentences."""


@dataclass(slots=True)
class SentencesReport(Answer):
    """Counts of a run of `keep_sentences`.

    Attributes:
        compared: new and changed versions, each compared with the version before.
        alterations: sentences that the compared versions added, removed or changed.
        copies: new and changed copies, each compared with its original.
        quotes: sentences that enough outlets share.
        stopped: true if the run was asked to stop; then the next run continues.
    """

    compared: int = 0
    alterations: int = 0
    copies: int = 0
    quotes: int = 0
    stopped: bool = False

    def __str__(self) -> str:
        return (
            f"{counted(self.compared, 'version')} compared, {counted(self.alterations, 'alteration')};"
            f" {counted(self.copies, 'copy', 'copies')} compared with the original;"
            f" {counted(self.quotes, 'quote')}"
        )


def keep(
    database: Database,
    *,
    outlets: int = MIN_OUTLETS,
    every: int | None = None,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> SentencesReport:
    """Fill the views `alteration`, `addition` and `quote`. `outlets`: minimum number of outlets for a quote.
    `every`: minutes after which a worker fills the views again; 0 for never; None to keep the schedule."""
    bar, report = progress or SilentProgress(), SentencesReport()
    with database.transaction() as cursor:
        if every is not None:
            quotes.schedule(cursor, every, outlets)
        fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
    _compare_versions(database, fingerprinter, report, bar, stop)
    if not report.stopped:
        _count_quotes(database, fingerprinter, outlets, report, bar, stop)
    return report


def _compare_versions(
    database: Database,
    fingerprinter: Fingerprinter,
    report: SentencesReport,
    bar: Progress,
    stop: Callable[[], bool],
) -> None:
    with database.transaction() as cursor:
        waiting = versions.find_uncompared(cursor)
    bar.start("comparing versions", len(waiting.ids))
    known: Texts = {}
    for start in range(0, len(waiting.ids), PAGE):
        if stop():
            report.stopped = True
            return
        pairs = waiting.page(start, PAGE)
        wanted = {id for pair in pairs for id in (pair.id, pair.other_id)}
        # Keep the texts of the previous page that this page needs, too, so that these are not read again.
        known = {id: found for id, found in known.items() if id in wanted}
        with database.transaction() as cursor:
            for task in articles.load_texts(cursor, sorted(wanted - known.keys())):
                known[task.id] = task.revision, fingerprinter.sentences_of(task)
            # Skip pairs without both texts: a text is missing if its row of an attached table changed after
            # the pairs were listed.
            readable = [pair for pair in pairs if pair.id in known and pair.other_id in known]
            altered = [_difference(pair, known) for pair in readable if pair.altered]
            added = [one for pair in readable if pair.added and (one := _addition(pair, known))]
            versions.keep(cursor, altered)
            versions.keep_additions(cursor, added)
        report.compared += len(altered)
        report.alterations += sum(len(one.earlier) for one in altered)
        report.copies += len(added)
        bar.advance(len(pairs))
    with database.transaction() as cursor:
        versions.forget(cursor)


def _difference(pair: UncomparedPair, known: Texts) -> Difference:
    (revision, later), (before_revision, earlier) = known[pair.id], known[pair.other_id]
    found = find_alterations(index_sentences(earlier), index_sentences(later))
    sides = [one for one, _ in found], [other for _, other in found]
    return Difference(pair.id, pair.other_id, revision, before_revision, *sides)


def _addition(pair: UncomparedPair, known: Texts) -> ComparedCopy | None:
    (revision, copy), (original_revision, original) = known[pair.id], known[pair.other_id]
    found = find_addition(copy, original)
    if found is None:
        return None
    return ComparedCopy(pair.id, pair.other_id, revision, original_revision, found)


def _count_quotes(
    database: Database,
    fingerprinter: Fingerprinter,
    outlets: int,
    report: SentencesReport,
    bar: Progress,
    stop: Callable[[], bool],
) -> None:
    bar.start("counting sentences", None)
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        counted = quotes.count(cursor, outlets)
    wanted: dict[int, set[int]] = defaultdict(set)
    for one in counted:
        wanted[one.carrier].add(one.sentence_hash)
    ids = sorted(wanted)
    bar.start("reading quotes", len(ids))
    words: dict[int, tuple[int, str]] = {}
    for start in range(0, len(ids), PAGE):
        if stop():
            report.stopped = True
            return
        page = ids[start : start + PAGE]
        with database.transaction() as cursor:
            tasks = articles.load_texts(cursor, page)
        for task in tasks:
            for key, sentence in split_sentences(fingerprinter, task).items():
                if key in wanted[task.id]:
                    words[key] = task.revision, sentence[:EXAMPLE_CHARACTERS]
        bar.advance(len(page))
    with database.transaction() as cursor:
        report.quotes = quotes.replace(cursor, counted, words)
    with database.transaction() as cursor:  # a new transaction sees the edits that others made until now
        quotes.forget_edited(cursor)
