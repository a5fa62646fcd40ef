"""Count requests and their times for Prometheus; see `../../api/metrics.py` for metrics of the corpus.

Labels have few values, whatever clients send: routes of the service, its statuses, and four methods.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from prometheus_client.core import Metric

METRICS = "/metrics"  # Path that Prometheus requests by default
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"  # Media type of Prometheus' text format
METHODS = frozenset(("GET", "HEAD", "POST", "DELETE"))
OTHER = "other"  # Label of all other routes and methods
GONE = "gone"  # Status of a request that ended without an answer, mostly because the client left
# Upper bounds of the histogram in seconds: a verdict takes some 10 ms, and 20 s is the limit for work.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0)


class Meter:
    """Counters of the requests of a server. The time of a request ends with the head of its answer."""

    def __init__(self, routes: Collection[str]) -> None:
        self._routes, self._active = routes, 0
        self._requests: Counter[tuple[str, str, str]] = Counter()  # by route, method, status
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def around(self, app: ASGIApp) -> ASGIApp:
        """Wrap an application so that its requests are counted."""

        async def counting(scope: Scope, receive: Receive, send: Send) -> None:
            began, status = time.monotonic(), ""

            def note(answered: str) -> None:
                nonlocal status
                status = answered
                self._active -= 1
                self._note(scope, status, time.monotonic() - began)

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start" and not status:
                    note(str(message["status"]))
                await send(message)

            self._active += 1
            try:
                await app(scope, receive, noting)
            finally:
                if not status:
                    note(GONE)

        return counting

    def _note(self, scope: Scope, status: str, seconds: float) -> None:
        route = scope["path"] if scope["path"] in self._routes else OTHER
        method = scope["method"] if scope["method"] in METHODS else OTHER
        self._requests[route, method, status] += 1
        self._counts[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def collect(self, streams: int) -> Iterator[Metric]:
        """Yield the metrics. `streams`: number of open streams."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(
            "dedup_http_requests", "Requests.", labels=["route", "method", "status"]
        )
        for labels, count in sorted(self._requests.items()):
            requests.add_metric(labels, count)
        yield requests
        seconds = HistogramMetricFamily(
            "dedup_http_request_seconds",
            "Seconds from a request to the head of its answer.",
            labels=["route"],
        )
        for route, counts in sorted(self._counts.items()):
            bounds = [*map(str, BOUNDS), "+Inf"]
            buckets = list(zip(bounds, map(float, accumulate(counts)), strict=True))
            seconds.add_metric([route], buckets, self._seconds[route])
        yield seconds
        about = "Requests without the head of an answer."
        yield GaugeMetricFamily("dedup_http_requests_in_progress", about, self._active)
        yield GaugeMetricFamily("dedup_http_streams", "Open streams of changes.", streams)
