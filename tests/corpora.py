"""Tiny corpora for tests: made-up texts of known similarity, and the oracle's answer to them.

A text is a list of sentence codes. Sentences are numbered; a code is a number with a variant. A variant
changes one word: it is another sentence when sentences are compared, but keeps three or four of its five
shingles. `answer` reads the content of a database; `expected` computes the right content with the brute-force
oracle.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.db.database import Cursor, Database
from dedup.db.statements import Statements
from dedup.rules import oracle
from dedup.rules.common import agreeing_pairs
from dedup.rules.marks import order_key, published_second
from dedup.rules.pair import Relation
from dedup.settling import settle as settling
from dedup.settling.backfill import BackfillReport, backfill
from dedup.settling.pool import FingerprintFunction
from dedup.settling.settle import MAX_WORK
from dedup.settling.submit import Submissions
from dedup.store import articles, fingerprints, rulebooks, setting_rows
from dedup.store import window as window_of
from dedup.text.fingerprint import Fingerprint, Fingerprinter, TextTask, UnreadableError
from dedup.text.fingerprints import Fingerprints
from dedup.text.hashing import Hasher
from dedup.text.normalize import words

EXPORTED = Statements("store/exports")

START = datetime(2024, 3, 1, tzinfo=UTC)
"""The time of minute 0."""

VARIANTS = 4
PLAIN = 1_000_000
"""Sentences from this number on have no shingle, and are too short to count."""

Code = int


def code(number: int, variant: int = 0) -> Code:
    """Return the code of a variant of the sentence with this number."""
    return number * VARIANTS + variant


@lru_cache(maxsize=100_000)
def sentence(given: Code) -> str:
    """Return the words of a sentence, which has five shingles; a variant changes one or two of them."""
    number, variant = divmod(given, VARIANTS)
    rng = random.Random(number)

    def word() -> str:
        return "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3))

    found = [word() for _ in range(7)]
    if number >= PLAIN:
        return f"{found[0]} {found[1]}"
    if variant:
        found[2 * variant % 7] = word() + str(variant)
    a, b, c, d, e, f, g = found
    return f"The {a} {b} of a {c} {d} in {e} {f} was {g}."


def text(codes: Iterable[Code]) -> str:
    """Return the text of these sentences, each in a separate paragraph."""
    return "\n\n".join(sentence(c) for c in codes)


def misread(given: str, every: int, seed: int = 1) -> str:
    """Return a text as a machine misreads it: one letter in `every` becomes another letter, two, or none."""
    rng = random.Random(seed)
    wrong = ("e", "c", "rn", "ii", "")
    return "".join(rng.choice(wrong) if c.isalpha() and rng.random() * every < 1 else c for c in given)


def window(start: int, length: int, ring: int = 14) -> list[Code]:
    """Return consecutive sentences of a ring.

    Windows of 6 sentences are duplicates at distance 1 (5/7), similar at 2 and 3 (4/8 and 3/9), else
    unrelated.
    """
    return [code((start + i) % ring) for i in range(length)]


def sentence_hash(given: Code, scope: str | None = None) -> int:
    """Return the hash by which a sentence is counted among the articles of a scope."""
    found = Hasher().words(words(sentence(given)))
    return found if scope is None else found ^ Hasher().scope(scope)


def at(minute: float) -> datetime:
    """Return the time `minute` minutes after `START`."""
    return START + timedelta(minutes=minute)


def article(source_id: str, codes: Iterable[Code], minute: float | None = 0, **fields: Any) -> Article:
    """Make an article of these sentences, published at a minute."""
    when = None if minute is None else at(minute)
    return Article(source_id, text(codes), published_at=when, **fields)


class AnyDatabase(Protocol):
    """The one method of `Database` that these helpers use."""

    def transaction(self, *, settling: bool = False) -> Any: ...


@dataclass
class Answer:
    """The marks, pairs and common sentences of a corpus, by source_id.

    Attributes:
        marks: for a source_id, (status, duplicate_of, score, reason).
        pairs: for (later, earlier), (relation, rule, score, sentence_jaccard, signature_jaccard,
            containment).
        common: for a sentence hash, the number of effective stories.
    """

    marks: dict[str, tuple[str, str | None, float | None, str | None]] = field(default_factory=dict)
    pairs: dict[tuple[str, str], tuple[Any, ...]] = field(default_factory=dict)
    common: dict[int, float] = field(default_factory=dict)

    def status(self) -> dict[str, str]:
        """Return the status of each source_id; the original of a duplicate follows after a colon."""
        return {name: f"{m[0]}:{m[1]}" if m[1] else m[0] for name, m in self.marks.items()}


def answer(database: AnyDatabase) -> Answer:
    """Return the marks, pairs and common sentences in the database."""
    with database.transaction() as cursor:
        marks = cursor.execute(EXPORTED("marks", conditions="true", kept=""), {"limit": None}).fetchall()
        pairs = cursor.execute(EXPORTED("matches", delay="NULL")).fetchall()
        common = cursor.execute(
            "SELECT sentence_hash, effective_stories FROM dedup.common_sentence"
        ).fetchall()
    return Answer(
        {row[0]: (row[1], row[2], row[3], row[4]) for row in marks},
        {(row[0], row[1]): tuple(row[2:-1]) for row in pairs},
        dict(common),
    )


@lru_cache(maxsize=100)
def _fingerprinter(settings: Settings) -> Fingerprinter:
    return Fingerprinter(settings)


@lru_cache(maxsize=100_000)
def fingerprint(
    settings: Settings,
    body: str,
    language: str | None = None,
    title: str | None = None,
    scope: str | None = None,
) -> Fingerprint | str:
    """Return the fingerprint of a text, made without trained parameters, or the reason why it has none."""
    try:
        return _fingerprinter(settings).fingerprint(body, language, title, scope)
    except UnreadableError as error:
        return str(error)


def expected(database: AnyDatabase, common: Iterable[int] | None = None) -> Answer:
    """Return the oracle's answer for the articles, settings, pins and horizon in the database.

    Articles before the horizon may hold any mark; check only that they are archived and that no others are.

    Args:
        common: hashes of the common sentences; if None, the oracle counts them.
    """
    with database.transaction() as cursor:
        settings = setting_rows.load_settings(cursor)
        rows = cursor.execute(
            "SELECT id, source_id, published_at, added_at, language, t.text, t.html, title, scope, archived"
            " FROM dedup.marked_article a JOIN dedup.article_text t ON t.article_id = a.id"
        ).fetchall()
        horizon = window_of.load(cursor).horizon
        pins = dict(cursor.execute("SELECT sentence_hash, common FROM dedup.sentence_pin").fetchall())
        pair_pins = cursor.execute(
            "SELECT source_id, other_source_id, relation FROM dedup.pair_pin"
        ).fetchall()
    found = Answer()
    names: dict[int, str] = {}
    subjects = []
    outside = set()
    for article_id, source_id, published_at, added_at, language, given, html, title, scope, archived in rows:
        body = articles.extract_text(given, html)
        order = order_key(settings, published_at, added_at, source_id)
        if horizon is not None and order[0] < horizon:
            assert archived or isinstance(fingerprint(settings, body, language, title), str), source_id
            outside.add(source_id)
            continue
        assert not archived, f"{source_id} is inside the window but archived"
        made = fingerprint(settings, body, language, title, scope)
        if isinstance(made, str):
            found.marks[source_id] = ("failed", None, None, made)
            continue
        names[article_id] = source_id
        subjects.append(
            oracle.Subject(article_id, order, made, published_second(settings, order[0], published_at))
        )
    made_all = [s.fingerprint for s in subjects]
    if common is None:
        found.common = oracle.common_sentences(made_all, settings, pins)
        chosen = set(found.common)
    else:
        chosen = set(common)
    ids = {name: article_id for article_id, name in names.items()}
    said = {
        frozenset((ids[a], ids[b])): Relation(relation)
        for a, b, relation in pair_pins
        if a in ids and b in ids
    }
    marks, pairs = oracle.marks(subjects, chosen, settings, said)
    for article_id, mark in marks.items():
        original = None if mark.duplicate_of is None else names[mark.duplicate_of]
        found.marks[names[article_id]] = (mark.status.value, original, mark.score, mark.reason)
    for pair in pairs:
        found.pairs[names[pair.article_id], names[pair.other_id]] = (
            pair.relation,
            pair.rule,
            pair.score,
            pair.sentence_jaccard,
            pair.signature_jaccard,
            pair.containment,
        )
    if outside:
        stored = answer(database)
        found.marks |= {name: mark for name, mark in stored.marks.items() if name in outside}
        found.pairs |= {pair: scores for pair, scores in stored.pairs.items() if outside.issuperset(pair)}
    return found


def make_function(settings: Settings, _models: object) -> FingerprintFunction:
    """Make fingerprints as `pool.make_function` does, but of the same text only once in a test session."""

    def function(task: TextTask) -> Fingerprint | str:
        return fingerprint(settings, task.text, task.language, task.title, task.scope)

    return each(settings, function)


def each(settings: Settings, function: Callable[[TextTask], Fingerprint | str]) -> FingerprintFunction:
    """Turn a function for one text into a function for many texts."""

    def many(tasks: Sequence[TextTask]) -> Fingerprints:
        return Fingerprints.joined(_as_arrays(settings, function(task)) for task in tasks)

    return many


def _as_arrays(settings: Settings, made: Fingerprint | str) -> Fingerprints:
    """Return a fingerprint, or the reason why it is missing, as arrays of one row."""
    rows = Fingerprints.unmade(1, settings.signature_bytes, settings.buckets)
    if isinstance(made, str):
        return replace(rows, reasons=(made,))
    rows.version[0], rows.content_hash[0] = made.version, made.content_hash
    rows.word_count[0], rows.shingle_count[0] = made.word_count, made.shingle_count
    if len(made.signature):
        rows.signature[0] = made.signature
    if made.buckets:
        rows.buckets[0], rows.banded[0] = made.buckets, True
    return replace(
        rows,
        sentence_hashes=np.array(made.sentence_hashes, np.int64),
        sentence_starts=np.array([0, len(made.sentence_hashes)]),
    )


def settle(database: Database, **options: Any) -> BackfillReport:
    """Run a backfill in this process."""
    return backfill(database, workers=0, factory=make_function, **options)


def sql(database: Database, *statements: str) -> None:
    with database.transaction() as cursor:
        for statement in statements:
            cursor.execute(statement.encode())


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.transaction() as cursor:
        return cursor.execute(query.encode()).fetchall()


def of(source_id: str) -> str:
    """Return the condition for an UPDATE of the mark of an article."""
    return f"WHERE id = (SELECT id FROM dedup.article WHERE source_id = '{source_id}')"


def archived(database: Database) -> set[str]:
    return {row[0] for row in rows(database, "SELECT source_id FROM dedup.marked_article WHERE archived")}


def stored(database: Database) -> dict[str, str]:
    """Return the texts of all articles, by source_id."""
    return dict(rows(database, "SELECT source_id, text FROM dedup.article"))


def blocked(database: Database) -> bool:
    """Return whether a session of the database waits for a lock."""
    waits = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return bool(rows(database, f"SELECT EXISTS ({waits})")[0][0])


def assert_right(database: AnyDatabase) -> Answer:
    """Check a corpus after a backfill against the oracle; return the marks, pairs and common sentences."""
    found, wanted = answer(database), expected(database)
    assert_equal(found, wanted)
    assert_best_match(database)
    return found


def assert_best_match(database: AnyDatabase) -> None:
    """Check that a settled corpus has the right flags of best matches.

    A pair is flagged if its later article is the best match of the earlier article.
    """
    with database.transaction() as cursor:
        settings = setting_rows.load_settings(cursor)
        rows = cursor.execute("""
            SELECT o.source_id, a.source_id, o.published_at, o.added_at, a.published_at, a.added_at,
                   m.score, m.rule, m.best_match
            FROM dedup.match m JOIN dedup.marked_article a ON a.id = m.article_id AND NOT a.archived
            JOIN dedup.article o ON o.id = m.other_id WHERE m.relation = 'similar'
        """).fetchall()
    best: dict[str, Any] = {}
    marked = set()
    for earlier, later, earlier_published, earlier_added, published, added, score, rule, best_match in rows:
        before = order_key(settings, earlier_published, earlier_added, earlier)
        after = order_key(settings, published, added, later)
        for one, other, order in ((earlier, later, after), (later, earlier, before)):
            best[one] = min(best.get(one, (1,)), (-score, rule, order, other, one == earlier))
        if best_match:
            marked.add((later, earlier))
    assert marked == {(found[3], one) for one, found in best.items() if found[4]}


def assert_consistent(database: AnyDatabase) -> None:
    """Check a settled corpus: marks and pairs equal the oracle's for the stored common sentences.

    Nothing is checked until a backfill has divided the articles by a new horizon.
    """
    if not divided(database):
        return
    found = answer(database)
    wanted = expected(database, found.common)
    wanted.common = found.common
    assert_equal(found, wanted)
    assert_best_match(database)


def divided(database: AnyDatabase) -> bool:
    """Return whether a backfill has applied the present horizon and time settings to all articles."""
    with database.transaction() as cursor:
        state = window_of.load(cursor)
        return state.divided == window_of.division(state.horizon, setting_rows.load_settings(cursor))


def left_to_archive(database: AnyDatabase) -> set[str]:
    """Return the source_ids of the articles that the next backfill archives without settling them."""
    with database.transaction() as cursor:
        settings = setting_rows.load_settings(cursor)
        ids = window_of.find_not_archived_outside(cursor, settings)
        rows = cursor.execute("SELECT source_id FROM dedup.article WHERE id = ANY (%s)", [ids])
        return {row[0] for row in rows.fetchall()}


def assert_equal(found: Answer, wanted: Answer) -> None:
    """Check that two answers are equal; if not, say where they differ."""
    if found == wanted:
        return
    lines = []
    for kind in ("marks", "pairs", "common"):
        a, b = getattr(found, kind), getattr(wanted, kind)
        lines += [
            f"{kind} {k}: {a.get(k)}, not {b.get(k)}" for k in a.keys() | b.keys() if a.get(k) != b.get(k)
        ]
    raise AssertionError("\n".join(sorted(lines)))


def assert_counted(database: AnyDatabase) -> None:
    """Check after a backfill that the stored counts equal a full count of the frequent sentences."""
    with database.transaction() as cursor:
        settings = setting_rows.load_settings(cursor)
        kept = cursor.execute("SELECT sentence_hash, carriers, pairs FROM dedup.sentence_count").fetchall()
        rows = cursor.execute("SELECT sentence_hashes, buckets FROM dedup.fingerprint").fetchall()
    carriers: dict[int, list[list[int]]] = {}
    for sentences, buckets in rows:
        for key in sentences.tolist():
            carriers.setdefault(key, []).append(buckets.tolist())
    wanted = {
        key: (len(found), agreeing_pairs(found))
        for key, found in carriers.items()
        if len(found) > settings.common_stories
    }
    assert {row[0]: (row[1], row[2]) for row in kept} == wanted


def load(database: AnyDatabase, *given: Article) -> articles.LoadCounts:
    """Store articles as `dedup load` does."""
    with database.transaction() as cursor:
        return articles.store(cursor, given)


def fingerprint_waiting(cursor: Cursor, limit: int = 1_000) -> int:
    """Fingerprint some waiting articles and return their number; the caller holds the settle lock."""
    settings = setting_rows.load_settings(cursor)
    chunk = fingerprints.waiting_page(cursor, None, limit).articles
    tasks = [task for task, _ in fingerprints.waiting_texts(cursor, chunk, settings.text_max_characters)]
    if tasks:
        made = make_function(settings, {})(tasks)
        fingerprints.Batch([(task.id, task.revision) for task in tasks], made).store(cursor)
    return len(chunk)


def settle_waiting(cursor: Cursor, limit: int, max_work: int = MAX_WORK) -> int:
    """Settle some unsettled articles and return their number; the caller holds the settle lock."""
    return len(
        settling.settle(cursor, setting_rows.load_settings(cursor), limit=limit, max_work=max_work).ids
    )


def unsettled(database: AnyDatabase) -> set[str]:
    """Return the source_ids of the articles that are pending or stale."""
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT source_id FROM dedup.marked_article WHERE status = 'pending' OR stale")
        return {row[0] for row in rows.fetchall()}


def change_settings(database: AnyDatabase, **values: Any) -> Settings:
    """Change settings of the corpus, which the next backfill adopts; None restores a default."""
    with database.transaction(settling=True) as cursor:
        return rulebooks.change_settings(cursor, values)


class _Borrowed(Deduplicator):
    """A deduplicator that leaves the database open, because another object closes it."""

    def close(self) -> None:
        pass


def deduplicator(database: Any) -> Deduplicator:
    """Return a deduplicator for a database that is open already."""
    made = _Borrowed.__new__(_Borrowed)
    made._database, made._submissions = database, Submissions(database)
    return made


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition; raise TimeoutError if it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)
