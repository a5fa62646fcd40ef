"""Verify a live database: recompute everything and report differences (docs/semantics.md, section 8).

Verification shares only pure functions with the engines. Fingerprints and credits are made again from texts,
and sentences are counted in one pass over the fingerprints. Pairs are found without an index of the database:
each block of articles is compared with all canonical articles. Memory holds one block at a time. Comparing
with canonical articles is enough: marks are right if and only if every article is consistent with the
canonical flags of the articles before it (see `settle.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import psycopg

from dedup.attach import attachments, drift, outbox
from dedup.attach.attachments import Attachment
from dedup.attach.comparing import savepoint
from dedup.attach.outbox import Differing, UnfitError
from dedup.base.answer import Answer, plain
from dedup.base.progress import Progress, SilentProgress
from dedup.base.words import counted
from dedup.db.database import Cursor, Database, run_locked
from dedup.rules.common import effective_stories, is_common
from dedup.rules.marks import Mark, Pair, Partner, Status, best_match, decide, kept_originals, kept_similar
from dedup.rules.pair import Profile, Relation, relate
from dedup.store import articles, bookkeeping, common_sentences, credits, rulebooks, snapshots
from dedup.store.bookkeeping import Healing, Repairs
from dedup.store.rulebooks import Rulebook
from dedup.store.snapshots import StoredArticle
from dedup.text.fingerprint import TextTask, UnreadableError

BLOCK_ARTICLES = 5_000  # Articles checked per pass over all canonical articles; about 100 MB of memory
FIRST = "run `dedup backfill` first"
REPAIRED_AT_ONCE = 1_000  # Articles repaired in one transaction under the settle lock
UNREADABLE = "unreadable"  # Reasons begin with this word if no worker could fingerprint the text
DIFFERENCES_SHOWN = 100  # Maximum number of differences that are listed; further ones are only counted


@dataclass(slots=True)
class Verification(Answer):
    """Result of a verification.

    Attributes:
        articles: articles that were checked.
        differences: a line for each difference, with the source_id, never with text.
        found: number of differences, listed or not.
        skipped: parts that were not checked, and why; one line each.
        by_hand: differences that only a person can correct, and how.
        repairs: repairs of all other differences.
    """

    articles: int = 0
    differences: list[str] = field(default_factory=list)
    found: int = 0
    skipped: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    repairs: Repairs = field(default_factory=Repairs, repr=False)

    @property
    def right(self) -> bool:
        """True if nothing differs."""
        return not self.found

    def as_dict(self) -> dict[str, Any]:
        names = ("articles", "differences", "found", "skipped", "by_hand")
        return {name: plain(getattr(self, name)) for name in names}

    def __str__(self) -> str:
        return f"checked {counted(self.articles, 'article')}: {counted(self.found, 'difference')}"

    def skip(self, line: str) -> None:
        self.skipped.append(line)

    def report(self, line: str, repair: Healing | None, ids: Collection[int] = ()) -> None:
        """Add a difference and its repair to the result. `repair`: None if a person must act, as `line` says.
        `ids`: articles to repair; empty if the difference concerns the corpus."""
        self.found += 1
        if repair is None:
            self.by_hand.append(line)
        else:
            self.repairs.add(repair, ids)
        if len(self.differences) < DIFFERENCES_SHOWN:
            self.differences.append(line)

    def report_at(self, article: StoredArticle, words: str, repair: Healing) -> None:
        self.report(f"{article.source_id}: {words}", repair, [article.id])


def verify(
    database: Database, rulebook: Rulebook, *, sample: int | None = None, progress: Progress | None = None
) -> Verification:
    """Recompute marks, pairs, fingerprints, credits and common sentences, and compare them with a snapshot of
    the database. `sample`: number of articles to check; None for all. Common sentences and other counts are
    always checked in full."""
    result = Verification()
    shown = progress or SilentProgress()
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        ids = snapshots.choose_articles(cursor, sample)
        shown.start("verifying", len(ids))
        _check_bookkeeping(cursor, rulebook, result)
        common = _check_common(cursor, rulebook, result)
        pins = snapshots.pair_pins(cursor)
        everything, archived = snapshots.count_articles(cursor)
        if archived:
            result.skip(f"the marks of {counted(archived, 'archived article')}, which are frozen")
        if left_out := everything - archived - len(ids):
            result.skip(f"{counted(left_out, 'article that is', 'articles that are')} not in the sample")
        unsettled = given_up = 0
        credited = _CreditCheck(cursor)
        for start in range(0, len(ids), BLOCK_ARTICLES):
            block = snapshots.load(cursor, rulebook.settings, ids[start : start + BLOCK_ARTICLES])
            credited.load([article.id for article in block])
            given_up += _check_fingerprints(cursor, rulebook, block, credited, result)
            settled = [article for article in block if article.settled]
            _Block(rulebook, settled, common, pins, result).check(cursor)
            result.articles += len(block)
            unsettled += len(block) - len(settled)
            shown.advance(len(block))
        _check_attached(cursor, result)
        if unsettled:
            result.skip(f"the marks of {counted(unsettled, 'pending or stale article')}; {FIRST}")
        if credited.unread:
            result.skip(
                f"the credits of {counted(credited.unread, 'article')}, which wait to be read; {FIRST}"
            )
        if given_up:
            result.skip(
                f"{counted(given_up, 'text')} that this program cannot read; `dedup retry` tries them"
            )
    return result


def repair(database: Database, repairs: Repairs) -> int:
    """Begin the repair of differences that `verify` found, in short transactions; the next backfill
    completes the repair. Return how many articles the next backfill must settle again."""
    with database.transaction() as cursor:
        bookkeeping.repair_lock(cursor)
    run_locked(database, partial(bookkeeping.repair_others, repairs=repairs.others))
    run_locked(database, partial(credits.read_again, ids=repairs.credits))
    for chosen, fingerprint in ((repairs.fingerprint, True), (repairs.settle - repairs.fingerprint, False)):
        ids = iter(sorted(chosen))
        while page := list(islice(ids, REPAIRED_AT_ONCE)):
            run_locked(database, partial(bookkeeping.settle_again, ids=page, fingerprint=fingerprint))
    return len(repairs.fingerprint | repairs.settle)


def _check_bookkeeping(cursor: Cursor, rulebook: Rulebook, result: Verification) -> None:
    for finding in bookkeeping.find_faults(cursor, rulebook.settings):
        ids = [] if finding.article_id is None else [finding.article_id]
        result.report(finding.words, finding.repair, ids)
    if rulebooks.load_state_in_force(cursor) != rulebook.state:
        result.report("the results were made with other settings than the settings in force", Healing.ADOPT)
    for language in rulebooks.find_damaged_models(cursor):
        result.report(rulebooks.describe_damage(language), None)
    if deferred := articles.count_deferred(cursor):
        result.skip(f"{counted(deferred, 'deferred version')} of articles; {FIRST}")


def _check_common(cursor: Cursor, rulebook: Rulebook, result: Verification) -> set[int]:
    """Compare the stored common sentences with a new count, unless sentences wait to be counted."""
    stored = snapshots.common_sentences(cursor)
    if common_sentences.must_count(cursor):
        result.skip(f"the common sentences, since some wait to be counted; {FIRST}")
        return set(stored)
    settings, pins = rulebook.settings, snapshots.sentence_pins(cursor)
    counts = snapshots.count_sentences(cursor, settings)
    kept = snapshots.sentence_counts(cursor)
    many = {s: c for s, c in counts.items() if c[0] > settings.common_stories}
    _check_counts("count of sentence {}: kept {}, counted {}", kept, many, result)
    wanted: dict[int, tuple[int, float]] = {}
    for sentence in counts.keys() | pins.keys():
        carriers, pairs = counts.get(sentence, (0, 0))
        if pins.get(sentence, is_common(carriers, pairs, settings.buckets, settings.common_stories)):
            wanted[sentence] = carriers, effective_stories(carriers, pairs, settings.buckets)
    _check_counts("common sentence {}: stored {}, counted {}", stored, wanted, result)
    return set(stored)


def _check_counts(
    words: str, stored: Mapping[int, object], wanted: Mapping[int, object], result: Verification
) -> None:
    for sentence in sorted(stored.keys() | wanted.keys()):
        found = stored.get(sentence), wanted.get(sentence)
        if found[0] != found[1]:
            result.report(words.format(sentence, *found), Healing.COUNT)


def _check_fingerprints(
    cursor: Cursor,
    rulebook: Rulebook,
    block: Sequence[StoredArticle],
    credited: _CreditCheck,
    result: Verification,
) -> int:
    """Compare stored fingerprints and credits with new ones. Return the number of skipped texts, which no
    worker could fingerprint."""
    by_id = {article.id: article for article in block}
    given_up = 0
    # Unsettled articles are checked, too, since the next backfill will use their fingerprints.
    for task in snapshots.texts(cursor, list(by_id)):
        article = by_id[task.id]
        failed = article.mark.status is Status.FAILED
        if failed and (article.mark.reason or "").startswith(UNREADABLE):
            given_up += 1  # the text may crash this process, as it crashed workers
            continue
        try:
            made = rulebook.fingerprinter.fingerprint(task.text, task.language, task.title, task.scope)
        except UnreadableError as error:
            if article.settled and article.mark != Mark(Status.FAILED, reason=str(error)):
                words = f"{article.mark.status}, but it cannot be read ({error})"
                result.report_at(article, words, Healing.FINGERPRINT)
            continue
        if failed:
            words = f"failed ({article.mark.reason}), but it can be read"
            result.report_at(article, words, Healing.FINGERPRINT)
        elif article.fingerprint not in (made, None):
            result.report_at(article, "the stored fingerprint does not match the text", Healing.FINGERPRINT)
        elif difference := credited.find_difference(article, task):
            result.report_at(article, difference, Healing.CREDITS)
    return given_up


class _CreditCheck:
    """Comparison of stored and newly read credits and corrections. `unread`: number of unread articles."""

    def __init__(self, cursor: Cursor) -> None:
        self.unread = 0
        self._cursor, self._reader = cursor, credits.make_reader(cursor)
        self._waiting = set[int]()
        self._stored: dict[int, credits.Notices] = {}

    def load(self, ids: Sequence[int]) -> None:
        self._stored = credits.load(self._cursor, ids)
        self._waiting = credits.find_unread(self._cursor, ids)
        self.unread += len(self._waiting)

    def find_difference(self, article: StoredArticle, task: TextTask) -> str | None:
        if article.fingerprint is None or article.id in self._waiting:
            return None
        stored, expected = self._stored.get(article.id, credits.Notices()), self._reader.read(task)
        if stored == expected:
            return None
        return f"credits {self._describe(stored)}, should be {self._describe(expected)}"

    def _describe(self, found: credits.Notices) -> str:
        names = self._reader.names
        words = [f"{names.get(id, f'agency {id}')} ({place})" for id, place in found.credits]
        if found.correction:
            words.append("correction {!r} ({})".format(*found.correction))
        return ", ".join(words) or "none"


class _Block:
    """A block of articles to check, indexed by their keys; every canonical article is compared with them."""

    def __init__(
        self,
        rulebook: Rulebook,
        block: Sequence[StoredArticle],
        common: set[int],
        pins: Mapping[frozenset[int], Relation],
        result: Verification,
    ) -> None:
        self._settings, self._common, self._result = rulebook.settings, common, result
        self._pins = pins
        self._pinned: defaultdict[int, set[int]] = defaultdict(set)
        for pair in pins:
            for article_id in pair:
                self._pinned[article_id] |= pair
        self._articles = [a for a in block if a.fingerprint is not None]
        self._by_id = {a.id: a for a in self._articles}
        self._profiles = {
            a.id: Profile.of(a.fingerprint, common, a.published)
            for a in self._articles
            if a.fingerprint is not None
        }
        self._found: dict[int, list[Partner]] = defaultdict(list)
        self._by_key: dict[int, list[StoredArticle]] = defaultdict(list)
        for article in self._articles:
            for key in _get_keys(self._profiles[article.id]):
                self._by_key[key].append(article)

    def check(self, cursor: Cursor) -> None:
        for other in snapshots.load_canonical(cursor, self._settings):
            self._compare(other)
        ids = [article.id for article in self._articles]
        stored = snapshots.pairs(cursor, self._settings, ids)
        best_match = snapshots.best_match_pairs(cursor, ids)
        for article in self._articles:
            self._check_article(article, stored[article.id], best_match[article.id])

    def _compare(self, other: StoredArticle) -> None:
        if other.fingerprint is None:
            return  # the fingerprint belongs to another revision, which is reported as a difference
        profile = Profile.of(other.fingerprint, self._common, other.published)
        candidates = {a.id: a for key in _get_keys(profile) for a in self._by_key.get(key, ())}
        candidates |= {id: self._by_id[id] for id in self._pinned.get(other.id, ()) if id in self._by_id}
        for article in candidates.values():
            if article.id == other.id:
                continue
            pin = self._pins.get(frozenset((article.id, other.id)))
            related = relate(self._profiles[article.id], profile, self._settings, pin)
            if related:
                self._found[article.id].append((other.order, other.id, related))

    def _check_article(self, article: StoredArticle, stored: set[Pair], best_matches: set[Pair]) -> None:
        found, settings = self._found[article.id], self._settings
        earlier = [one for one in found if one[0] < article.order]
        originals = [one for one in earlier if one[2].relation is Relation.DUPLICATE]
        similar = [one for one in found if one[2].relation is Relation.SIMILAR]
        expected = decide(originals, (related for _, _, related in similar))
        if article.mark != expected:
            words = f"marked {_describe_mark(article.mark)}, should be {_describe_mark(expected)}"
            self._result.report_at(article, words, Healing.SETTLE)
        if article.canonical is not (expected.status is not Status.DUPLICATE):
            self._result.report_at(article, f"the canonical flag is {article.canonical}", Healing.SETTLE)
        kept = kept_originals(originals, settings) if originals else kept_similar(earlier, settings)
        best = None if originals else best_match(similar)
        # If the best match is a later article, their pair is kept, too. Check this pair here, not with the
        # later article, because only here are all possible matches of the earlier article known.
        later = {Pair.of(best[1], article.id, best[2])} if best and best[0] > article.order else set[Pair]()
        for kind, present, wanted in (
            ("pair", stored, {Pair.of(article.id, other, related) for _, other, related in kept}),
            ("pair with the best_match article", best_matches, later),
        ):
            for pair in sorted(present ^ wanted, key=lambda p: (p.article_id, p.other_id)):
                where = "missing from" if pair in wanted else "wrongly in"
                words = f"{article.source_id}: a {pair.relation} {kind} is {where} the matches"
                self._result.report(words, Healing.SETTLE, [pair.article_id, pair.other_id])


def _get_keys(profile: Profile) -> Iterator[int]:
    yield from profile.sentences
    yield from profile.buckets
    yield profile.content_hash


def _describe_mark(mark: Mark) -> str:
    extra = "" if mark.score is None else f" {mark.score:.4f}"
    return f"{mark.status.value}{extra}{f' ({mark.reason})' if mark.reason else ''}"


def _check_attached(cursor: Cursor, result: Verification) -> None:
    """Compare every row of attached tables with its article, and the marks in that row with stored marks."""
    for attachment in attachments.list_active(cursor):
        for line in drift.problems_of(cursor, attachment) or drift.held(attachment):
            result.report(line, None)  # None: only a person can repair the owner's table
            break
        else:
            noted = outbox.find_noted(cursor, attachment)
            if noted is None:
                result.skip(f"the rows of {attachment.shown}, which all wait to be read; {FIRST}")
                continue
            if noted:
                result.skip(f"{counted(len(noted), 'row')} of {attachment.shown} that changed; {FIRST}")
            _check_rows(cursor, attachment, noted, result)
            if refused := outbox.count_refused(cursor, attachment):
                result.skip(f"{counted(refused, 'row')} of {attachment.shown} that cannot be articles")


def _check_rows(cursor: Cursor, attachment: Attachment, noted: set[str], result: Verification) -> None:
    unseen = 0
    for differing in (outbox.find_changed, outbox.find_gone):
        found: Differing | None = None
        while found is None or found.last is not None:
            try:
                with savepoint(cursor, attachment):
                    found = differing(cursor, attachment, found, BLOCK_ARTICLES)
            except UnfitError as error:
                result.report(str(error), None)
                return
            except psycopg.errors.InsufficientPrivilege:
                result.skip(f"the rows of {attachment.shown}, which only a worker or the owner may read")
                return
            for source_id, matter in found.rows:
                if source_id in noted:
                    continue
                if attachment.changed is None and attachment.every is None:
                    result.report(f"{source_id}: {matter}", Healing.TABLES)
                else:
                    unseen += 1
    if unseen:  # not reported as differences, since the next sync reads these rows
        result.skip(f"{counted(unseen, 'row')} of {attachment.shown} that changed; run `dedup sync` first")
