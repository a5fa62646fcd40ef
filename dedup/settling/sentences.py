"""Fill the views `alteration` and `quote`, which need the words of sentences, for `dedup sentences` or a
worker.

Only texts hold words, so neither a hook nor a backfill does anything for these views. Versions compared
before are not compared again; quotes are counted as a whole. A run that is stopped keeps what it did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.base.progress import Progress, SilentProgress
from dedup.base.settings import MIN_OUTLETS
from dedup.base.words import counted
from dedup.db.database import Database
from dedup.settling.refresh import EXAMPLE_CHARACTERS
from dedup.settling.versions import Sentences, find_alterations, split_sentences
from dedup.store import articles, quotes, rulebooks, versions
from dedup.store.versions import Difference
from dedup.text.fingerprint import Fingerprinter

PAGE = 200  # Versions, or texts, of a transaction
MAX_MINUTES = 365 * 24 * 60  # Longest pause of a worker between two runs: a year


@dataclass(slots=True)
class SentencesReport(Answer):
    compared: int = 0  # versions compared with the one before; versions that have not changed are not
    alterations: int = 0  # sentences that these added, removed or changed
    quotes: int = 0  # sentences that enough outlets share
    stopped: bool = False  # it was asked to stop; the next run continues

    def __str__(self) -> str:
        return (
            f"{counted(self.compared, 'version')} compared, {counted(self.alterations, 'alteration')};"
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
    """Fill the views `alteration` and `quote`. `every`: let a worker do so too every so many minutes; 0:
    never; None: as before."""
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
        ids, before = versions.find_uncompared(cursor)
    bar.start("comparing versions", len(ids))
    known: dict[int, tuple[int, Sentences]] = {}  # by article: the revision of its text, and its sentences
    for start in range(0, len(ids), PAGE):
        if stop():
            report.stopped = True
            return
        pairs = [*zip(ids[start : start + PAGE].tolist(), before[start : start + PAGE].tolist(), strict=True)]
        wanted = {id for pair in pairs for id in pair}
        # The last version of a page is compared with the first of the next one: its sentences stay.
        known = {id: found for id, found in known.items() if id in wanted}
        with database.transaction() as cursor:
            for task in articles.load_texts(cursor, sorted(wanted - known.keys())):
                known[task.id] = task.revision, split_sentences(fingerprinter, task)
            found = [*_find_differences(pairs, known)]
            versions.keep(cursor, found)
        report.compared += len(found)
        report.alterations += sum(len(one.earlier) for one in found)
        bar.advance(len(pairs))
    with database.transaction() as cursor:
        versions.forget(cursor)


def _find_differences(
    pairs: list[tuple[int, int]], known: dict[int, tuple[int, Sentences]]
) -> Iterator[Difference]:
    for id, before in pairs:
        # Else the row of an attached table has changed meanwhile, and its text was not read.
        if id in known and before in known:
            revision, later = known[id]
            before_revision, earlier = known[before]
            found = find_alterations(earlier, later)
            sides = [one for one, _ in found], [other for _, other in found]
            yield Difference(id, before, revision, before_revision, *sides)


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
    with database.transaction() as cursor:  # in another transaction: it sees what others edited until now
        quotes.forget_edited(cursor)
