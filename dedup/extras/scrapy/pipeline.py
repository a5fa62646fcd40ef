"""An item pipeline for Scrapy: every item that is an article gets its verdict, or duplicates are dropped.

    # settings.py
    ITEM_PIPELINES = {"dedup.scrapy.DedupPipeline": 500}

It never blocks the reactor, and never loses an item because of the database: see docs/scraper.md, which also
lists the settings. Needs the extra `scrapy`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred

from dedup.base.article import ARTICLE_FIELDS, Article
from dedup.base.errors import InputError, SpoolError
from dedup.base.verdict import Verdict
from dedup.extras.scrapy.spool import MAX_BYTES
from dedup.extras.scrapy.spooling import RETRY_SECONDS, SpoolingDeduplicator

_Value = TypeVar("_Value")

__all__ = ["DedupPipeline", "Options"]

log = logging.getLogger("dedup.scrapy")

THREADS = 4  # That wait for the database. All who settle wait for one lock; more threads would only wait too


@dataclass(frozen=True)
class Options:
    """The settings of the pipeline.

    Attributes:
        url, schema: DEDUP_DATABASE_URL and DEDUP_SCHEMA; without them the environment variables of those
            names.
        fields: DEDUP_FIELDS, article field to item field. A field that is not named has the same name in
            both, and where an item has no `source_id` its `url` is taken.
        keep: DEDUP_KEEP, fields of the item that its article keeps, to be shown beside its mark.
        item_field: DEDUP_ITEM_FIELD, the field of the item that gets the verdict; "" for none.
        drop: DEDUP_DROP, whether duplicates are dropped. What passed before its original is not called back;
            that one's verdict has it among its `copies`.
        spool: DEDUP_SPOOL, the file of what waits for the database; `{name}` stands for the spider's.
        spool_bytes: DEDUP_SPOOL_BYTES, how large it may become.
        retry_seconds: DEDUP_RETRY_SECONDS, between two looks whether the database is back.
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
        """The options that a project's settings name.

        Raises NotConfigured: DEDUP_FIELDS names a field that articles do not have.
        """
        fields = settings.getdict("DEDUP_FIELDS")
        if unknown := set(fields) - set(ARTICLE_FIELDS):
            raise NotConfigured(
                f"DEDUP_FIELDS: articles have no {', '.join(sorted(unknown))};"
                f" they have {', '.join(ARTICLE_FIELDS)}"
            )
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


class DedupPipeline:
    """Submits items as articles.

    In Scrapy's stats: `dedup/unique`, `dedup/similar`, `dedup/duplicate`, `dedup/pending` and `dedup/failed`
    count the verdicts, and `dedup/overtaken` those that name copies; `dedup/no_article` counts the items that
    are none, `dedup/dropped`, `dedup/spooled`, `dedup/delivered` and `dedup/lost` what else became of items.
    """

    def __init__(self, crawler: Crawler, options: Options) -> None:
        self._crawler, self._options = crawler, options
        self._threads = ThreadPoolExecutor(THREADS, "dedup")
        self._warned: set[str] = set()
        self._corpus: SpoolingDeduplicator | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, Options.read(crawler.settings))

    async def open_spider(self) -> None:
        """Open the corpus, and deliver what an earlier crawl kept. The crawl begins in any case."""
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
        """Deliver what is kept, if the database is back, and close the connections."""
        corpus = self._corpus
        assert corpus is not None
        await self._in_thread(corpus.close)
        self._threads.shutdown()
        if corpus.delivered:
            self._count("delivered", corpus.delivered)

    async def process_item(self, item: Any) -> Any:
        """Add the verdict to an item. Raises DropItem for a duplicate, where these are to be dropped."""
        corpus = self._corpus
        assert corpus is not None
        try:
            article = self._article(ItemAdapter(item))
        except (InputError, TypeError) as error:
            self._count("no_article")
            self._warn("no article", f"items that are no articles pass on without a verdict: {error}")
            return item
        try:
            verdict = await self._in_thread(lambda: corpus.submit(article))
        except SpoolError as error:
            self._count("lost")
            self._warn("lost", f"items pass on and are not kept for later: {error}")
            return item
        if verdict is None:
            self._count("spooled")
            return item
        self._warned.discard("lost")
        self._count(verdict.status)
        if verdict.copies:
            self._count("overtaken")
        return self._with_verdict(item, verdict)

    def _article(self, item: ItemAdapter) -> Article:
        """Raises InputError or TypeError where the item is no article."""
        names = {name: self._options.fields.get(name, name) for name in ARTICLE_FIELDS}
        if "source_id" not in self._options.fields and item.get("source_id") is None:
            names["source_id"] = names["url"]
        values = {name: item.get(field) for name, field in names.items()}
        if self._options.keep:
            values["kept"] = {
                **(values["kept"] or {}),
                **{name: item.get(name) for name in self._options.keep},
            }
        return Article(**{name: value for name, value in values.items() if value is not None})

    def _with_verdict(self, item: Any, verdict: Verdict) -> Any:
        if verdict.is_duplicate and self._options.drop:
            self._count("dropped")
            log.info("dropped %r: duplicate of %r (%s)", verdict.id, verdict.duplicate_of, verdict.reason)
            # Scrapy logs a dropped item as a whole, at this level: nothing is logged at NOTSET.
            raise DropItem(f"duplicate of {verdict.duplicate_of} ({verdict.reason})", log_level="NOTSET")
        if self._options.item_field:
            try:
                ItemAdapter(item)[self._options.item_field] = verdict.as_dict()
            except KeyError:
                name = self._options.item_field
                self._warn("field", f"{type(item).__name__} has no field {name!r} for the verdict")
        return item

    async def _in_thread(self, work: Callable[[], _Value]) -> _Value:
        future = self._threads.submit(work)
        if is_asyncio_available():
            return await asyncio.wrap_future(future)
        from twisted.internet import reactor  # which one is chosen before the crawl begins, and not on import

        done: Deferred[None] = Deferred()
        future.add_done_callback(lambda _: reactor.callFromThread(done.callback, None))
        await done
        return future.result()

    def _count(self, name: str, count: int = 1) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"dedup/{name}", count)

    def _warn(self, kind: str, message: str) -> None:
        """Warn of each kind of trouble once, not for every item."""
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning(message)
