"""Save a scraper's articles on disk while the database does not answer. Needs no further packages."""

from dedup.base.extras import of_extra

with of_extra("dedup.spooling", "scrapy"):
    from dedup.extras.scrapy.spooling import SpoolingDeduplicator

__all__ = ["SpoolingDeduplicator"]
