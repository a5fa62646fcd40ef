"""An add-on and an item pipeline for Scrapy; it needs the extra `scrapy`."""

from dedup.base.extras import of_extra

with of_extra("dedup.scrapy", "scrapy"):
    from dedup.extras.scrapy.pipeline import Addon, DedupPipeline, Options

__all__ = ["Addon", "DedupPipeline", "Options"]
