"""The result of a cluster: staged in temporary tables of one session, compared with the corpus, and written.

It must be of this corpus as it is now: every article, text, time, pair and count. All is compared by content,
never by history, at one moment and by statements over whole tables. Then fingerprints are written, and after
them marks, pairs and counts in one transaction. What people have changed since is settled again by the next
backfill, as after any change of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.connection import set_values
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.spark.exchange import Basis
from dedup.extras.spark.postgres import ImportReport, MarkDisagreement
from dedup.extras.spark.postgres.exporting import ClusterWanted, versions, wanted
from dedup.store import articles, common_sentences, memory_engine, settling, window
from dedup.store.common_sentences import CommonChange, SentenceCount
from dedup.store.fingerprints import BEGINNING, COLUMNS, END, copy_rows
from dedup.store.settling import order_parameters
from dedup.text.fingerprints import Fingerprints

_sql = Statements("extras/spark/postgres/cluster")


def create(cursor: Cursor) -> None:
    for name in ("stage_marks", "stage_pairs", "stage_common", "stage_articles", "stage_fingerprints"):
        cursor.execute(_sql(name))


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

AGAIN = "run the cluster again over the whole corpus"

_AGREE = "make both agree, or run the cluster again over a new `dedup export corpus`"
_SPOILED = "the result is damaged: run the cluster again, in another folder"

_TWICE: tuple[tuple[str, str, str], ...] = (
    ("articles come twice among the marks", _SPOILED, "marked_twice"),
    ("articles come twice among the fingerprints", _SPOILED, "fingerprinted_twice"),
)

_OF_ARTICLES: tuple[tuple[str, str, str], ...] = (
    (
        "articles of the result are not in this corpus",
        "store them with `dedup load`, or run the cluster again without them",
        "not_here",
    ),
    ("articles of this corpus are not in the result", AGAIN, "not_there"),
    (
        "articles of the result are before the horizon of this corpus",
        "run the cluster again without them, over a new `dedup export corpus`",
        "before_horizon",
    ),
    ("articles have another text, title or language than the result was made from", AGAIN, "other_text"),
    ("articles have another time than the result was made with", AGAIN, "other_time"),
    ("fingerprints are of another version than this corpus wants", AGAIN, "other_version"),
    (
        "articles failed in the cluster, and can be read here",
        "run the cluster again, with a new `dedup export corpus`",
        "readable",
    ),
    (
        "articles have another fingerprint here than in the result",
        "run `dedup verify`, then the cluster again",
        "other_fingerprint",
    ),
    ("articles have a mark and no fingerprint, or the reverse", _SPOILED, "unmatched"),
    ("marks contradict themselves", _SPOILED, "contradicting_marks"),
)
"""What may be wrong with an article, what to do then, and the statement that finds such articles."""

_OF_PAIRS: tuple[tuple[str, str, str], ...] = (
    ("pairs contradict the marks", _SPOILED, "contradicting_pairs"),
    ("pairs come twice", _SPOILED, "paired_twice"),
    ("articles have two best_match ones", _SPOILED, "two_best_match"),
    ("marks do not follow from the pairs", _SPOILED, "marks_disagree"),
)


@dataclass(slots=True)
class Checked:
    # in what the result and the corpus do not agree; then the rest is not known
    problems: list[MarkDisagreement] = field(default_factory=list)
    articles: int = 0  # of the result
    missing: int = 0  # those whose fingerprint is not stored yet
    counts: Sequence[SentenceCount] = ()  # of every sentence that matters
    changes: Sequence[CommonChange] = ()  # what follows for the table of common sentences


def differences(cursor: Cursor, basis: Basis) -> list[MarkDisagreement]:
    """In what a result and the corpus rest on other settings, pins, models, horizon or another program."""
    found = wanted(cursor)
    problems = [MarkDisagreement(words, next=_AGREE) for words in basis.differences(found.basis)]
    state = window.load(cursor)
    if state.horizon is not None and state.divided != window.dividing(state.horizon, found.settings):
        words = "the articles are not divided yet by the horizon in the present order"
        problems.append(MarkDisagreement(words, next="run `dedup backfill` first"))
    return problems


def check(cursor: Cursor, found: ClusterWanted, tell: Callable[[int], object]) -> Checked:
    """Compare the staged result with the corpus, and prepare what is to be written.

    The transaction should see one moment all through. Of a result that agrees these tables are made:

        import_known    its articles by id, with the id of the original; place of the fingerprint if it is new
        import_pair     its pairs by ids

    Args:
        found: what the corpus is settled by.
        tell: called with 0 now and then: each statement may take minutes, and the work goes on.
    """
    checked = Checked()
    cursor.execute(_sql("analyze_staged"))
    checked.problems += _found(cursor, found, _TWICE, tell)
    if checked.problems:
        return checked
    values = {**order_parameters(found.settings), **versions(cursor, found.fingerprinter)}
    cursor.execute(_sql("rows"), values)
    cursor.execute(_sql("index_rows"))
    cursor.execute(_sql("analyze_rows"))
    checked.problems += _found(cursor, found, _OF_ARTICLES, tell)
    if checked.problems:
        return checked
    for name in ("known", "index_known", "pairs", "index_pairs", "index_others", "analyze_known"):
        cursor.execute(_sql(name))
    row = cursor.execute(_sql("count_unknown_pairs")).fetchone()
    if row and row[0]:
        words = "pairs name articles that have no mark"
        checked.problems.append(MarkDisagreement(words, int(row[0]), next=_SPOILED))
    checked.problems += _found(cursor, found, _OF_PAIRS, tell)
    row = cursor.execute(_sql("count_known")).fetchone()
    assert row is not None
    checked.articles, checked.missing = row
    _check_common(cursor, found, checked)
    return checked


def _found(
    cursor: Cursor,
    found: ClusterWanted,
    checks: Sequence[tuple[str, str, str]],
    tell: Callable[[int], object],
) -> Iterator[MarkDisagreement]:
    values = {**order_parameters(found.settings), "horizon": found.horizon, "named": NAMED}
    for words, next_step, name in checks:
        check = _sql(name, text=articles.body("a")).decode()
        row = cursor.execute(_sql("found", check=check), values).fetchone()
        tell(0)
        if row and row[0]:
            yield MarkDisagreement(words, row[0], row[1], next_step)


def _check_common(cursor: Cursor, found: ClusterWanted, checked: Checked) -> None:
    settings = found.settings
    watched = memory_engine.sentences(cursor, "watched")
    counts = common_sentences.count_all(cursor, settings, "pg_temp.import_fingerprint", watched)
    changes = common_sentences.changes(cursor, counts, settings, everything=True, complete=True)
    present = common_sentences.stored(cursor)
    for change in changes:
        if change.effective_stories is None:
            present.pop(change.sentence_hash, None)
        else:
            present[change.sentence_hash] = change.carriers, change.effective_stories
    rows = cursor.execute(_sql("common"))
    staged = [(row[0], (row[1], row[2])) for row in rows.fetchall()]
    wrong = len(set(staged) ^ set(present.items())) + len(staged) - len(set(staged))
    if wrong:
        words = "common sentences do not follow from the fingerprints of the result"
        checked.problems.append(MarkDisagreement(words, wrong, next=_SPOILED))
    # With the id of a carrier in place of the place of its fingerprint.
    places = bigints([c.carrier for c in changes if c.carrier is not None])
    ids = dict(cursor.execute(_sql("ids_of_places"), {"places": places}).fetchall())
    checked.counts = counts
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
    for name in ("recount_all", "forget_waiting", "store_fingerprints"):
        cursor.execute(_sql(name))


def write(
    cursor: Cursor,
    settings: Settings,
    checked: Checked,
    examples: Mapping[int, str],
    since: int,
    taken: Bigints,
    tell: Callable[[int], object],
    report: ImportReport,
) -> None:
    """Write marks, pairs, flags, common sentences and counts. Needs the settle lock. `examples`: of sentences
    that become common, in words. `since`: the last change that people had made when the result was checked.
    `taken`: the changes of sentences that the counts knew of. `tell`: called with 0 now and then: each
    statement may take minutes, and the work goes on. `report`: gets how much was written, and left.
    """
    whole_tables(cursor)
    changed = memory_engine.changed_since(cursor, since)
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
    common_sentences.finish(cursor, checked.counts, taken, settings, everything=True)
    # All that the result knows is in use now: what waits was left behind by an engine that was stopped.
    cursor.execute(_sql("forget_waiting"))
    cursor.execute(_sql("note_unread"))
    row = cursor.execute(_sql("last_settled")).fetchone()
    memory_engine.settled_through(cursor, row[0] if row else None)
    if len(
        left
    ):  # settle again what rests on articles that people have changed, as their triggers did before
        articles.remove_pairs(cursor, rewritten)
        articles.withdraw(cursor, left)
        settling.make_stale(cursor, _ids(cursor, "partners", gone).tolist())
        # Fingerprints that were not stored when the sentences were counted: nobody noted that they went.
        unnoted = _ids(cursor, "newly_fingerprinted", bigints({*gone.tolist(), *rewritten.tolist()}))
        if len(unnoted):
            cursor.execute(_sql("recount_all"))


def _ids(cursor: Cursor, name: str, ids: Bigints) -> Bigints:
    if not len(ids):
        return ids
    return bigints([row[0] for row in cursor.execute(_sql(name), {"ids": ids}).fetchall()])
