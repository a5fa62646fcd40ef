"""Look up the mark that an article would get, by comparing it with all articles that have a fingerprint.

Nothing is written or locked. If all stored articles are settled, settling the article would give the same
mark. Otherwise the verdict is provisional: the next backfill may change it (docs/semantics.md, section 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dedup.base.article import Article, storable
from dedup.base.settings import Settings
from dedup.base.verdict import COPIES_LIMIT, MATCHES_LIMIT, UNSETTLED_LIMIT, Copy, Match, Verdict
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, prefer_indexes
from dedup.rules.marks import Mark, OrderKey, Partner, Status, decide, order_key, published_second
from dedup.rules.pair import Relation
from dedup.settling.candidates import drop_common, find_sharing, make_profile, relate_all
from dedup.store import settling, window
from dedup.store.rulebooks import Rulebook
from dedup.store.settling import FingerprintRow
from dedup.text.fingerprint import Fingerprint, UnreadableError


def lookup(cursor: Cursor, rulebook: Rulebook, article: Article | str, scope: str | None = None) -> Verdict:
    """Return the verdict that an article would get if it came now. A mere text, or an article without a date,
    counts as later than every stored article. A stored article with the same source_id is ignored, since an
    edit would replace it. `scope`: the scope to look in; None: the article's scope."""
    given = article if isinstance(article, Article) else Article(source_id="-", text=article)
    own_id = given.source_id if isinstance(article, Article) else None
    prefer_indexes(cursor)  # outdated statistics could make Postgres scan whole tables
    unsettled = settling.count_unsettled(cursor, UNSETTLED_LIMIT)
    try:
        made = rulebook.fingerprinter.fingerprint(
            storable(given.text), given.language, given.title, given.scope if scope is None else scope
        )
    except UnreadableError as error:
        return Verdict(own_id, "failed", None, None, str(error), unsettled=unsettled)
    settings = rulebook.settings
    added = given.added_at or datetime.now(UTC)
    order = order_key(settings, given.published_at, added, given.source_id)
    published = published_second(settings, order[0], given.published_at)
    if given.published_at is None and given.added_at is None:
        order = (datetime.max.replace(tzinfo=UTC), order[1] if own_id else b"")
    horizon = window.load(cursor).horizon
    if horizon is not None and order[0] < horizon:
        return Verdict(
            own_id, "failed", None, None, window.NEVER_COMPARED, unsettled=unsettled, archived=True
        )
    row = _make_row(made, order, published)
    found = relate_to(cursor, settings, row, everything=unsettled > 0)
    mark = decide_mark(row, found)
    return add_copies(make_verdict(own_id, mark, found, unsettled), find_copies(row, mark, found), 0)


def relate_to(cursor: Cursor, settings: Settings, row: FingerprintRow, *, everything: bool) -> list[Partner]:
    """Return the canonical articles (not duplicates) that are related to the article of `row`. `everything`:
    also return related articles that are unsettled."""
    own = drop_common(cursor, [row])
    others = find_sharing(cursor, settings, [row], own, "canonical")
    if everything:
        others += find_sharing(cursor, settings, [row], own, "waiting")
        copies = find_sharing(cursor, settings, [row], own, "duplicate")
        others += [other for other in copies if not other.settled]
    name = row.order[1]
    pins = settling.load_pair_pins(cursor, [row])
    pinned = settling.find_named(cursor, settings, {n for pair in pins for n in pair} - {name})
    others += [other for other in pinned if other.canonical or (everything and not other.settled)]
    unique = list({other.id: other for other in others if other.order[1] != name}.values())
    said = {next(iter(pair - {name})): relation for pair, relation in pins.items() if name in pair}
    sentences = drop_common(cursor, unique)
    return relate_all(make_profile(row, own[0]), unique, sentences, settings, said)


def decide_mark(row: FingerprintRow, found: Sequence[Partner]) -> Mark:
    """Return the mark of the article of `row`. `found`: its related articles."""
    return decide(
        (f for f in found if f[2].relation is Relation.DUPLICATE and f[0] < row.order),
        (f[2] for f in found if f[2].relation is Relation.SIMILAR),
    )


def make_verdict(source_id: str | None, mark: Mark, found: Sequence[Partner], unsettled: int) -> Verdict:
    duplicate = mark.status is Status.DUPLICATE
    behind = Relation.DUPLICATE if duplicate else Relation.SIMILAR
    names = {article_id: order[1].decode() for order, article_id, _ in found}
    # An article of a template may have thousands of related articles, so make matches only of those shown.
    ranked = sorted(
        (f for f in found if f[2].relation is behind), key=lambda f: (-f[2].scores.score, f[0][1])
    )
    matches = (
        Match(
            names[article_id],
            relation.relation.value,
            relation.rule.value,
            relation.scores.score,
            relation.scores.sentence_jaccard,
            relation.scores.signature_jaccard,
            relation.scores.containment,
        )
        for _, article_id, relation in ranked[:MATCHES_LIMIT]
    )
    return Verdict(
        source_id,
        mark.status.value,
        names[mark.duplicate_of] if mark.duplicate_of is not None else None,
        mark.score,
        mark.reason,
        tuple(matches),
        unsettled,
    )


def find_copies(row: FingerprintRow, mark: Mark, found: Iterable[Partner]) -> tuple[Copy, ...]:
    """Return later articles that would become duplicates of an article; () if it is itself a duplicate."""
    if mark.status is Status.DUPLICATE:
        return ()
    return tuple(
        Copy(order[1].decode(), relation.rule.value, relation.scores.score)
        for order, _, relation in found
        if relation.relation is Relation.DUPLICATE and order > row.order
    )


def add_copies(verdict: Verdict, found: Iterable[Copy], stored: int) -> Verdict:
    """Add the copies `found` to a verdict, and keep only the most similar ones in its list.

    `stored`: number of stored copies, without the copies `found`.
    """
    more = tuple(found)
    ranked = sorted((*verdict.copies, *more), key=lambda copy: (-copy.score, copy.id))
    return replace(
        verdict, copies=tuple(ranked[:MATCHES_LIMIT]), copy_count=min(stored + len(more), COPIES_LIMIT)
    )


def _make_row(made: Fingerprint, order: OrderKey, published: int) -> FingerprintRow:
    return FingerprintRow(
        id=0,
        order=order,
        stored_canonical=True,
        canonical=None,
        settled=False,
        pinned=bool(order[1]),
        content_hash=made.content_hash,
        published=published,
        sentence_count=len(made.sentence_hashes),
        sentence_hashes=bigints(made.sentence_hashes),
        signature=made.signature,
        buckets=bigints(made.buckets),
        shingle_count=made.shingle_count,
    )
