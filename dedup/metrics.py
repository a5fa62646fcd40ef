"""Metrics of a corpus for Prometheus; they need the extra `metrics`."""

from dedup.base.extras import of_extra

with of_extra("dedup.metrics", "metrics"):
    from dedup.api.metrics import Metrics

__all__ = ["Metrics"]
