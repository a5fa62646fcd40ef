"""An item pipeline for Scrapy that adds verdicts to items, or drops duplicates; an add-on enables it.

    # settings.py
    ADDONS = {"dedup.scrapy.Addon": 300}

The pipeline never blocks the reactor, and an outage of the database loses no item; see docs/scraper.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred

from dedup.base.article import ARTICLE_FIELDS
from dedup.base.errors import InputError, SpoolError
from dedup.base.verdict import Verdict
from dedup.extras.scrapy.spool import MAX_BYTES
from dedup.extras.scrapy.spooling import RETRY_SECONDS, SpoolingDeduplicator
from dedup.files.record import Flaw, make_article

_Value = TypeVar("_Value")

__all__ = ["Addon", "DedupPipeline", "Options"]

log = logging.getLogger("dedup.scrapy")

PRIORITY = 500  # The middle of the range from 0 to 1,000 that Scrapy's documentation names
NO_NAMES = 'DEDUP_FIELDS must be a dict of names, such as {"title": "headline"}'
THREADS = 4  # All settling needs the same lock, so more threads would only wait for it


@dataclass(frozen=True)
class Options:
    """The options of the pipeline. Each description begins with the name of the Scrapy setting.

    Attributes:
        url: DEDUP_DATABASE_URL; default: as for `Deduplicator`.
        schema: DEDUP_SCHEMA; default: as for `Deduplicator`.
        fields: DEDUP_FIELDS: article field -> item field; by default, both have the same name. The id of an
            item without a `source_id` is its `url`.
        keep: DEDUP_KEEP: item fields that are stored with the article and its mark.
        item_field: DEDUP_ITEM_FIELD: item field that gets the verdict; "" for no field.
        drop: DEDUP_DROP: drop duplicates. A copy that arrived before its original is not dropped; the verdict
            on the original lists such copies in `copies`.
        spool: DEDUP_SPOOL: `{name}` is the name of the spider.
        spool_bytes: DEDUP_SPOOL_BYTES: maximum size of the spool.
        retry_seconds: DEDUP_RETRY_SECONDS: time between attempts to reach the database.
    """

    url: str | None = None
    schema: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    item_field: str = "dedup"
    drop: bool = False
    spool: str = "dedup-spool-{name}.jsonl"
    spool_bytes: int = MAX_BYTES
    retry_seconds: float = RETRY_SECONDS

    @classmethod
    def read(cls, settings: BaseSettings) -> Self:
        """Read the options from Scrapy settings; raise InputError for a wrong DEDUP_FIELDS."""
        # NotConfigured would only disable the pipeline: the crawl would go on and store no article.
        try:
            fields = settings.getdict("DEDUP_FIELDS")
        except ValueError:
            raise InputError(NO_NAMES) from None
        if not all(isinstance(name, str) and name for name in (*fields, *fields.values())):
            raise InputError(NO_NAMES)
        if unknown := set(fields) - set(ARTICLE_FIELDS):
            wrong, known = ", ".join(sorted(unknown)), ", ".join(ARTICLE_FIELDS)
            raise InputError(f"DEDUP_FIELDS: articles have no {wrong}; the fields are {known}")
        return cls(
            settings.get("DEDUP_DATABASE_URL") or None,
            settings.get("DEDUP_SCHEMA") or None,
            fields,
            settings.getlist("DEDUP_KEEP"),
            settings.get("DEDUP_ITEM_FIELD", cls.item_field),
            settings.getbool("DEDUP_DROP", cls.drop),
            settings.get("DEDUP_SPOOL", cls.spool),
            settings.getint("DEDUP_SPOOL_BYTES", cls.spool_bytes),
            settings.getfloat("DEDUP_RETRY_SECONDS", cls.retry_seconds),
        )


class Addon:
    """An add-on that adds `DedupPipeline` to ITEM_PIPELINES, unless the settings name the pipeline."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", DedupPipeline, PRIORITY)


class DedupPipeline:
    """An item pipeline that submits items as articles.

    In Scrapy's stats, the pipeline counts verdicts by status (such as `dedup/unique`), verdicts that list
    copies (`dedup/overtaken`), items with a value that was changed or left out, such as a bad date
    (`dedup/repaired`), and items that are not articles (`dedup/no_article`). It also counts items that were
    dropped, spooled, delivered or lost (`dedup/dropped` and so on).
    """

    def __init__(self, crawler: Crawler, options: Options) -> None:
        self._crawler, self._options = crawler, options
        self._threads = ThreadPoolExecutor(THREADS, "dedup")
        self._warned: set[str] = set()
        self._corpus: SpoolingDeduplicator | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline with the options in the settings of a crawler."""
        return cls(crawler, Options.read(crawler.settings))

    async def open_spider(self) -> None:
        """Open the corpus and deliver the spool of an earlier crawl. Even if this fails, the crawl begins."""
        name = self._crawler.spider.name if self._crawler.spider else "spider"
        self._corpus = SpoolingDeduplicator(
            self._options.url,
            schema=self._options.schema,
            spool=self._options.spool.format(name=name.replace(os.sep, "_")),
            max_bytes=self._options.spool_bytes,
            retry_seconds=self._options.retry_seconds,
        )
        await self._in_thread(self._corpus.connect)

    async def close_spider(self) -> None:
        """Deliver the spool if the database is back, and close the connections."""
        corpus = self._corpus
        assert corpus is not None
        await self._in_thread(corpus.close)
        self._threads.shutdown()
        if corpus.delivered:
            self._count("delivered", corpus.delivered)

    async def process_item(self, item: Any) -> Any:
        """Add the verdict to an item; raise DropItem for a duplicate if duplicates must be dropped."""
        corpus = self._corpus
        assert corpus is not None
        try:
            article, flaws = make_article(self._values(ItemAdapter(item)))
        except (InputError, TypeError) as error:
            self._count("no_article")
            self._warn("no article", f"items that are not articles continue without a verdict: {error}")
            return item
        if flaws:
            self._count("repaired")
            for flaw in flaws:
                self._warn(f"repaired {flaw.field}", f"articles are stored without bad values: {flaw.reason}")
        try:
            verdict = await self._in_thread(lambda: corpus.submit(article))
        except SpoolError as error:
            self._count("lost")
            self._warn("lost", f"items continue, but their articles are not stored: {error}")
            return item
        if verdict is None:
            self._count("spooled")
            return item
        self._warned.discard("lost")
        self._count(verdict.status)
        if verdict.copies:
            self._count("overtaken")
        return self._with_verdict(item, verdict, flaws)

    def _values(self, item: ItemAdapter) -> dict[str, Any]:
        """Map fields of an article to values of the item; raise TypeError if `kept` is not a mapping."""
        names = {name: self._options.fields.get(name, name) for name in ARTICLE_FIELDS}
        if "source_id" not in self._options.fields and item.get("source_id") is None:
            names["source_id"] = names["url"]
        values = {name: item.get(field) for name, field in names.items()}
        if self._options.keep:
            kept = {name: item.get(name) for name in self._options.keep}
            values["kept"] = {**(values["kept"] or {}), **kept}
        return {name: value for name, value in values.items() if value is not None}

    def _with_verdict(self, item: Any, verdict: Verdict, flaws: Iterable[Flaw] = ()) -> Any:
        if verdict.is_duplicate and self._options.drop:
            self._count("dropped")
            log.info("dropped %r: duplicate of %r (%s)", verdict.id, verdict.duplicate_of, verdict.reason)
            # Scrapy logs the whole dropped item at `log_level`; NOTSET keeps the article out of the log.
            raise DropItem(f"duplicate of {verdict.duplicate_of} ({verdict.reason})", log_level="NOTSET")
        if self._options.item_field:
            try:
                repairs = [flaw._asdict() for flaw in flaws]
                ItemAdapter(item)[self._options.item_field] = {**verdict.as_dict(), "repairs": repairs}
            except KeyError:
                name = self._options.item_field
                self._warn("field", f"{type(item).__name__} has no field {name!r} for the verdict")
        return item

    async def _in_thread(self, work: Callable[[], _Value]) -> _Value:
        future = self._threads.submit(work)
        if is_asyncio_available():
            return await asyncio.wrap_future(future)
        # The first import of `reactor` installs the default reactor, unless a reactor is installed. So import
        # `reactor` only here, after Scrapy has installed the reactor of its settings.
        from twisted.internet import reactor

        done: Deferred[None] = Deferred()
        future.add_done_callback(lambda _: reactor.callFromThread(done.callback, None))
        await done
        return future.result()

    def _count(self, name: str, count: int = 1) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"dedup/{name}", count)

    def _warn(self, kind: str, message: str) -> None:
        # Each kind of warning is logged once, not for every item.
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning(message)
