"""A spider for the tests of `dedup.scrapy`: `python -m tests.extras.scrapy.spider ADDRESS SETTINGS STATS`.

The spider crawls the newspaper at ADDRESS with SETTINGS (JSON), and writes Scrapy's statistics to STATS.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse


@dataclass
class Page:
    """An item without a field for a verdict."""

    url: str
    text: str


class Newspaper(scrapy.Spider):
    """A spider that follows the links of the front page to every article."""

    name = "newspaper"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        for number, link in enumerate(response.css("li a")):
            yield response.follow(link, self.parse_article, priority=-number)

    def parse_article(self, response: Response) -> Any:
        """Return an article as a dict. Some pages have wrong values on purpose."""
        assert isinstance(response, TextResponse)
        kind = response.css("article::attr(class)").get()
        body = "\n\n".join(response.css("article p::text").getall())
        if kind == "dataclass":
            return Page(response.url, body)
        item: dict[str, Any] = {
            "url": response.url,
            "headline": response.css("h1::text").get(),
            "body": body,
            "published": response.css("time::attr(datetime)").get(),
        }
        if kind == "empty":
            del item["body"]
        elif kind == "number":
            item["body"] = 7
        elif kind == "undated":
            item["published"] = "some time last week"
        return item


def main(address: str, given: str, stats: str) -> None:
    process = CrawlerProcess(
        {
            "LOG_LEVEL": "INFO",
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "ADDONS": {"dedup.scrapy.Addon": 300},
            "DEDUP_FIELDS": {
                "source_id": "url",
                "title": "headline",
                "text": "body",
                "published_at": "published",
            },
            **json.loads(given),
        }
    )
    crawler = process.create_crawler(Newspaper)
    process.crawl(crawler, start_urls=[address])
    process.start()
    from twisted.internet import reactor  # the reactor that was chosen above

    assert crawler.stats is not None
    found = {**crawler.stats.get_stats(), "reactor": type(reactor).__name__}
    Path(stats).write_text(json.dumps(found, default=str), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
