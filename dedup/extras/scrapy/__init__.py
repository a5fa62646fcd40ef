"""An item pipeline for Scrapy, and a spool for outages of the database; the extra `scrapy`."""
