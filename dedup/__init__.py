"""Near-duplicate detection for news, inside the newsroom's own Postgres.

    from dedup import Article, Deduplicator

    with Deduplicator() as dd:
        verdict = dd.submit(Article(source_id="a1", text="...", publication="Courier"))
        print(verdict.status, verdict.duplicate_of)

Further modules: `dedup.errors`, `dedup.server` (embedded server), `dedup.tables` (for SQLAlchemy),
`dedup.worker` and `dedup.metrics`. Extras add `dedup.watch`, `dedup.frames`, `dedup.scrapy`, `dedup.spooling`
and `dedup.spark`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from dedup import errors as errors
    from dedup import frames as frames
    from dedup import metrics as metrics
    from dedup import operation as operation
    from dedup import scrapy as scrapy
    from dedup import server as server
    from dedup import spark as spark
    from dedup import spooling as spooling
    from dedup import tables as tables
    from dedup import watch as watch
    from dedup import worker as worker
    from dedup.api.async_deduplicator import AsyncDeduplicator as AsyncDeduplicator
    from dedup.api.deduplicator import Deduplicator as Deduplicator
    from dedup.base.article import Article as Article
    from dedup.base.errors import DedupError as DedupError
    from dedup.base.progress import Progress as Progress
    from dedup.base.schema import Initialized as Initialized
    from dedup.base.settings import Settings as Settings
    from dedup.base.timeouts import Timeouts as Timeouts
    from dedup.base.verdict import Copy as Copy
    from dedup.base.verdict import Match as Match
    from dedup.base.verdict import Verdict as Verdict
    from dedup.extras.coverage import ResearchExport as ResearchExport
    from dedup.extras.frames import StoryExport as StoryExport
    from dedup.extras.spark.postgres import CorpusExport as CorpusExport
    from dedup.extras.spark.postgres import ImportReport as ImportReport
    from dedup.files.report import LoadReport as LoadReport
    from dedup.files.report import Noted as Noted
    from dedup.runs.monitoring import Vitals as Vitals
    from dedup.runs.runs import PastRun as PastRun
    from dedup.settling.backfill import BackfillReport as BackfillReport
    from dedup.settling.backfill import Preview as Preview
    from dedup.settling.explanation import DifferingSentence as DifferingSentence
    from dedup.settling.explanation import ExplainedArticle as ExplainedArticle
    from dedup.settling.explanation import Explanation as Explanation
    from dedup.settling.memory.dry_run import DryRun as DryRun
    from dedup.settling.memory.dry_run import MarkDifference as MarkDifference
    from dedup.settling.sentences import SentencesReport as SentencesReport
    from dedup.settling.verify import Verification as Verification
    from dedup.settling.versions import Alteration as Alteration
    from dedup.settling.versions import StoryVersions as StoryVersions
    from dedup.settling.versions import Version as Version
    from dedup.settling.window import PrunePreview as PrunePreview
    from dedup.store.changes import MarkChange as MarkChange
    from dedup.store.exports import MarkRow as MarkRow
    from dedup.store.exports import MatchRow as MatchRow
    from dedup.store.load import LoadPreview as LoadPreview
    from dedup.store.overview import Overview as Overview
    from dedup.store.stories import Reprints as Reprints
    from dedup.store.stories import Story as Story
    from dedup.store.stories import StoryArticle as StoryArticle
    from dedup.store.stories import StorySummary as StorySummary
    from dedup.store.verdicts import MarkedArticle as MarkedArticle
    from dedup.store.versions import AdditionRow as AdditionRow
    from dedup.store.versions import AlterationRow as AlterationRow
    from dedup.store.versions import RemovableRow as RemovableRow

# Each name is imported at its first use, so that `dedup.rules` can be imported without SQLAlchemy.
_HOMES = {
    name: module
    for module, names in {
        "dedup.api.async_deduplicator": "AsyncDeduplicator",
        "dedup.api.deduplicator": "Deduplicator",
        "dedup.base.article": "Article",
        "dedup.base.errors": "DedupError",
        "dedup.base.progress": "Progress",
        "dedup.base.schema": "Initialized",
        "dedup.base.settings": "Settings",
        "dedup.base.timeouts": "Timeouts",
        "dedup.base.verdict": "Copy Match Verdict",
        "dedup.files.report": "LoadReport Noted",
        "dedup.runs.monitoring": "Vitals",
        "dedup.runs.runs": "PastRun",
        "dedup.settling.backfill": "BackfillReport Preview",
        "dedup.extras.spark.postgres": "CorpusExport ImportReport",
        "dedup.settling.explanation": "DifferingSentence ExplainedArticle Explanation",
        "dedup.settling.memory.dry_run": "DryRun MarkDifference",
        "dedup.settling.sentences": "SentencesReport",
        "dedup.settling.verify": "Verification",
        "dedup.settling.versions": "Alteration StoryVersions Version",
        "dedup.settling.window": "PrunePreview",
        "dedup.store.changes": "MarkChange",
        "dedup.store.exports": "MarkRow MatchRow",
        "dedup.store.load": "LoadPreview",
        "dedup.store.overview": "Overview",
        "dedup.store.stories": "Reprints Story StoryArticle StorySummary",
        "dedup.extras.coverage": "ResearchExport",
        "dedup.extras.frames": "StoryExport",
        "dedup.store.verdicts": "MarkedArticle",
        "dedup.store.versions": "AdditionRow AlterationRow RemovableRow",
    }.items()
    for name in names.split()
}

__all__ = sorted(_HOMES)

# Submodules that are imported at their first use: `dedup.server.start()` works after `import dedup`.
_MODULES = (
    *("errors", "frames", "metrics", "operation", "scrapy", "server", "spark", "spooling", "tables", "watch"),
    "worker",
)

if not TYPE_CHECKING:
    # Type checkers must not see `__getattr__`: they would accept every name, even a misspelt one.

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"dedup.{name}")
        if home := _HOMES.get(name, ""):
            if home.startswith("dedup.extras."):
                with import_module("dedup.base.extras").of_extra(f"dedup.{name}", home.split(".")[2]):
                    import_module(home)
            return getattr(import_module(home), name)
        if name == "__version__":
            metadata = import_module("importlib.metadata")
            try:
                return metadata.version("newsdedup")
            except metadata.PackageNotFoundError:
                # The package is not installed: its files are run from a folder.
                return "0"
        raise AttributeError(f"module 'dedup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "__doc__", "__file__", "__name__", "__path__"})
