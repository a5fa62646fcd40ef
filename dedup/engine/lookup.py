"""What an article would be marked, without storing it. Reads only, takes no lock.

Read next: `../deduplicator.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from dedup.article import Article, storable
from dedup.corpus import settling
from dedup.corpus.arrays import hashes
from dedup.corpus.database import Cursor, prefer_indexes
from dedup.corpus.rulebooks import Rulebook
from dedup.corpus.settling import Row
from dedup.engine.index import make_nodes
from dedup.engine.settle import without_common
from dedup.rules.marks import OrderKey, choose_original, order_key
from dedup.rules.pair import Judgement, Relation, judge, stronger
from dedup.text.fingerprint import Fingerprint, UnreadableError
from dedup.verdict import Match, Verdict


def lookup(cursor: Cursor, rulebook: Rulebook, article: Article | str) -> Verdict:
    """The verdict that an article would get if it came now.

    A text alone, or an article without a date, is taken for the latest of all. A stored article of the
    same source_id is left out of the comparison, as an edit would leave it out.
    """
    given = article if isinstance(article, Article) else Article(source_id="-", text=article)
    own_id = given.source_id if isinstance(article, Article) else None
    try:
        made = rulebook.fingerprinter.fingerprint(storable(given.text), given.language)
    except UnreadableError as error:
        return Verdict(own_id, "failed", None, None, str(error))
    policy = rulebook.settings.canonical_order
    now = given.added_at or datetime.now(UTC)
    order = order_key(policy, given.published_at, now, given.source_id)
    if given.published_at is None and given.added_at is None:
        order = (datetime.max.replace(tzinfo=UTC), b"")
    related = _related(cursor, rulebook, made, order, own_id)
    originals = [(order, name, j) for order, name, j in related if j.relation is Relation.DUPLICATE]
    if originals:
        original, judgement = choose_original(originals)
        score = judgement.scores.score
        return Verdict(own_id, "duplicate", original, score, judgement.rule.value, _matches(originals))
    if related:
        best = max(j.scores.score for _, _, j in related)
        rules = {stronger(j.scores).value for _, _, j in related if j.scores.score == best}
        return Verdict(own_id, "similar", None, best, min(rules), _matches(related))
    return Verdict(own_id, "unique", None, None, None)


_Found = tuple[OrderKey, str, Judgement]


def _related(
    cursor: Cursor, rulebook: Rulebook, made: Fingerprint, order: OrderKey, own_id: str | None
) -> list[_Found]:
    row = Row(
        id=0,
        order=order,
        canonical=None,
        content_hash=made.content_hash,
        sentence_hashes=hashes(made.sentence_hashes),
        signature=made.signature,
        buckets=hashes(made.buckets),
        shingle_count=made.shingle_count,
    )
    prefer_indexes(cursor)
    own = without_common(cursor, [row])
    others = settling.sharing(
        cursor,
        rulebook.settings.canonical_order,
        own[0],
        row.buckets,
        hashes([] if len(row.buckets) else [row.content_hash]),
        canonical=True,
    )
    node, *candidates = make_nodes([row, *others], [*own, *without_common(cursor, others)])
    found = []
    for other in candidates:
        name = other.order[1].decode()
        if name == own_id:
            continue
        judgement = judge(node.profile, other.profile, rulebook.settings)
        # A duplicate counts only if it is earlier; likeness has no direction.
        if judgement and (other.order < order or judgement.relation is Relation.SIMILAR):
            found.append((other.order, name, judgement))
    return found


def _matches(found: Iterable[_Found]) -> tuple[Match, ...]:
    ranked = sorted(
        found, key=lambda f: (-max(f[2].scores.sentence_jaccard, f[2].scores.signature_jaccard), f[1])
    )
    return tuple(
        Match(
            name,
            judgement.relation.value,
            judgement.scores.sentence_jaccard,
            judgement.scores.signature_jaccard,
            judgement.scores.containment,
        )
        for _, name, judgement in ranked
    )
