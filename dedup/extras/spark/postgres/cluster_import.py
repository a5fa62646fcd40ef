"""The result of a cluster: staged in temporary tables of one session, compared with the corpus, and written.

It must be of this corpus as it is now: every article, text, time, pair and count. All is compared by content,
never by history, at one moment and by statements over whole tables. Then fingerprints are written, and after
them marks, pairs and counts in one transaction. What people have changed since is settled again by the next
backfill, as after any change of theirs.
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
    """Add rows to one of the temporary tables, all of whose columns are given."""
    types = [row[0] for row in cursor.execute(_sql("types"), {"table": f"pg_temp.{table}"}).fetchall()]
    with cursor.copy(f"COPY pg_temp.{table} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def add_fingerprints(cursor: Cursor, first: int, made: Fingerprints) -> None:
    """Add fingerprints, whose articles are known by their places from `first` on."""
    places = bigints(range(first, first + len(made)))
    into = f"COPY pg_temp.import_fingerprint ({COLUMNS}) FROM STDIN (FORMAT BINARY)"
    with cursor.copy(into.encode()) as copy:
        copy.write(b"".join([BEGINNING, *copy_rows(places, 0 * places, made), END]))


NAMED = 3
"""Articles that a disagreement names; the others are only counted."""

_SPOILED = "the result is damaged: run the cluster again, in another folder"

_AGAIN = "run the cluster again over the whole corpus"

_CHECKS: tuple[dict[str, str], ...] = (
    {
        "marked_twice": "articles come twice among the marks",
        "fingerprinted_twice": "articles come twice among the fingerprints",
    },
    {
        "not_here": "articles of the result are not in this corpus",
        "not_there": "articles of this corpus are not in the result",
        "before_horizon": "articles of the result are before the horizon of this corpus",
        "other_text": "articles have another text, title or language than the result was made from",
        "other_time": "articles have another time than the result was made with",
        "other_version": "fingerprints are of another version than this corpus wants",
        "readable": "articles failed in the cluster, and can be read here",
        "other_fingerprint": "articles have another fingerprint here than in the result",
        "unmatched": "articles have a mark and no fingerprint, or the reverse",
        "contradicting_marks": "marks contradict themselves",
    },
    {
        "contradicting_pairs": "pairs contradict the marks",
        "paired_twice": "pairs come twice",
        "two_best_match": "articles have two best_match ones",
        "marks_disagree": "marks do not follow from the pairs",
    },
)
"""Statements that find what may be wrong, and what that is: of rows, of articles, and of pairs."""

_NEXT = {
    "not_here": "store them with `dedup load`, or run the cluster again without them",
    **dict.fromkeys(("not_there", "other_text", "other_time", "other_version"), _AGAIN),
    "before_horizon": "run the cluster again without them, over a new `dedup export corpus`",
    "readable": "run the cluster again, with a new `dedup export corpus`",
    "other_fingerprint": "run `dedup verify`, then the cluster again",
}
"""The next step where the result is not damaged."""


@dataclass(slots=True)
class Checked:
    """A result that agrees."""

    since: int  # the last change that people had made then
    taken: Bigints  # the changes of sentences that the counts know of
    counts: Sequence[SentenceCount] = ()  # of every sentence that matters
    changes: Sequence[CommonChange] = ()  # what follows for the table of common sentences


def differences(cursor: Cursor, basis: Basis) -> list[MarkDisagreement]:
    """In what a result and the corpus rest on other settings, pins, models, horizon or another program."""
    corpus = wanted(cursor).corpus
    agree = "make both agree, or run the cluster again over a new `dedup export corpus`"
    problems = [MarkDisagreement(words, next=agree) for words in basis.differences(corpus.basis())]
    state = window.load(cursor)
    if state.horizon is not None and state.divided != window.division(state.horizon, corpus.settings):
        words = "the articles are not divided yet by the horizon in the present order"
        problems.append(MarkDisagreement(words, next="run `dedup backfill` first"))
    return problems


def check(cursor: Cursor, basis: Basis, report: ImportReport, tell: Callable[[int], object]) -> Checked:
    """Compare the staged result with the corpus, and prepare what is to be written.

    The transaction should see one moment all through. What differs goes to the report, and then the rest is
    not known. Of a result that agrees these tables are made:

        import_known    its articles by id, with the id of the original; place of the fingerprint if it is new
        import_pair     its pairs by ids

    `tell`: called with 0 now and then: each statement may take minutes, and the work goes on.
    """
    whole_tables(cursor)
    checked = Checked(memory_engine.last_change(cursor), common_sentences.take_changes(cursor)[1])
    # Once more, at the moment that counts: since the first look somebody may have pinned something.
    report.problems = differences(cursor, basis)
    found = wanted(cursor)
    _execute(cursor, "analyze_staged")
    if report.problems or _disagree(cursor, found, 0, report, tell):
        return checked
    cursor.execute(_sql("rows"), found.values | versions(cursor, found.fingerprinter))
    _execute(cursor, "index_rows", "analyze_rows")
    if _disagree(cursor, found, 1, report, tell):
        return checked
    _execute(cursor, "known", "index_known", "pairs", "index_pairs", "index_others", "analyze_known")
    (unknown,) = one_row(cursor, _sql("count_unknown_pairs"))
    if unknown:
        words = "pairs name articles that have no mark"
        report.problems.append(MarkDisagreement(words, unknown, next=_SPOILED))
    _disagree(cursor, found, 2, report, tell)
    report.articles, report.fingerprints = one_row(cursor, _sql("count_known"))
    _check_common(cursor, found.corpus.settings, checked, report)
    report.common_entered = sum(change.enters for change in checked.changes)
    report.common_left = sum(change.leaves for change in checked.changes)
    return checked


def _execute(cursor: Cursor, *names: str) -> None:
    for name in names:
        cursor.execute(_sql(name))


def _disagree(
    cursor: Cursor, found: ClusterWanted, part: int, report: ImportReport, tell: Callable[[int], object]
) -> bool:
    """Look for what may be wrong; returns whether anything is."""
    for name, words in _CHECKS[part].items():
        check = _sql(name, text=articles.body_sql("a")).decode()
        count, named = one_row(cursor, _sql("found", check=check), found.values | {"named": NAMED})
        tell(0)
        if count:
            report.problems.append(MarkDisagreement(words, count, named, _NEXT.get(name, _SPOILED)))
    return bool(report.problems)


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
        words = "common sentences do not follow from the fingerprints of the result"
        report.problems.append(MarkDisagreement(words, wrong, next=_SPOILED))
    # With the id of a carrier in place of the place of its fingerprint.
    places = bigints([c.carrier for c in changes if c.carrier is not None])
    ids = dict(cursor.execute(_sql("ids_of_places"), {"places": places}).fetchall())
    checked.changes = [replace(c, carrier=None if c.carrier is None else ids.get(c.carrier)) for c in changes]


# --- writing

WORK_MEMORY = "64MB"
"""For each sort and hash of whole tables; with the usual 4 MB those of a million articles go to disk."""


def whole_tables(cursor: Cursor) -> None:
    """For the rest of the transaction: read whole tables and join them, and do not look up row by row."""
    values = dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "on")
    cursor.execute(set_values(values | {"work_mem": WORK_MEMORY}, local=True))


def store_fingerprints(cursor: Cursor) -> None:
    """Have the new fingerprints of a result wait to be put in use; those of an engine that was stopped go.
    Nobody notes them one by one, so that all sentences have to be counted if the work ends here.
    """
    whole_tables(cursor)
    _execute(cursor, "recount_all", "forget_waiting", "store_fingerprints")


def write(
    cursor: Cursor,
    settings: Settings,
    checked: Checked,
    examples: Mapping[int, str],
    report: ImportReport,
    tell: Callable[[int], object],
) -> None:
    """Write marks, pairs, flags, common sentences and counts. Needs the settle lock. `examples`: of sentences
    that become common, in words. `report`: gets how much was written, and left. `tell`: as of `check`.
    """
    whole_tables(cursor)
    changed = memory_engine.find_changed(cursor, checked.since)
    gone, rewritten = _ids(cursor, "gone", changed), _ids(cursor, "rewritten", changed)
    orphans = _ids(cursor, "orphans", gone)
    left = bigints({*changed.tolist(), *orphans.tolist()})
    report.left = len(left)
    report.marks = cursor.execute(_sql("write_marks"), {"left": left}).rowcount
    tell(0)
    cursor.execute(_sql("drop_pairs"))
    report.pairs = cursor.execute(_sql("write_pairs"), {"gone": gone}).rowcount
    tell(0)
    cursor.execute(_sql("write_flags"))
    common_sentences.apply(cursor, checked.changes, (), dict(examples))
    common_sentences.finish(cursor, checked.counts, checked.taken, settings, everything=True)
    # All that the result knows is in use now: what waits was left behind by an engine that was stopped.
    _execute(cursor, "forget_waiting", "note_unread")
    memory_engine.note_settled_through(cursor, one_row(cursor, _sql("last_settled"))[0])
    # Settle again what rests on articles that people have changed, as their triggers did before.
    if len(left):
        articles.remove_pairs(cursor, rewritten)
        articles.withdraw(cursor, left)
        settling.make_stale(cursor, _ids(cursor, "partners", gone).tolist())
        # Fingerprints that were not stored when the sentences were counted: nobody noted that they went.
        if len(_ids(cursor, "newly_fingerprinted", bigints({*gone.tolist(), *rewritten.tolist()}))):
            _execute(cursor, "recount_all")


def _ids(cursor: Cursor, name: str, ids: Bigints) -> Bigints:
    if not len(ids):
        return ids
    return bigints([row[0] for row in cursor.execute(_sql(name), {"ids": ids}).fetchall()])
