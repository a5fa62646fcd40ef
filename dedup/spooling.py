"""A spool for scrapers while the database is away; the extra `scrapy`, without its packages."""

from dedup.base.extras import of_extra

with of_extra("dedup.spooling", "scrapy"):
    from dedup.extras.scrapy.spooling import SpoolingDeduplicator

__all__ = ["SpoolingDeduplicator"]
