"""Feeds and sitemaps that are polled; the extra `watch`."""

from dedup.api.watch import EVERY_SECONDS, WatchReport, watch

__all__ = ["EVERY_SECONDS", "WatchReport", "watch"]
