"""Stores a new article and its mark in one transaction, or two if it shares something with stored articles.

Articles share something if they have a sentence, bucket or content hash in common. If so, the first
transaction returns these articles, the caller decides the mark, and the second stores article and mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np

from dedup.base.article import Article
from dedup.db.arrays import Bigints, bigints
from dedup.db.statements import Statements
from dedup.rules.marks import Mark, Pair, published_second
from dedup.store import articles
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.store.settling import FingerprintRow, order_parameters
from dedup.text.fingerprint import Fingerprint

_sql = Statements("store/fast_path")

MOST_SHARED = 200  # Maximum number of articles that the first call returns for comparison

Ask = Callable[[bytes, Mapping[str, Any]], list[tuple[Any, ...]]]
"""Executes a statement as one transaction and returns its rows; see `Database.ask`."""

Outcome = Literal["stored", "shares", "not plain"]
"""Result of a call: the article was stored; or shares something with few articles; or must be settled by
`settle.py`, for example because it is pinned, or shares something with unsettled or with many articles."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Result of the first call for an article."""

    outcome: Outcome
    checksum: int | None = None  # of this result; the second call stores only if the checksum is still equal
    added: datetime | None = None  # the article's `added_at`, or the time of the call if the article has none
    time: datetime | None = None  # `published_at` or `added_at`, by which articles are ordered
    published: int = 0  # see `marks.published_second`
    sentences: Bigints = field(default_factory=lambda: bigints([]))  # of the article, without common ones
    others: Sequence[FingerprintRow] = ()  # originals that share something with the article
    other_sentences: Sequence[Bigints] = ()  # sentences of each of `others`, without common ones
    unsettled: int = 0  # number of articles that are pending or stale


def store_or_look_up(ask: Ask, rulebook: Rulebook, article: Article, fingerprint: Fingerprint) -> Lookup:
    """Store a new article with its mark, or return the stored articles that share something with the article.

    `fingerprint`: made with `rulebook`. Raises StaleRulesError: stored results are from another rulebook.
    """
    settings = rulebook.settings
    rows = _submit(ask, rulebook, article, fingerprint)
    outcome: Outcome = rows[-1][0]
    others = [
        FingerprintRow(
            id=row[1],
            order=(row[2], row[3].encode()),
            stored_canonical=True,
            canonical=True,
            settled=True,
            pinned=False,
            content_hash=row[4],
            published=published_second(settings, row[2], row[11]),
            sentence_count=row[12],
            sentence_hashes=row[5],
            signature=np.frombuffer(row[6], np.uint8),
            buckets=row[7],
            shingle_count=row[8],
            score=row[9],
            reason=row[10],
        )
        for row in rows[:-1]
    ]
    time, sentences, (checksum, added, unsettled) = rows[-1][2], rows[-1][5], rows[-1][13:]
    published = published_second(settings, time, rows[-1][11]) if time else 0
    theirs = [row.sentence_hashes for row in others]
    return Lookup(outcome, checksum, added, time, published, sentences, others, theirs, unsettled)


def store(
    ask: Ask,
    rulebook: Rulebook,
    article: Article,
    fingerprint: Fingerprint,
    lookup: Lookup,
    mark: Mark,
    pairs: Sequence[Pair],
    gaining: Collection[int],
) -> bool:
    """Store a new article with its mark and pairs; return False, and store nothing, if `lookup` is outdated.

    `gaining`: ids of earlier articles whose best match is the new article. Raises StaleRulesError: stored
    results were made with a different rulebook.
    """
    # The mark was decided for this `added_at`; another time may change the position in canonical order.
    dated = replace(article, added_at=lookup.added)
    given = {**asdict(mark), "pairs": [asdict(p) | {"best_match": p.other_id in gaining} for p in pairs]}
    rows = _submit(ask, rulebook, dated, fingerprint, checksum=lookup.checksum, mark=json.dumps(given))
    return bool(rows[-1][0] == "stored")


def _submit(
    ask: Ask,
    rulebook: Rulebook,
    article: Article,
    fingerprint: Fingerprint,
    *,
    checksum: int | None = None,
    mark: str | None = None,
) -> list[tuple[Any, ...]]:
    state = rulebook.state
    values = {
        "rules": [state.fingerprints, state.rules, str(state.algorithm), state.unicode],
        "most": MOST_SHARED,
        "pairs_kept": rulebook.settings.similar_pairs,
        **articles.article_values(article),
        "version": fingerprint.version,
        "content_hash": fingerprint.content_hash,
        "sentence_hashes": bigints(fingerprint.sentence_hashes),
        "signature": fingerprint.signature.tobytes(),
        "buckets": bigints(fingerprint.buckets),
        "word_count": fingerprint.word_count,
        "shingle_count": fingerprint.shingle_count,
        **order_parameters(rulebook.settings),
        "checksum": checksum,
        "mark": mark,
    }
    rows = ask(_sql("submit"), values)
    if rows[-1][0] == "rules":
        raise StaleRulesError
    return rows
