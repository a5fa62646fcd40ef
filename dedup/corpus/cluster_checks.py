"""Whether a staged result is one of this corpus as it is now: every article, text, time, pair and count.

All is compared by content, never by history, and by statements over whole tables. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dedup.answer import Answer
from dedup.corpus import articles, bulk, common_sentences, window
from dedup.corpus.arrays import bigints
from dedup.corpus.cluster import Wanted, digest, versions, wanted
from dedup.corpus.common_sentences import CommonChange, SentenceCount
from dedup.corpus.database import Cursor
from dedup.corpus.settling import order_parameters
from dedup.corpus.statements import Statements
from dedup.exchange import Basis

_sql = Statements("cluster")

NAMED = 3
"""Articles that a disagreement names; the others are only counted."""

AGAIN = "run the cluster again over the whole corpus"


@dataclass(frozen=True, slots=True)
class Disagreement(Answer):
    """Something in which a result and the corpus do not agree."""

    words: str  # what, without a number
    count: int = 0  # of how many articles, or of whatever the words say; 0 where it is about none
    examples: list[str] = field(default_factory=list)  # the source_ids of some
    next: str = AGAIN  # what to do about it

    def __str__(self) -> str:
        named = f" ({', '.join(self.examples)}{' …' if self.count > len(self.examples) else ''})"
        counted = f"{self.count:,} " if self.count else ""
        return f"{counted}{self.words}{named if self.examples else ''}: {self.next}"


def _time(column: str) -> str:
    """A time of the folder, microseconds since 1970, as a timestamp: exact, which a double is not."""
    return (
        f"timestamptz 'epoch' + {column} / 86400000000 * interval '1 day'"
        f" + mod({column}, 86400000000) * interval '1 microsecond'"
    )


_AGREE = "make both agree, or run the cluster again over a new `dedup export corpus`"
_SPOILED = "the result is damaged: run the cluster again, in another folder"

_TWICE = (
    ("articles come twice among the marks", "import_mark"),
    ("articles come twice among the fingerprints", "import_article"),
)

_OF_ARTICLES: tuple[tuple[str, str, str], ...] = (
    (
        "articles of the result are not in this corpus",
        "store them with `dedup load`, or run the cluster again without them",
        "SELECT source_id FROM pg_temp.import_row WHERE id IS NULL",
    ),
    (
        "articles of this corpus are not in the result",
        AGAIN,
        "SELECT a.source_id FROM dedup.article a WHERE NOT a.archived AND (%(horizon)s::timestamptz IS NULL"
        " OR dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(horizon)s)"
        " AND NOT EXISTS (SELECT FROM pg_temp.import_row r WHERE r.id = a.id)",
    ),
    (
        "articles of the result are before the horizon of this corpus",
        "run the cluster again without them, over a new `dedup export corpus`",
        "SELECT source_id FROM pg_temp.import_row WHERE archived OR own_time < %(horizon)s::timestamptz",
    ),
    (
        "articles have another text, title or language than the result was made from",
        AGAIN,
        "SELECT a.source_id FROM pg_temp.import_row r JOIN dedup.article a USING (id)"
        " WHERE r.text_digest IS DISTINCT FROM {digest}",
    ),
    (
        "articles have another time than the result was made with",
        AGAIN,
        "SELECT source_id FROM pg_temp.import_row WHERE own_time <> time",
    ),
    (
        "fingerprints are of another version than this corpus wants",
        AGAIN,
        "SELECT source_id FROM pg_temp.import_row"
        " WHERE id IS NOT NULL AND failure IS NULL AND version IS DISTINCT FROM wanted_version",
    ),
    (
        "articles failed in the cluster, and can be read here",
        "run the cluster again, with a new `dedup export corpus`",
        "SELECT source_id FROM pg_temp.import_row"
        " WHERE status = 'failed' AND stored_version = wanted_version",
    ),
    (
        "articles have another fingerprint here than in the result",
        "run `dedup verify`, then the cluster again",
        "SELECT r.source_id FROM pg_temp.import_row r JOIN dedup.fingerprint s ON s.article_id = r.id"
        " AND s.revision = r.revision AND s.version = r.version"
        " JOIN pg_temp.import_fingerprint f ON f.article_id = r.place"
        " WHERE (s.content_hash, s.sentence_hashes, s.signature, s.buckets, s.word_count, s.shingle_count)"
        " IS DISTINCT FROM"
        " (f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.word_count, f.shingle_count)",
    ),
    (
        "articles have a mark and no fingerprint, or the reverse",
        _SPOILED,
        "SELECT source_id FROM pg_temp.import_row WHERE place IS NULL UNION ALL"
        " SELECT n.source_id FROM pg_temp.import_article n WHERE NOT EXISTS"
        " (SELECT FROM pg_temp.import_mark m WHERE m.source_id = n.source_id)",
    ),
    (
        "marks contradict themselves",
        _SPOILED,
        "SELECT r.source_id FROM pg_temp.import_row r"
        " LEFT JOIN pg_temp.import_mark o ON o.source_id = r.duplicate_of"
        " WHERE r.status NOT IN ('unique', 'similar', 'duplicate', 'failed')"
        " OR (r.status = 'duplicate') <> (r.duplicate_of IS NOT NULL)"
        " OR r.status = 'duplicate' AND (o.status IN ('unique', 'similar')) IS NOT TRUE"
        " OR (r.status = 'failed') <> (r.failure IS NOT NULL)"
        " OR r.status = 'failed' AND (r.reason, r.score) IS DISTINCT FROM (r.failure, NULL)",
    ),
)
"""What may be wrong with an article, what to do then, and how such articles are found."""

_PAIR = "JOIN pg_temp.import_known a ON a.id = p.article_id JOIN pg_temp.import_known o ON o.id = p.other_id"

_OF_PAIRS: tuple[tuple[str, str], ...] = (
    (
        "pairs contradict the marks",
        f"SELECT a.source_id FROM pg_temp.import_pair p {_PAIR}"
        " WHERE o.status NOT IN ('unique', 'similar') OR a.status = 'failed'"
        " OR p.relation NOT IN ('duplicate', 'similar')"
        " OR (p.relation = 'duplicate') <> (a.status = 'duplicate')"
        " OR p.rule NOT IN ('pinned', 'content', 'sentences', 'signature', 'containment')"
        " OR NOT (p.score BETWEEN 0 AND 1 AND p.sentence_jaccard BETWEEN 0 AND 1"
        "         AND p.signature_jaccard BETWEEN 0 AND 1 AND p.containment BETWEEN 0 AND 1)"
        " OR (a.time, a.source_id) <= (o.time, o.source_id)",
    ),
    (
        "pairs come twice",
        "SELECT min(a.source_id) FROM pg_temp.import_pair p"
        " JOIN pg_temp.import_known a ON a.id = p.article_id"
        " GROUP BY p.article_id, p.other_id HAVING count(*) > 1",
    ),
    (
        "articles have two likest ones",
        "SELECT min(o.source_id) FROM pg_temp.import_pair p JOIN pg_temp.import_known o ON o.id = p.other_id"
        " WHERE p.likest GROUP BY p.other_id HAVING count(*) > 1",
    ),
    ("marks do not follow from the pairs", "{disagree}"),
)


@dataclass(slots=True)
class Checked:
    """What was found."""

    # in what the result and the corpus do not agree; then the rest is not known
    problems: list[Disagreement] = field(default_factory=list)
    articles: int = 0  # of the result
    missing: int = 0  # those whose fingerprint is not stored yet
    counts: Sequence[SentenceCount] = ()  # of every sentence that matters
    changes: Sequence[CommonChange] = ()  # what follows for the table of common sentences


def differences(cursor: Cursor, basis: Basis) -> list[Disagreement]:
    """In what a result and the corpus rest on other settings, pins, models, horizon or another program."""
    found = wanted(cursor)
    problems = [Disagreement(words, next=_AGREE) for words in basis.differences(found.basis)]
    state = window.load(cursor)
    if state.horizon is not None and state.divided != window.dividing(state.horizon, found.settings):
        words = "the articles are not divided yet by the horizon in the present order"
        problems.append(Disagreement(words, next="run `dedup backfill` first"))
    return problems


def check(cursor: Cursor, found: Wanted, tell: Callable[[int], object]) -> Checked:
    """Compare the staged result with the corpus, and prepare what is to be written.

    The transaction should see one moment all through. Of a result that agrees these tables are made:

        import_known    its articles by id, with the id of the original; place of the fingerprint if it is new
        import_pair     its pairs by ids

    Args:
        found: what the corpus is settled by.
        tell: called with 0 now and then: each statement may take minutes, and the work goes on.
    """
    checked = Checked()
    checked.problems += _found(cursor, found, [(w, _SPOILED, _doubled(t)) for w, t in _TWICE], tell)
    if checked.problems:
        return checked
    query = _sql("rows", published_at=_time("published_at"), added_at=_time("added_at"))
    cursor.execute(query, {**order_parameters(found.settings), **versions(cursor, found.fingerprinter)})
    cursor.execute("CREATE INDEX ON pg_temp.import_row (id)")
    cursor.execute("ANALYZE pg_temp.import_row")
    checked.problems += _found(cursor, found, _OF_ARTICLES, tell)
    if checked.problems:
        return checked
    _resolve(cursor)
    if unknown := _unknown_pairs(cursor):
        words = "pairs name articles that have no mark"
        checked.problems.append(Disagreement(words, unknown, next=_SPOILED))
    checked.problems += _found(cursor, found, [(words, _SPOILED, query) for words, query in _OF_PAIRS], tell)
    row = cursor.execute("SELECT count(*), count(place) FROM pg_temp.import_known").fetchone()
    assert row is not None
    checked.articles, checked.missing = row
    _check_common(cursor, found, checked)
    return checked


def _doubled(table: str) -> str:
    return f"SELECT source_id FROM pg_temp.{table} GROUP BY source_id HAVING count(*) > 1"


def _found(
    cursor: Cursor, found: Wanted, queries: Sequence[tuple[str, str, str]], tell: Callable[[int], object]
) -> Iterator[Disagreement]:
    values = {**order_parameters(found.settings), "horizon": found.horizon, "named": NAMED}
    parts = {
        "digest": digest("a", articles.body("a")),
        "disagree": _sql("marks_disagree").decode(),
    }
    for words, next_step, query in queries:
        text = query
        for name, part in parts.items():
            text = text.replace(f"{{{name}}}", part)
        row = cursor.execute(
            f"SELECT count(*), (array_agg(source_id ORDER BY source_id))[:%(named)s]"
            f" FROM ({text}) AS f (source_id)".encode(),
            values,
        ).fetchone()
        tell(0)
        if row and row[0]:
            yield Disagreement(words, row[0], row[1], next_step)


def _resolve(cursor: Cursor) -> None:
    cursor.execute("""
        CREATE TEMPORARY TABLE import_known AS
        SELECT r.id, r.revision, r.source_id, r.time, r.status, o.id AS original, r.score, r.reason,
               CASE WHEN r.failure IS NULL AND r.stored_version IS DISTINCT FROM r.wanted_version
                    THEN r.place END AS place
        FROM pg_temp.import_row r LEFT JOIN pg_temp.import_row o ON o.source_id = r.duplicate_of
    """)
    cursor.execute("CREATE UNIQUE INDEX ON pg_temp.import_known (id)")
    cursor.execute("""
        CREATE TEMPORARY TABLE import_pair AS
        SELECT a.id AS article_id, o.id AS other_id, m.relation, m.rule, m.score, m.sentence_jaccard,
               m.signature_jaccard, m.containment, m.likest
        FROM pg_temp.import_match m
        JOIN pg_temp.import_row a ON a.source_id = m.source_id
        JOIN pg_temp.import_row o ON o.source_id = m.other_source_id
    """)
    cursor.execute("CREATE INDEX ON pg_temp.import_pair (article_id, other_id)")
    cursor.execute("CREATE INDEX ON pg_temp.import_pair (other_id)")
    cursor.execute("ANALYZE pg_temp.import_known, pg_temp.import_pair")


def _unknown_pairs(cursor: Cursor) -> int:
    row = cursor.execute(
        "SELECT (SELECT count(*) FROM pg_temp.import_match) - (SELECT count(*) FROM pg_temp.import_pair)"
    ).fetchone()
    return int(row[0]) if row else 0


def _check_common(cursor: Cursor, found: Wanted, checked: Checked) -> None:
    settings = found.settings
    watched = bulk.watched_sentences(cursor)
    counts = common_sentences.count_all(cursor, settings, "pg_temp.import_fingerprint", watched)
    changes = common_sentences.changes(cursor, counts, settings, everything=True, complete=True)
    present = common_sentences.stored(cursor)
    for change in changes:
        if change.effective_stories is None:
            present.pop(change.sentence_hash, None)
        else:
            present[change.sentence_hash] = change.carriers, change.effective_stories
    rows = cursor.execute("SELECT sentence_hash, carriers, effective_stories FROM pg_temp.import_common")
    staged = [(row[0], (row[1], row[2])) for row in rows.fetchall()]
    wrong = len(set(staged) ^ set(present.items())) + len(staged) - len(set(staged))
    if wrong:
        words = "common sentences do not follow from the fingerprints of the result"
        checked.problems.append(Disagreement(words, wrong, next=_SPOILED))
    checked.counts, checked.changes = counts, _with_carriers(cursor, changes)


def _with_carriers(cursor: Cursor, changes: Sequence[CommonChange]) -> list[CommonChange]:
    """The same changes, with the id of a carrier in place of the place of its fingerprint."""
    rows = cursor.execute(
        "SELECT place, id FROM pg_temp.import_row WHERE place = ANY (%s)",
        [bigints([c.carrier for c in changes if c.carrier is not None])],
    )
    ids = dict(rows.fetchall())
    return [replace(c, carrier=None if c.carrier is None else ids.get(c.carrier)) for c in changes]
