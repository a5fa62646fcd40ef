"""One article gets its verdict at once: the per-article hook (SEMANTICS section 6).

The text is read before the settle lock is taken; under the lock the article is stored, settled, and with
it whatever it unsettles. Work that would keep the lock for long is left pending, with the reason, for
the next backfill, which has no limits. The common sentences are never changed here. Read next:
`lookup.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dedup.article import Article, storable
from dedup.corpus import articles, fingerprints, verdicts
from dedup.corpus.database import Cursor
from dedup.corpus.fingerprints import Reading
from dedup.corpus.rulebooks import Rulebook
from dedup.engine.pool import read_text
from dedup.engine.settle import TooManyCandidatesError, settle
from dedup.errors import DedupError
from dedup.settings import Settings
from dedup.verdict import Verdict

MAX_CASCADE = 500
"""Articles settled in one hook; a story of that size whose original is edited takes about 0.3 s."""

MAX_CANDIDATES = 5_000
"""Articles compared in one hook; about 30 ms."""


def read(rulebook: Rulebook, article: Article) -> Reading:
    """The fingerprint of an article not stored yet; takes a millisecond and no database."""
    return read_text(rulebook.fingerprinter, storable(article.text), article.language)


def submit(cursor: Cursor, rulebook: Rulebook, article: Article, reading: Reading) -> Verdict:
    """Store an article and settle it; the caller holds the settle lock and has checked the rulebook.

    Args:
        reading: from `read`, with the same rulebook.
    """
    partners = articles.partners(cursor, [article.source_id])  # an edit makes them pending
    known = store(cursor, article)
    if known.status == "pending":
        if known.language != article.language:  # the corpus knows it, the caller left it out
            reading = read(rulebook, replace(article, language=known.language))
        reading = replace(reading, article_id=known.id, revision=known.revision)
        fingerprints.store_readings(cursor, [reading])
        settle_some(cursor, rulebook.settings, [known.id, *partners])
    return verdicts.verdict(cursor, known.id)


def store(cursor: Cursor, article: Article) -> articles.Known:
    """Store an article without settling it."""
    articles.store(cursor, [article])
    known = articles.find(cursor, article.source_id)
    if known is None:
        raise DedupError("the article was deleted while it was being stored; submit it again")
    return known


def delete(cursor: Cursor, settings: Settings, source_ids: Sequence[str]) -> list[str]:
    """Delete articles and settle what that unsettles; the caller holds the settle lock.

    Returns:
        The source_ids that existed.
    """
    partners = articles.partners(cursor, source_ids)
    deleted = articles.delete(cursor, source_ids)
    settle_some(cursor, settings, partners)
    return deleted


def settle_some(cursor: Cursor, settings: Settings, ids: Iterable[int]) -> None:
    """Settle these articles and all that they unsettle, within the limits of the hook."""
    waiting, settled = set(ids), 0
    while waiting:
        settled += len(waiting)
        if settled > MAX_CASCADE:
            reason = f"limit: more than {MAX_CASCADE:,} articles to settle at once"
            articles.note_limit(cursor, list(waiting), reason)
            return
        try:
            result = settle(cursor, settings, ids=list(waiting), max_candidates=MAX_CANDIDATES)
        except TooManyCandidatesError:
            reason = f"limit: more than {MAX_CANDIDATES:,} candidates"
            articles.note_limit(cursor, list(waiting), reason)
            return
        waiting = set(result.unsettled)
