"""The extra `scrapy`: an item pipeline for Scrapy, and a spool that keeps articles during outages."""
