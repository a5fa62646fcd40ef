"""A new article that is unique or a duplicate, settled in one or two calls; most of a scraper's are such.

A duplicate changes no other article, and neither does one that is related to none. So `settle.py` would write
just this. Everything else is left to it.
"""

from __future__ import annotations

from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.base.verdict import Verdict
from dedup.db.steps import Steps
from dedup.rules.marks import Partner, Status, decide, kept_originals
from dedup.rules.pair import Profile, Relation, relate
from dedup.settling.index import profile_of
from dedup.settling.lookup import verdict_of
from dedup.store import fast_path
from dedup.store.fast_path import MOST_SHARED, Met
from dedup.store.rulebooks import Rulebook
from dedup.text.fingerprint import Fingerprint


def settle_new(
    rulebook: Rulebook, article: Article, made: Fingerprint, most: int = MOST_SHARED
) -> Steps[Verdict | None]:
    """Store and mark an article if it is new and that is plain: it shares something with `most` at most. Each
    step is a transaction of its own.

    Returns the verdict, None where it is not plain, and nothing was stored.
    Raises StaleRulesError: the stored results are of another rulebook.
    """
    met = yield from fast_path.meet(rulebook, article, made, most)
    if met.outcome == "stored":
        return Verdict(article.source_id, Status.UNIQUE.value, None, None, None)
    if met.outcome != "shares":
        return None
    found = _related(made, met, rulebook.settings)
    earlier = [partner for partner in found if partner[0] < (met.time, article.source_id.encode())]
    mark = decide((p for p in earlier if p[2].relation is Relation.DUPLICATE), ())
    if found and mark.status is Status.UNIQUE:
        return None  # others change with it
    kept = kept_originals((p for p in earlier if p[2].relation is Relation.DUPLICATE), rulebook.settings)
    pairs = [(other_id, related) for _, other_id, related in kept]
    if not (yield from fast_path.store(rulebook, article, made, met, mark, pairs, most)):
        return None
    return verdict_of(article.source_id, mark, kept, 0)


def _related(made: Fingerprint, met: Met, settings: Settings) -> list[Partner]:
    own = Profile(
        made.content_hash,
        frozenset(met.sentences.tolist()),
        made.signature,
        frozenset(made.buckets),
        made.shingle_count,
    )
    found: list[Partner] = []
    for row, sentences in zip(met.others, met.other_sentences, strict=True):
        related = relate(own, profile_of(row, sentences), settings)
        if related:
            found.append((row.order, row.id, related))
    return found
