"""Store and settle one article at once, in a call of `submit` (docs/semantics.md, section 6).

The text is fingerprinted before the settle lock is taken. Under the lock the article is stored and settled.
Articles whose marks it may change are settled, too. Work that would hold the lock for long is left to the
next backfill, which has no such limits. Hooks never change the common sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from dedup.base.article import Article, storable
from dedup.base.errors import BusyError, CollisionError, DedupError
from dedup.base.settings import Settings
from dedup.base.verdict import Copy, Verdict
from dedup.db.database import Cursor, Database
from dedup.db.statements import Statements
from dedup.rules.marks import Mark, Pair, Partner, Status, best_match, decide, kept_originals, kept_similar
from dedup.rules.pair import Profile, Relation
from dedup.settling.candidates import make_profile, relate_all
from dedup.settling.lookup import add_copies, decide_mark, find_copies, make_verdict, relate_to
from dedup.settling.settle import SettleResult, TooManyCandidatesError, settle
from dedup.store import articles, fast_path, fingerprints, rulebooks, settling, verdicts, window
from dedup.store.articles import ArticleState
from dedup.store.fast_path import Ask, Lookup
from dedup.store.rulebooks import Rulebook
from dedup.text.fingerprint import Fingerprint, Fingerprinted, TextTask, fingerprint_task

_sql = Statements("store/fast_path")

# Maximum number of articles that one hook settles. An edit of an original with 500 copies takes 0.3 s.
MAX_CASCADE = 500

MAX_CANDIDATES = 5_000  # Maximum number of articles that one hook compares; about 0.2 s

# While at least MANY_UNSETTLED articles are unsettled, a hook compares at most MANY_CANDIDATES articles. More
# comparisons would be wasted: when a backfill settles such articles, it makes the hook's article stale again.
MANY_CANDIDATES = 500
MANY_UNSETTLED = 1_000

STORE_SECONDS = 0.1  # Maximum wait to store an article without settling it; then the article is deferred
NO_ID = 0  # Stands for the id of an article that is not stored yet

DELETED = "the article was deleted while it was being stored; submit it again"


def fingerprint(rulebook: Rulebook, article: Article, stored: ArticleState | None = None) -> Fingerprinted:
    """Return the fingerprint of an article. This takes 1 ms and needs no database.

    `stored`: the stored article, which may have a language, a title and a scope that `article` omits."""
    known = stored or article
    task = TextTask(0, 0, known.language, known.title, storable(article.text), scope=known.scope)
    return fingerprint_task(rulebook.fingerprinter, task)


def settle_new(ask: Ask, rulebook: Rulebook, article: Article, made: Fingerprint) -> Verdict | None:
    """Store and mark a new article with one or two calls to the database, each in its own transaction. Return
    None and store nothing if `submit` must do more, for example because a later article becomes a duplicate.
    Raises StaleRulesError: the stored results belong to another rulebook."""
    met = fast_path.store_or_look_up(ask, rulebook, article, made)
    if met.outcome == "stored":
        return Verdict(article.source_id, Status.UNIQUE.value, None, None, None, unsettled=met.unsettled)
    if met.outcome != "shares":
        return None
    settings, place = rulebook.settings, (met.time, article.source_id.encode())
    if _have_others(met, settings):
        return None
    found, duplicates = _relate_new(made, met, settings), {row.id for row in met.others if not row.canonical}
    copies = [p for p in found if p[1] in duplicates and p[0] > place and p[2].relation is Relation.DUPLICATE]
    found = [partner for partner in found if partner[1] not in duplicates]
    earlier = [partner for partner in found if partner[0] < place]
    originals = [partner for partner in earlier if partner[2].relation is Relation.DUPLICATE]
    gaining: set[int] = set()
    if originals:
        kept, later = kept_originals(originals, settings), []
    else:
        later = [partner for partner in found if partner[0] > place]
        if any(p[1] not in met.partners or p[2].relation is Relation.DUPLICATE for p in later):
            return None  # the mark of a later article changes
        alike = [row for row in met.others if row.score is not None and row.id not in met.partners]
        before = {row.id: (-(row.score or 0), row.reason or "") for row in alike}
        ranks = {p[1]: (-p[2].scores.score, p[2].rule.value) for p in earlier}
        if any(before.get(id) == rank for id, rank in ranks.items()):
            return None  # `submit` must choose between equally good matches of an original
        gaining = {id for id, rank in ranks.items() if id not in before or rank < before[id]}
        best = kept_similar(earlier, settings)
        kept = [partner for partner in earlier if partner in best or partner[1] in gaining]
        later += copies
    if {partner[1] for partner in later} - {*met.partners} != met.copies:
        return None  # A duplicate gains or loses this article as its original: only `submit` settles it
    mark = decide(originals, (p[2] for p in found))
    closest = best_match(p for p in found if not originals)
    marks = {id: Mark(Status.UNIQUE) for id in met.partners if id not in gaining}
    for _, id, said in later:
        marks[id] = Mark(Status(said.relation.value), None, said.scores.score, said.rule.value)
    decision = {
        **asdict(mark),
        "pairs": [asdict(Pair.of(NO_ID, p[1], p[2])) | {"best_match": p[1] in gaining} for p in kept],
        "later": [asdict(Pair.of(p[1], NO_ID, p[2])) | {"best_match": p is closest} for p in later],
        "marks": [{"id": id, **asdict(given)} for id, given in marks.items()],
    }
    if not fast_path.store(ask, rulebook, article, made, met, decision):
        return None
    named = (Copy(p[0][1].decode(), p[2].rule.value, p[2].scores.score) for p in later if p in copies)
    similar = [partner for partner in later if partner not in copies]
    return add_copies(make_verdict(article.source_id, mark, [*kept, *similar], met.unsettled), named, 0)


def _have_others(met: Lookup, settings: Settings) -> bool:
    """Return whether an original that was similar to the article before its edit is related to another one.

    `met`: result of the look-up for the edited article.
    """
    originals = [row for row in (*met.others, *met.near) if row.canonical]
    for row in originals:
        if row.id in met.partners:
            others = [other for other in originals if other is not row]
            sentences = [other.sentence_hashes for other in others]
            if relate_all(make_profile(row, row.sentence_hashes), others, sentences, settings, {}):
                return True
    return False


def _relate_new(made: Fingerprint, met: Lookup, settings: Settings) -> list[Partner]:
    own = Profile.of(made, {*made.sentence_hashes} - {*met.sentences.tolist()}, met.published)
    return relate_all(own, met.others, [row.sentence_hashes for row in met.others], settings, {})


def submit(cursor: Cursor, rulebook: Rulebook, article: Article, made: Fingerprinted) -> Verdict:
    """Store an article and settle it. The caller holds the settle lock. `made`: fingerprint by this rulebook.
    Raises StaleRulesError: the stored results belong to another rulebook."""
    rulebook.check(cursor)
    settings = rulebook.settings
    # Find partners (related articles) before the article is stored, since an edit removes the stored pairs.
    partners = articles.find_partners(cursor, [article.source_id])
    articles.store_deferred(cursor, [article.source_id])
    known = store(cursor, article)
    is_free = rulebooks.memory_run(cursor) is None
    if not known.settled and window.find_outside(cursor, settings, [known.id]):
        if is_free:  # else the memory engine runs, and its backfill archives the article
            _settle_cascade(cursor, settings, [*partners, *window.archive(cursor, settings, [known.id])])
    elif not known.settled:
        if (known.language, known.title, known.scope) != (article.language, article.title, article.scope):
            # The fingerprint depends on stored values that the caller left out: make the fingerprint again.
            made = fingerprint(rulebook, article, known)
        result = Fingerprinted(known.id, known.revision, made.fingerprint, made.reason)
        fingerprints.store(cursor, [result])
        if is_free:
            _settle_cascade(cursor, settings, [known.id, *partners])
    return _load_verdict(cursor, settings, article.source_id, is_free=is_free)


def store(cursor: Cursor, article: Article) -> ArticleState:
    articles.store(cursor, [article])
    known = articles.find(cursor, article.source_id)
    if known is None:
        raise DedupError(DELETED)
    return known


def store_for_later(database: Database, article: Article, *, may_edit: bool = True) -> None:
    """Store an article for the next backfill, or defer it if another transaction blocks it. `may_edit`: False
    for a role that may only insert, so that a new version of a stored article is always deferred."""
    try:
        with database.transaction(seconds=STORE_SECONDS) as cursor:
            if not articles.is_deferred(cursor, article.source_id):
                if may_edit:
                    articles.store(cursor, [article])
                    return
                if articles.add(cursor, article):
                    return
    except (BusyError, CollisionError):
        pass
    with database.transaction() as cursor:
        articles.defer(cursor, article)


def delete(cursor: Cursor, settings: Settings, source_ids: Sequence[str]) -> list[str]:
    """Delete articles, and settle the articles related to them. Return the given source_ids that existed. The
    caller holds the settle lock."""
    # Partners are read first, since deleting articles also deletes their pairs.
    partners = articles.find_partners(cursor, source_ids)
    articles.forget_deferred(cursor, source_ids)
    deleted = articles.delete(cursor, source_ids)
    settle_articles(cursor, settings, partners)
    return deleted


def settle_articles(cursor: Cursor, settings: Settings, ids: Iterable[int]) -> None:
    """Settle articles, then the articles that this makes stale, within the limits of a hook.
    Do nothing while the memory engine runs, since it settles the whole corpus."""
    if rulebooks.memory_run(cursor) is None:
        _settle_cascade(cursor, settings, ids)


def _settle_cascade(cursor: Cursor, settings: Settings, ids: Iterable[int]) -> None:
    waiting, settled = set(ids), 0
    while waiting:
        settled += len(waiting)
        if settled > MAX_CASCADE:
            articles.note_limit(
                cursor, list(waiting), f"more than {MAX_CASCADE:,} articles to settle at once"
            )
            return
        try:
            result = _settle_few(cursor, settings, list(waiting))
        except TooManyCandidatesError as error:
            articles.note_limit(cursor, list(waiting), str(error))
            return
        waiting = set(result.unsettled)
        if result.left:
            articles.note_limit(
                cursor, list(waiting | result.left), "more pairs than can be compared at once"
            )
            return


def _settle_few(cursor: Cursor, settings: Settings, ids: list[int]) -> SettleResult:
    try:
        return settle(cursor, settings, ids=ids, max_candidates=MANY_CANDIDATES)
    except TooManyCandidatesError:
        if settling.count_unsettled(cursor, MANY_UNSETTLED) >= MANY_UNSETTLED:
            raise TooManyCandidatesError(
                f"more than {MANY_CANDIDATES:,} candidates while much is unsettled"
            ) from None
    try:
        return settle(cursor, settings, ids=ids, max_candidates=MAX_CANDIDATES)
    except TooManyCandidatesError:
        raise TooManyCandidatesError(f"more than {MAX_CANDIDATES:,} candidates") from None


def _load_verdict(cursor: Cursor, settings: Settings, source_id: str, *, is_free: bool) -> Verdict:
    """Return the verdict on a stored article; the verdict is provisional while any article is unsettled."""
    stored = verdicts.stored_mark(cursor, source_id)
    if stored is None:
        raise DedupError(DELETED)
    if stored.archived:
        return verdicts.verdict(cursor, source_id, stored)
    if not is_free:
        # The memory engine settles this article with the whole corpus; until then its mark is provisional.
        stored = replace(stored, unsettled=max(1, stored.unsettled))
    elif not stored.unsettled or stored.status == "pending":
        return verdicts.verdict(cursor, source_id, stored)
    if stored.status == "failed":
        return verdicts.verdict(cursor, source_id, stored)
    rows = settling.find_named(cursor, settings, [source_id.encode()])
    if not rows:  # the article is before the horizon, and waits to be archived
        return verdicts.verdict(cursor, source_id, stored)
    row = rows[0]
    # The stored mark depends only on settled articles; unsettled articles may give the article another mark.
    found = relate_to(cursor, settings, row, everything=True)
    mark = decide_mark(row, found)
    said = make_verdict(source_id, mark, found, stored.unsettled)
    before = stored.status, stored.duplicate_of, stored.score, stored.reason
    if before != (said.status, said.duplicate_of, said.score, said.reason):
        _mark_provisionally(cursor, stored.article_id, mark)
    if mark.status is Status.DUPLICATE:
        return said
    # `found` does not contain the settled copies of the article, so they are added.
    named, count = verdicts.copies(cursor, stored.article_id, settled=True)
    return add_copies(replace(said, copies=named), find_copies(row, mark, found), count)


def _mark_provisionally(cursor: Cursor, article_id: int, mark: Mark) -> None:
    if mark.status is Status.DUPLICATE:
        settling.write_duplicates(cursor, {article_id: mark}, stale=True)
        return
    values = {"id": article_id, "status": mark.status.value, "score": mark.score, "reason": mark.reason}
    cursor.execute(_sql("mark_provisionally"), values)
