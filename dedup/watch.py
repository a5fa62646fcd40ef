"""A poller of feeds and sitemaps; it needs the extra `watch`."""

from dedup.base.extras import of_extra

with of_extra("dedup.watch", "watch"):
    from dedup.extras.watch.watch import EVERY_SECONDS, WatchReport, watch

__all__ = ["EVERY_SECONDS", "WatchReport", "watch"]
