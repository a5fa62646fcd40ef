"""Stores a new article and its mark in one transaction, or two if it shares something with stored articles.

Articles share something if they have a sentence, bucket or content hash in common. If so, the first
transaction returns these articles, the caller decides the mark, and the second stores article and mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from dedup.base.article import Article
from dedup.db.arrays import Bigints, bigints
from dedup.db.statements import Statements
from dedup.rules.marks import published_second
from dedup.store import articles
from dedup.store.rulebooks import Rulebook, StaleRulesError
from dedup.store.settling import FingerprintRow, make_row, order_parameters
from dedup.text.fingerprint import Fingerprint

_sql = Statements("store/fast_path")

MOST_SHARED = 200  # Maximum number of articles that `store_or_look_up` returns for comparison

Ask = Callable[[bytes, Mapping[str, Any]], list[tuple[Any, ...]]]
"""Executes a statement as one transaction and returns its rows; see `Database.ask`."""

Outcome = Literal["stored", "shares", "not plain"]
"""Result of a call. "stored": the article was stored. "shares": it shares something with few articles.
"not plain": `settle.py` must settle the article, because it is pinned, or shares something with many
articles or with unsettled ones."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Result of `store_or_look_up`, the first call for an article; `store` is the second call."""

    outcome: Outcome
    checksum: int | None = None  # checksum of this result; `store` stores nothing if the checksum has changed
    turn: int | None = None  # number of the call's transaction; None if another transaction was active
    added: datetime | None = None  # the article's `added_at`, or the time of the call if the article has none
    time: datetime | None = None  # `published_at` or `added_at`, by which articles are ordered
    published: int = 0  # seconds, from `marks.published_second`
    # Sentence hashes of the article, without common sentences.
    sentences: Bigints = field(default_factory=lambda: bigints([]))
    # Originals that share something with the article, and duplicates that may come after the article. These
    # rows and the rows of `near` have no common sentences.
    others: Sequence[FingerprintRow] = ()
    # For an edit: originals, not in `others`, that share something with an article of `partners`.
    near: Sequence[FingerprintRow] = ()
    # For an edit: before the edit, `copies` were duplicates of the article, and `partners` similar originals.
    # The copies are in no other pairs, and the partners in no other similar pairs.
    copies: Collection[int] = ()
    partners: Collection[int] = ()
    unsettled: int = 0  # number of articles that are pending or stale


def store_or_look_up(ask: Ask, rulebook: Rulebook, article: Article, fingerprint: Fingerprint) -> Lookup:
    """Store a new article with its mark, or return the stored articles that share something with the article.

    `fingerprint`: made with `rulebook`. Raises StaleRulesError: stored results are from another rulebook.
    """
    settings = rulebook.settings
    rows = _submit(ask, rulebook, article, fingerprint)
    *others, last = rows
    found = [
        (
            kind,
            make_row(
                settings, (*row[:3], kind in ("original", "near"), True, True, False, *row[3:11]), row[11]
            ),
        )
        for kind, *row in others
    ]
    return Lookup(
        last[0],
        checksum=last[13],
        turn=last[1],
        added=last[14],
        time=last[2],
        published=published_second(settings, last[2], last[11]) if last[2] else 0,
        sentences=last[5],
        others=[row for kind, row in found if kind != "near"],
        near=[row for kind, row in found if kind == "near"],
        copies={row.id for kind, row in found if kind == "copy"},
        partners=set() if last[7] is None else set(last[7].tolist()),
        unsettled=last[15],
    )


def store(
    ask: Ask,
    rulebook: Rulebook,
    article: Article,
    fingerprint: Fingerprint,
    lookup: Lookup,
    decision: Mapping[str, Any],
) -> bool:
    """Store an article and a decision; return False, and store nothing, if `lookup` is outdated.

    `decision`: the article's mark; `pairs` with earlier articles; pairs with `later` ones; and `marks` of the
    lookup's copies and partners. Raises StaleRulesError: stored results were made with a different rulebook.
    """
    # The mark was decided for this `added_at`; another time may change the position in canonical order.
    dated = replace(article, added_at=lookup.added)
    given = json.dumps({**decision, "after": lookup.turn})
    rows = _submit(ask, rulebook, dated, fingerprint, checksum=lookup.checksum, mark=given)
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
