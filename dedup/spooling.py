"""A spool for a scraper's articles while the database does not answer; it needs no package of an extra."""

from dedup.base.extras import of_extra

with of_extra("dedup.spooling", "scrapy"):
    from dedup.extras.scrapy.spooling import SpoolingDeduplicator

__all__ = ["SpoolingDeduplicator"]
