"""Questions that a `Deduplicator` answers. All methods only read, except `repair` and `keep_sentences`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from dedup.api import OpenCorpus, checks, transacted
from dedup.base import plugins
from dedup.base.answer import Answers, Rows
from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.later import Later
from dedup.base.progress import Progress
from dedup.base.settings import MIN_OUTLETS
from dedup.base.times import Time
from dedup.base.verdict import Representative, StatusName
from dedup.db import revision
from dedup.runs import monitoring, runs
from dedup.runs.monitoring import Vitals
from dedup.runs.runs import PastRun
from dedup.store import overview

if TYPE_CHECKING:
    from dedup.extras.browse.browsing import Browsing
    from dedup.extras.coverage import ResearchExport
    from dedup.extras.coverage.coverage import Coverage
    from dedup.extras.coverage.origins import Origins
    from dedup.extras.coverage.sources import TextSource
    from dedup.extras.frames import StoryExport
    from dedup.extras.spark.postgres import CorpusExport
    from dedup.settling import explain as comparison
    from dedup.settling import sentences
    from dedup.settling import verify as checking
    from dedup.settling import versions as altered
    from dedup.settling.explanation import Explanation
    from dedup.store import articles, changes, exports, rulebooks, stories, verdicts
    from dedup.store import versions as kept_versions
    from dedup.store.changes import MarkChange
    from dedup.store.exports import MarkRow, MatchRow
    from dedup.store.stories import Story, StorySummary
    from dedup.store.verdicts import MarkedArticle
else:
    # These modules are imported at first use, because a scraper or a command needs few of them.
    comparison, checking = Later("dedup.settling.explain"), Later("dedup.settling.verify")
    sentences, altered = Later("dedup.settling.sentences"), Later("dedup.settling.versions")
    articles, changes = Later("dedup.store.articles"), Later("dedup.store.changes")
    exports, stories = Later("dedup.store.exports"), Later("dedup.store.stories")
    kept_versions, rulebooks = Later("dedup.store.versions"), Later("dedup.store.rulebooks")
    verdicts = Later("dedup.store.verdicts")


class Questions(OpenCorpus):
    """Questions about a corpus; base of `Deduplicator`."""

    def get(self, source_id: str) -> MarkedArticle | None:
        """Return a stored article with its mark and its scored pairs; None if the article is unknown."""
        return self._transact(verdicts.marked_article, checks.text("source_id", source_id))

    def story(self, source_id: str) -> Story:
        """Return an article's story: original and copies. Raises NotFoundError: the article is unknown."""
        return self._transact(stories.story, checks.text("source_id", source_id))

    def stories(
        self,
        limit: int = 20,
        representative: Representative = "first",
        *,
        since: Time = None,
        scope: str | None = None,
    ) -> list[StorySummary]:
        """Return the `limit` stories with the most copies, the most copied story first.

        `representative`: the article whose title and publication are returned: the first of the story, its
        latest (the last correction, else the last article) or its fullest. `since`: only stories with an
        article published (if the time is unknown: stored) at this time or later; all their copies count.
        `scope`: only stories whose original has this scope. Raises InputError: an argument has an impossible
        value.
        """
        chosen = checks.representative("representative", representative)
        checks.whole_number("limit", limit, 0)
        first = checks.optional(checks.moment, "since", since)
        given = checks.optional(checks.text, "scope", scope)
        return self._transact(stories.find_largest, limit, chosen, since=first, scope=given)

    def origins(
        self,
        source_ids: Iterable[str] | None = None,
        *,
        words: str | None = None,
        publication: str | None = None,
        language: str | None = None,
        credit: str | None = None,
        first: date | str | None = None,
        last: date | str | None = None,
        limit: int = 100,
    ) -> Origins:
        """Return the independent origins of the articles that fulfil all conditions; by default of all.

        Copies have the origin of their original: an agency that the text credits, else the family of the
        outlet, else the outlet (docs/semantics.md, section 13).

        Args:
            source_ids: only these articles; not together with `words`.
            words: only articles with all these words; needs the index that `Operation.make_searchable` makes.
            publication, language: only articles with this value.
            credit: only articles that credit this agency for their text.
            first, last: only articles with a known time in these days (UTC), both included; a day may be a
                text like "2026-11-20".
            limit: maximum number of origins that are listed; all are counted.

        Raises:
            NotFoundError: an article of `source_ids` is not stored.
            InputError: an argument has an impossible value, or the index of words is missing.
        """
        ask: Callable[..., Origins] = plugins.needed("corpus", "origins", extra="coverage")
        given = {"words": words, "publication": publication, "language": language, "credit": credit}
        return ask(self._database, source_ids, **given, first=first, last=last, limit=limit)

    def marks(
        self,
        *,
        status: StatusName | None = None,
        since: Time = None,
        marked_since: Time = None,
        publication: str | None = None,
        scope: str | None = None,
        limit: int | None = None,
        kept: bool = False,
    ) -> Rows[MarkRow]:
        """Return the marks of articles in order of source_id, in bounded memory.

        `since`: only articles published (if the time is unknown: stored) at this time or later.
        `scope`: only articles of this scope.
        `kept`: add the values of `Article.kept`. Raises InputError: an argument has an impossible value.
        """
        return exports.marks(
            self._database,
            status=status,
            since=checks.optional(checks.moment, "since", since),
            marked_since=checks.optional(checks.moment, "marked_since", marked_since),
            publication=checks.optional(checks.text, "publication", publication),
            scope=checks.optional(checks.text, "scope", scope),
            limit=checks.optional(checks.whole_number, "limit", limit, 0),
            kept=kept,
        )

    def matches(self) -> Rows[MatchRow]:
        """Return all scored pairs in order of the two source_ids, in bounded memory."""
        return exports.matches(self._database)

    def changes(self, since: str | None = None, *, limit: int = 1_000) -> list[MarkChange]:
        """Return the marks that changed since a cursor, in order of change; each mark appears only once.

        To keep a copy of the marks, begin with None for all marks, store the changes and the last `cursor` in
        one transaction, and continue from that cursor. `limit`: maximum number of changes, at most 100,000.
        Raises InputError: there is no journal of marks, or the cursor is malformed. Raises CursorError: the
        cursor is too old, or of another journal (as after a restore): begin again with None.
        """
        given = checks.optional(checks.text, "since", since)
        checks.whole_number("limit", limit, 1, changes.MOST_CHANGES)
        return self._transact(changes.changes, given, limit)

    def export_corpus(
        self,
        folder: str | Path,
        *,
        hash_key: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> CorpusExport:
        """Write the corpus for Spark into a new or empty folder, in one snapshot.

        Only the user of this process can read the folder. `hash_key`: include the secret hash key. Raises
        InputError: the folder is not empty or cannot be written, or pyarrow is missing.
        """
        export: Callable[..., CorpusExport] = plugins.needed("corpus", "export_corpus", extra="spark")
        return export(self._database, folder, hash_key=hash_key, progress=progress, stop=stop)

    def export_stories(
        self,
        file: str | Path,
        *,
        since: Time = None,
        representative: Representative = "first",
        replace: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> StoryExport:
        """Write every article with its story and mark, but without text, into a file, in one snapshot.

        `file`: `NAME.parquet` for one row per article, `NAME.sqlite` for the tables story, article and match.
        `since`: only articles published (if the time is unknown: stored) at this time or later, the stories
        of these articles, and the pairs of these articles with earlier articles. `representative`: as in
        `stories`, for the table story. `replace`: replace an existing file. Raises InputError: the file
        exists (unless `replace`), cannot be written or has another ending, or pyarrow is missing.
        """
        export: Callable[..., StoryExport] = plugins.needed("corpus", "export_stories", extra="frames")
        first = checks.optional(checks.moment, "since", since)
        chosen = checks.representative("representative", representative)
        given = {"since": first, "representative": chosen, "progress": progress, "stop": stop}
        return export(self._database, Path(file), replace=replace, **given)

    def export_panel(self, file: str | Path, *, replace: bool = False) -> ResearchExport:
        """Write a row per outlet and month of publication into a file, `NAME.csv` or `NAME.parquet`.

        The columns are those of the view `outlet_month`. `replace`: replace an existing file. Raises
        InputError: the file exists (unless `replace`), cannot be written or has another ending, or pyarrow is
        missing.
        """
        export: Callable[..., ResearchExport] = plugins.needed("corpus", "export_panel", extra="coverage")
        return export(self._database, Path(file), replace=replace)

    def export_network(self, file: str | Path, *, replace: bool = False) -> ResearchExport:
        """Write the outlets, and who reprints whom, into a file: `NAME.graphml`, `.gexf` or `.csv`.

        `replace`: replace an existing file. Raises InputError: the file exists (unless `replace`), cannot be
        written or has another ending.
        """
        export: Callable[..., ResearchExport] = plugins.needed("corpus", "export_network", extra="coverage")
        return export(self._database, Path(file), replace=replace)

    def versions(self, source_id: str, *, against: altered.Against = "before") -> altered.StoryVersions:
        """Return the versions of an article's story, with the sentences that each version altered.

        `against`: "before" compares each version with the one before it, "original" with the original.
        Raises NotFoundError: the article is unknown. Raises InputError: `against` has another value.
        """
        if against not in ("before", "original"):
            raise InputError(f"against is before or original, not {against!r}")
        with self._database.transaction() as cursor:
            rulebook, name = rulebooks.load_rulebook(cursor), checks.text("source_id", source_id)
            return altered.load_versions(cursor, rulebook, name, against)

    def keep_sentences(
        self,
        *,
        outlets: int = MIN_OUTLETS,
        every: int | None = None,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> sentences.SentencesReport:
        """Store sentences for the views `alteration`, `addition` and `quote`; skip unchanged versions.

        `outlets`: minimum number of outlets that share a quote. `every`: minutes after which
        a worker repeats this call; 0: stop the repetition. `stop`: called between transactions.
        """
        checks.whole_number("outlets", outlets, 2)
        if every is not None:
            checks.whole_number("every", every, 0, sentences.MAX_MINUTES)
        return sentences.keep(self._database, outlets=outlets, every=every, progress=progress, stop=stop)

    def alterations(self) -> Rows[kept_versions.AlterationRow]:
        """Return the alterations that `keep_sentences` found, story by story, in bounded memory."""
        return kept_versions.alterations(self._database)

    def additions(self) -> Rows[kept_versions.AdditionRow]:
        """Return what each copy adds to its original, as `keep_sentences` found it, in bounded memory."""
        return kept_versions.additions(self._database)

    def removable(self) -> Rows[kept_versions.RemovableRow]:
        """Return the copies that add nothing to their originals, in bounded memory; nothing is removed.

        Stale copies, and copies that `keep_sentences` has not compared since the last change, are left out;
        `uncompared_copies` counts the latter.
        """
        return kept_versions.removable(self._database)

    def uncompared_copies(self) -> int:
        """Count the copies whose present text `keep_sentences` has not compared with the original's."""
        return self._transact(kept_versions.count_uncompared_copies)

    @property
    def browsing(self) -> Browsing:
        """Questions that the pages of `dedup browse` ask; each answer has a maximum size."""
        made: type[Browsing] = plugins.needed("corpus", "browsing", extra="browse")
        return made(self._database)

    def coverage(
        self,
        source_id: str | None = None,
        *,
        text: str | None = None,
        days: int = 7,
        at: Time = None,
        limit: int = 20,
    ) -> Coverage:
        """Return the articles that tell the same event as an article or a text, grouped by origin.

        Copies and similar articles are found by their marks, other articles by rare words that they share.
        Needs the index of words. Articles of attached tables are found only by words of their titles.

        Args:
            source_id: article to ask about; give this or `text`.
            days: candidates are at most this number of days before or after; undated articles are not.
            at: time of the event; None: the article's time. Without a time the whole corpus is searched.
            limit: maximum number of articles, at most 40.

        Raises:
            NotFoundError: the article is unknown.
            InputError: there is no index of words, or an argument has an impossible value.
            RightsError: the role may not read texts.
        """
        ask: Callable[..., Coverage] = plugins.needed("corpus", "coverage", extra="coverage")
        return ask(self._database, source_id, text, days=days, at=at, limit=limit)

    def sources(
        self, source_id: str | None = None, *, text: str | None = None, limit: int = 10
    ) -> list[TextSource]:
        """Return stored articles from which an article or a text may have been compiled; the best first.

        A high score is no proof: independent reports of one event often score as high. Articles that came
        later than the article are last. `limit`: maximum number of articles, at most 40. Raises the errors of
        `coverage`.
        """
        ask: Callable[..., list[TextSource]] = plugins.needed("corpus", "sources", extra="coverage")
        return Answers(ask(self._database, source_id, text, limit=limit))

    def explain(self, a: str, b: str) -> Explanation:
        """Explain the relation of two articles: shared sentences, scores, and the rule that decided.

        Raises NotFoundError: an article is unknown.
        """
        with self._database.transaction() as cursor:
            names = (checks.text("source_id", name) for name in (a, b))
            return comparison.explain(cursor, rulebooks.load_rulebook(cursor), *names)

    def vitals(self, lately: float = 86_400.0) -> Vitals:
        """Return the state of the corpus for a monitor.

        `lately`: maximum age in seconds of failures in `failed_lately`. Raises MissingRightError: the role
        may not read the state; the message names the grant that helps.
        """
        return monitoring.read_vitals(self._database, lately)

    def runs(self, limit: int = 20) -> list[PastRun]:
        """Return the last runs, the latest first."""
        return self._transact(runs.load_history, checks.whole_number("limit", limit, 0))

    status = transacted(overview.overview)

    def ping(self) -> None:
        """Raise DatabaseError if the database does not answer, or has the schema of another version."""
        with self._database.transaction() as cursor:
            found = revision.current(cursor)
        revision.require_head(found, self._database)

    def newest(self, count: int) -> list[Article]:
        """Return the newest articles whose texts can be read, the latest first."""
        return self._transact(articles.newest, checks.whole_number("count", count, 0))

    def verify(self, *, sample: int | None = None, progress: Progress | None = None) -> checking.Verification:
        """Check marks, pairs, fingerprints, common sentences and credits: compute each again, and compare.

        The check reads one snapshot; other processes can work meanwhile. `sample`: number of random articles
        to check; None: all articles. Raises InputError: no backfill has run since dedup was upgraded.
        """
        checks.optional(checks.whole_number, "sample", sample, 1)
        with self._database.transaction() as cursor:
            # Fingerprints by an older version of dedup may differ, but are not wrong.
            if rulebooks.find_adoption(cursor).program:
                raise InputError("the program or its Unicode tables changed: run `dedup backfill` first")
            rulebook = rulebooks.load_rulebook(cursor)
        return checking.verify(self._database, rulebook, sample=sample, progress=progress)

    def repair(self, found: checking.Verification) -> int:
        """Let the next backfill repair the differences in `found`; return how many articles to settle."""
        return checking.repair(self._database, found.repairs)
