"""A new article that is unique or a duplicate, settled in one or two calls; most of a scraper's are such.

A duplicate changes no other article, and neither does one that is related to none. So `settle.py` would write
just this. Everything else is left to it.
"""

from __future__ import annotations

import numpy as np

from dedup.article import Article
from dedup.corpus import fast_path, settling
from dedup.corpus.arrays import bigints
from dedup.corpus.fast_path import MOST_SHARED, Met
from dedup.corpus.rulebooks import Rulebook
from dedup.corpus.settling import PairRows
from dedup.corpus.steps import Steps
from dedup.engine.index import Relations, profile_of
from dedup.engine.lookup import verdict_of
from dedup.rules.marks import Partner, Status, decide, kept_originals
from dedup.rules.pair import Profile, Relation, relate
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint
from dedup.verdict import Verdict


def settle_new(
    rulebook: Rulebook, article: Article, made: Fingerprint, most: int = MOST_SHARED
) -> Steps[tuple[Verdict | None, bool]]:
    """Take the settle lock, and store and mark an article if that is plain: it shares something with `most`
    at most.

    Returns the verdict, None where it is not plain and nothing was stored; and whether the article is new.
    Raises StaleRulesError: the stored results are of another rulebook.
    """
    met = yield from fast_path.meet(rulebook, article, made, most)
    if met.outcome == "stored":
        return Verdict(article.source_id, Status.UNIQUE.value, None, None, None), True
    if met.outcome != "shares":
        return None, met.outcome == "new"
    found = _related(made, met, rulebook.settings)
    earlier = [partner for partner in found if partner[0] < (met.time, article.source_id.encode())]
    mark = decide((p for p in earlier if p[2].relation is Relation.DUPLICATE), ())
    if found and mark.status is Status.UNIQUE:
        return None, True  # others change with it
    article_id = yield from fast_path.store(rulebook, article, made, mark)
    if article_id is None:
        return None, False
    kept = kept_originals((p for p in earlier if p[2].relation is Relation.DUPLICATE), rulebook.settings)
    yield from settling.write_pairs(_pairs(article_id, kept))
    return verdict_of(article.source_id, mark, kept, 0), True


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


def _pairs(article_id: int, kept: list[Partner]) -> PairRows:
    relations = Relations.of([(place, related) for place, (_, _, related) in enumerate(kept)])
    return PairRows(
        bigints([article_id] * len(kept)),
        bigints([other_id for _, other_id, _ in kept]),
        relations.duplicate,
        relations.rule,
        relations.score,
        relations.sentence_jaccard,
        relations.signature_jaccard,
        relations.containment,
        np.zeros(len(kept), np.bool_),
    )
