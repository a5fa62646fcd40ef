"""Store the result of a cluster in temporary tables, compare it with the corpus, and write its marks.

The result must agree with the present corpus in every article, text, time, pair and count. All comparisons
see the corpus at one moment. The next backfill settles articles that change later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.connection import set_values
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.extras.spark.exchange import Basis
from dedup.extras.spark.postgres import ImportReport, MarkDisagreement
from dedup.extras.spark.postgres.exporting import ClusterWanted, versions, wanted
from dedup.store import articles, common_sentences, memory_engine, settling, window
from dedup.store.common_sentences import CommonChange, SentenceCount
from dedup.store.fingerprints import BEGINNING, COLUMNS, END, copy_rows
from dedup.text.fingerprints import Fingerprints

_sql = Statements("extras/spark/postgres/cluster")


def create(cursor: Cursor) -> None:
    _execute(cursor, "stage_marks", "stage_pairs", "stage_common", "stage_articles", "stage_fingerprints")


def add(cursor: Cursor, table: str, rows: Iterable[Sequence[object]]) -> None:
    """Add rows with all columns to one of the temporary tables."""
    types = [row[0] for row in cursor.execute(_sql("types"), {"table": f"pg_temp.{table}"}).fetchall()]
    with cursor.copy(f"COPY pg_temp.{table} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def add_fingerprints(cursor: Cursor, first: int, made: Fingerprints) -> None:
    """Add fingerprints to their temporary table. The places of the fingerprints count up from `first`."""
    places = bigints(range(first, first + len(made)))
    into = f"COPY pg_temp.import_fingerprint ({COLUMNS}) FROM STDIN (FORMAT BINARY)"
    with cursor.copy(into.encode()) as copy:
        copy.write(b"".join([BEGINNING, *copy_rows(places, 0 * places, made), END]))


NAMED = 3  # maximum number of articles that a disagreement names; it counts all of them

_SPOILED = "the result is damaged: run the cluster again, in another folder"

_AGAIN = "run the cluster again over the whole corpus"

_CHECKS: tuple[dict[str, str], ...] = (
    {
        "marked_twice": "article(s) with several marks",
        "fingerprinted_twice": "article(s) with several fingerprints",
    },
    {
        "not_here": "article(s) of the result missing from this corpus",
        "not_there": "article(s) of this corpus missing from the result",
        "before_horizon": "article(s) of the result before the horizon of this corpus",
        "other_text": "article(s) with another text, title, language or scope than in the result",
        "other_time": "article(s) with another time than in the result",
        "other_version": "fingerprint(s) of another version than this corpus wants",
        "readable": "article(s) that failed in the cluster, and can be read here",
        "other_fingerprint": "article(s) with another fingerprint here than in the result",
        "unmatched": "article(s) with a mark and no fingerprint, or the reverse",
        "contradicting_marks": "mark(s) with contradicting values",
    },
    {
        "contradicting_pairs": "pair(s) contradicting the marks",
        "paired_twice": "pair(s) given several times",
        "two_best_match": "article(s) with two best matches",
        "marks_disagree": "mark(s) not following from the pairs",
    },
)
"""Checks in three parts: repeated rows, articles, pairs. A part maps an SQL statement to its message."""

_NEXT = {
    "not_here": "store them with `dedup load`, or run the cluster again without them",
    **dict.fromkeys(("not_there", "other_text", "other_time", "other_version"), _AGAIN),
    "before_horizon": "run the cluster again without them, over a new `dedup export corpus`",
    "readable": "run the cluster again, with a new `dedup export corpus`",
    "other_fingerprint": "run `dedup verify`, then the cluster again",
}
"""Next step for the user, by failed check. If a check that is not named here fails, the result is damaged."""


@dataclass(slots=True)
class Checked:
    """A result that agrees with the corpus."""

    since: int  # number of the last change that people made before the check
    taken: Bigints  # ids of the rows of `sentence_change` that `counts` already includes
    counts: Sequence[SentenceCount] = ()
    changes: Sequence[CommonChange] = ()  # changes to the table of common sentences


def differences(cursor: Cursor, basis: Basis) -> list[MarkDisagreement]:
    """Return the differences between result and corpus in settings, pins, models, horizon and program."""
    corpus = wanted(cursor).corpus
    agree = "make both agree, or run the cluster again over a new `dedup export corpus`"
    problems = [MarkDisagreement(words, next=agree) for words in basis.differences(corpus.basis())]
    state = window.load(cursor)
    if state.horizon is not None and state.divided != window.division(state.horizon, corpus.settings):
        words = "the articles are not divided yet by the present horizon"
        problems.append(MarkDisagreement(words, next="run `dedup backfill` first"))
    return problems


def check(cursor: Cursor, basis: Basis, report: ImportReport, advance: Callable[[int], object]) -> Checked:
    """Compare the staged result with the corpus, write differences to the report, and prepare the writing.

    The transaction must be a snapshot. If the result agrees with the corpus, two temporary tables are made:

        import_known    articles by id, with the id of the original, and the place of a new fingerprint
        import_pair     pairs, with the ids of their articles

    After each statement that may take minutes, `advance(0)` shows that the import is alive.
    """
    whole_tables(cursor)
    checked = Checked(memory_engine.last_change(cursor), common_sentences.take_changes(cursor)[1])
    # Compare again, in the snapshot: somebody may have pinned something since the first comparison.
    report.problems = differences(cursor, basis)
    found = wanted(cursor)
    _execute(cursor, "analyze_staged")
    if report.problems or _disagree(cursor, found, 0, report, advance):
        return checked
    cursor.execute(_sql("rows"), found.values | versions(cursor, found.fingerprinter))
    _execute(cursor, "index_rows", "analyze_rows")
    if _disagree(cursor, found, 1, report, advance):
        return checked
    _execute(cursor, "known", "index_known", "pairs", "index_pairs", "index_others", "analyze_known")
    (unknown,) = one_row(cursor, _sql("count_unknown_pairs"))
    if unknown:
        _add(report, "pair(s) of articles without a mark", unknown)
    _disagree(cursor, found, 2, report, advance)
    report.articles, report.fingerprints = one_row(cursor, _sql("count_known"))
    _check_common(cursor, found.corpus.settings, checked, report)
    report.common_entered = sum(change.enters for change in checked.changes)
    report.common_left = sum(change.leaves for change in checked.changes)
    return checked


def _execute(cursor: Cursor, *names: str) -> None:
    for name in names:
        cursor.execute(_sql(name))


def _disagree(
    cursor: Cursor, found: ClusterWanted, part: int, report: ImportReport, advance: Callable[[int], object]
) -> bool:
    """Do the checks of `_CHECKS[part]`. Return True if the report has problems."""
    for name, words in _CHECKS[part].items():
        check = _sql(name, text=articles.body_sql("a")).decode()
        count, named = one_row(cursor, _sql("found", check=check), found.values | {"named": NAMED})
        advance(0)
        if count:
            _add(report, words, count, named, _NEXT.get(name, _SPOILED))
    return bool(report.problems)


def _add(
    report: ImportReport, words: str, count: int, named: Sequence[str] = (), next: str = _SPOILED
) -> None:
    words = words.replace("(s)", "" if count == 1 else "s")
    report.problems.append(MarkDisagreement(words, count, list(named), next))


def _check_common(cursor: Cursor, settings: Settings, checked: Checked, report: ImportReport) -> None:
    watched = memory_engine.read_sentences(cursor, "watched")
    checked.counts = common_sentences.count_all(cursor, settings, "pg_temp.import_fingerprint", watched)
    changes = common_sentences.find_changes(cursor, checked.counts, settings, everything=True, complete=True)
    present = common_sentences.load_common(cursor)
    for change in changes:
        if change.effective_stories is None:
            present.pop(change.sentence_hash, None)
        else:
            present[change.sentence_hash] = change.carriers, change.effective_stories
    staged = [(row[0], (row[1], row[2])) for row in cursor.execute(_sql("common")).fetchall()]
    wrong = len(set(staged) ^ set(present.items())) + len(staged) - len(set(staged))
    if wrong:
        _add(report, "common sentence(s) not following from the fingerprints of the result", wrong)
    # The result names carriers by their places, but the table of common sentences needs the ids of articles.
    places = bigints([c.carrier for c in changes if c.carrier is not None])
    ids = dict(cursor.execute(_sql("ids_of_places"), {"places": places}).fetchall())
    checked.changes = [replace(c, carrier=None if c.carrier is None else ids.get(c.carrier)) for c in changes]


# Memory for each sort and hash. With the default of 4 MB, Postgres sorts a million articles on disk.
WORK_MEMORY = "64MB"


def whole_tables(cursor: Cursor) -> None:
    """Let the planner read and join whole tables for the rest of the transaction."""
    values = dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "on")
    cursor.execute(set_values(values | {"work_mem": WORK_MEMORY}, local=True))


def store_fingerprints(cursor: Cursor) -> None:
    """Store the result's new fingerprints, which a later step puts in use.

    First deletes fingerprints that an interrupted run stored, but did not put in use.
    """
    whole_tables(cursor)
    # The import does not record which sentences the new fingerprints add. So the next backfill must count all
    # sentences if the import ends before `write`.
    _execute(cursor, "recount_all", "forget_waiting", "store_fingerprints")


def write(
    cursor: Cursor,
    settings: Settings,
    checked: Checked,
    examples: Mapping[int, str],
    report: ImportReport,
    advance: Callable[[int], object],
) -> None:
    """Write marks, pairs, flags, common sentences and counts, and fill in the report. Needs the settle lock.

    `examples` has the words of sentences that become common, by hash. `advance`: see `check`.
    """
    whole_tables(cursor)
    changed = memory_engine.find_changed(cursor, checked.since)
    gone, rewritten = _ids(cursor, "gone", changed), _ids(cursor, "rewritten", changed)
    orphans = _ids(cursor, "orphans", gone)
    left = bigints({*changed.tolist(), *orphans.tolist()})
    report.left = len(left)
    report.marks = cursor.execute(_sql("write_marks"), {"left": left}).rowcount
    advance(0)
    cursor.execute(_sql("drop_pairs"))
    report.pairs = cursor.execute(_sql("write_pairs"), {"gone": gone}).rowcount
    advance(0)
    cursor.execute(_sql("write_flags"))
    common_sentences.apply(cursor, checked.changes, (), dict(examples))
    common_sentences.finish(cursor, checked.counts, checked.taken, settings, everything=True)
    # The result's fingerprints are in use by now. Delete fingerprints that an interrupted run stored, but did
    # not put in use.
    _execute(cursor, "forget_waiting", "note_unread")
    memory_engine.note_settled_through(cursor, one_row(cursor, _sql("last_settled"))[0])
    # When people changed articles, triggers removed pairs and made marks stale. Repeat this, because the
    # statements above may have undone the work of the triggers.
    if len(left):
        articles.remove_pairs(cursor, rewritten)
        articles.withdraw(cursor, left)
        settling.make_stale(cursor, _ids(cursor, "partners", gone).tolist())
        # If an article changed before its new fingerprint was stored, no trigger recorded its sentences, so
        # the next backfill must count all sentences.
        if len(_ids(cursor, "newly_fingerprinted", bigints({*gone.tolist(), *rewritten.tolist()}))):
            _execute(cursor, "recount_all")


def _ids(cursor: Cursor, name: str, ids: Bigints) -> Bigints:
    if not len(ids):
        return ids
    return bigints([row[0] for row in cursor.execute(_sql(name), {"ids": ids}).fetchall()])
