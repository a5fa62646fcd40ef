"""The half of a `Deduplicator` that asks: for marks, stories, reasons, the state of a corpus, its proof.

It reads only, but for `repair`, and for `keep_sentences`, which fills two views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dedup.api import OpenCorpus, checks, transacted
from dedup.base import plugins
from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.later import Later
from dedup.base.progress import Progress
from dedup.base.settings import MIN_OUTLETS
from dedup.base.times import Time
from dedup.base.verdict import StatusName
from dedup.db import revision
from dedup.runs import monitoring, runs
from dedup.runs.runs import PastRun
from dedup.store import articles, changes, exports, overview, rulebooks, stories, verdicts
from dedup.store.changes import MOST_CHANGES, MarkChange
from dedup.store.exports import MarkRow, MatchRow
from dedup.store.stories import Story, StorySummary
from dedup.store.verdicts import MarkedArticle

if TYPE_CHECKING:
    from dedup.extras.browse.browsing import Browsing
    from dedup.extras.frames import StoryExport
    from dedup.extras.spark.postgres import CorpusExport
    from dedup.settling import explain as comparison
    from dedup.settling import sentences
    from dedup.settling import verify as checking
    from dedup.settling import versions as altered
    from dedup.store import versions as kept_versions
else:  # seldom asked for
    comparison, checking = Later("dedup.settling.explain"), Later("dedup.settling.verify")
    sentences, altered = Later("dedup.settling.sentences"), Later("dedup.settling.versions")
    kept_versions = Later("dedup.store.versions")


class Questions(OpenCorpus):
    """What a corpus can be asked. A `Deduplicator` is one."""

    def get(self, source_id: str) -> MarkedArticle | None:
        """An article as it is stored, with its mark and the pairs behind it; None if it is unknown."""
        return self._transact(verdicts.marked_article, checks.text("source_id", source_id))

    def story(self, source_id: str) -> Story:
        """The story that an article belongs to: its canonical article and all copies.

        Raises NotFoundError: the article is unknown.
        """
        return self._transact(stories.story, checks.text("source_id", source_id))

    def stories(self, limit: int = 20) -> list[StorySummary]:
        """The stories of the most copies, the largest first."""
        return self._transact(stories.find_largest, checks.whole_number("limit", limit, 0))

    def marks(
        self,
        *,
        status: StatusName | None = None,
        since: Time = None,
        marked_since: Time = None,
        publication: str | None = None,
        limit: int | None = None,
        kept: bool = False,
    ) -> Iterator[MarkRow]:
        """The marks of the articles that are asked for, by source_id; memory does not grow with them.

        `since`: published then or later; where the publication time is unknown, stored then or later. A time
        in any of the forms of `Article`. `marked_since`: marked then or later. `kept`: with the columns of
        one's own that attached tables keep. Raises InputError: there is no
        such status, or the limit is negative.
        """
        return exports.marks(
            self._database,
            status=status,
            since=checks.optional(checks.moment, "since", since),
            marked_since=checks.optional(checks.moment, "marked_since", marked_since),
            publication=checks.optional(checks.text, "publication", publication),
            limit=checks.optional(checks.whole_number, "limit", limit, 0),
            kept=kept,
        )

    def matches(self) -> Iterator[MatchRow]:
        """Every scored pair, by both source_ids; memory does not grow with them."""
        return exports.matches(self._database)

    def changes(self, since: str | None = None, *, limit: int = 1_000) -> list[MarkChange]:
        """The marks that changed since a cursor, in order; [] where there are none, or none yet.

        Who keeps marks elsewhere stores those of a call and the last `cursor` in one transaction, and asks
        again with that. Of a mark that changed several times only the last change is told.

        Args:
            since: the `cursor` of the last change that was stored; None tells every mark, and then changes.
            limit: at most so many, up to 100,000.

        Raises:
            InputError: no journal of marks is kept, or this is no cursor.
            CursorError: the cursor is of another history of the marks, or too old: forget the marks that are
                kept, and begin again with None.
        """
        given = checks.optional(checks.text, "since", since)
        return self._transact(changes.changes, given, checks.whole_number("limit", limit, 1, MOST_CHANGES))

    def export_corpus(
        self,
        folder: str | Path,
        *,
        hash_key: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> CorpusExport:
        """Write what a cluster needs to know of the corpus into a folder, as of one moment.

        `folder`: it must not exist, or be empty. Only this user can read it. `hash_key`: put the secret hash
        key into it. Raises InputError: the folder holds something, or cannot be written, or pyarrow is
        missing.
        """
        export: Callable[..., CorpusExport] = plugins.needed("corpus", "export_corpus", extra="spark")
        return export(self._database, folder, hash_key=hash_key, progress=progress, stop=stop)

    def export_stories(
        self,
        file: str | Path,
        *,
        since: Time = None,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> StoryExport:
        """Write every article with its story and its mark into a file, without texts, as of one moment.

        `file` must not exist: `NAME.parquet` gets one row per article, `NAME.sqlite` the tables story,
        article and match. `since` takes only articles published then or later (stored, where that is
        unknown), their stories, and the pairs of which they are the later one. Raises InputError if the file
        exists, cannot be written or has another ending, or if pyarrow is missing.
        """
        export: Callable[..., StoryExport] = plugins.needed("corpus", "export_stories", extra="frames")
        first = checks.optional(checks.moment, "since", since)
        return export(self._database, Path(file), since=first, progress=progress, stop=stop)

    def versions(self, source_id: str, *, against: altered.Against = "before") -> altered.StoryVersions:
        """How the story of an article was altered along the way, version by version.

        `against`: "before" compares each version with the one before it, "original" with the original.
        Raises NotFoundError: the article is unknown. InputError: there is no such comparison.
        """
        if against not in ("before", "original"):
            raise InputError(f"against is before or original, not {against!r}")
        with self._database.transaction() as cursor:
            rulebook, name = rulebooks.load_rulebook(cursor), checks.text("source_id", source_id)
            return altered.versions_of(cursor, rulebook, name, against)

    def keep_sentences(
        self,
        *,
        outlets: int = MIN_OUTLETS,
        every: int | None = None,
        progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> sentences.SentencesReport:
        """Cut texts into sentences for the views `alteration` and `quote`, which show what is kept of them.

        Versions that are as they were are not compared again; quotes are counted again. `outlets`: that share
        a sentence at least. `every`: from now on a worker does the same every so many minutes; 0: no more.
        `stop`: asked between transactions; what was done is kept.
        """
        checks.whole_number("outlets", outlets, 2)
        if every is not None:
            checks.whole_number("every", every, 0, sentences.MAX_MINUTES)
        return sentences.keep(self._database, outlets=outlets, every=every, progress=progress, stop=stop)

    def alterations(self) -> Iterator[kept_versions.AlterationRow]:
        """Every alteration of every version that `keep_sentences` found, story by story; memory does not grow
        with them."""
        return kept_versions.alterations(self._database)

    @property
    def browsing(self) -> Browsing:
        """What pages ask, each answer bounded."""
        made: type[Browsing] = plugins.needed("corpus", "browsing", extra="browse")
        return made(self._database)

    def explain(self, a: str, b: str) -> comparison.Explanation:
        """Why two articles are, or are not, related: sentences, scores, and the rule that decided.

        Raises NotFoundError: one of them is unknown.
        """
        with self._database.transaction() as cursor:
            names = (checks.text("source_id", name) for name in (a, b))
            return comparison.explain(cursor, rulebooks.load_rulebook(cursor), *names)

    vitals = transacted(monitoring.vitals)

    def runs(self, limit: int = 20) -> list[PastRun]:
        """The last runs, the latest first."""
        return self._transact(runs.history, checks.whole_number("limit", limit, 0))

    status = transacted(overview.overview)

    def ping(self) -> None:
        """Make sure that the database answers and has the schema of this program.

        Raises DatabaseError: it does not, or has not; the message names the next step.
        """
        with self._database.transaction() as cursor:
            found = revision.current(cursor)
        revision.require_head(found, self._database)

    def newest(self, count: int) -> list[Article]:
        """The newest articles that can be read, the latest first."""
        return self._transact(articles.newest, checks.whole_number("count", count, 0))

    def verify(self, *, sample: int | None = None, progress: Progress | None = None) -> checking.Verification:
        """Recompute marks, pairs, fingerprints, common sentences and credits by the letter, and compare.

        Reads only, and sees one moment of the database; others may work on meanwhile. `sample`: recompute
        only so many articles, chosen at random. Raises InputError: a changed program waits for a backfill.
        """
        checks.optional(checks.whole_number, "sample", sample, 1)
        with self._database.transaction() as cursor:
            if rulebooks.find_adoption(cursor).program:
                raise InputError("the program or its Unicode tables changed: run `dedup backfill` first")
            rulebook = rulebooks.load_rulebook(cursor)
        return checking.verify(self._database, rulebook, sample=sample, progress=progress)

    def repair(self, found: checking.Verification) -> int:
        """Have what `verify` found settled, counted or made again, by the next backfill.

        Returns how many articles will be settled again because of themselves.
        """
        return checking.repair(self._database, found.repairs)
