"""Metrics for Prometheus, by the library `prometheus_client`, which the extra `metrics` installs.

The metrics describe the corpus, not a process. They are read from the database at each scrape, so every
worker gives the same answer. If the database does not answer, `dedup_up 0` is the only metric.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, start_http_server, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dedup.api import server
from dedup.base.errors import DatabaseError
from dedup.base.logs import OutageLog
from dedup.base.schema import chosen
from dedup.db.database import Database
from dedup.runs.monitoring import SAMPLE, Vitals, read_vitals
from dedup.store import opening

__all__ = ["Metrics"]

ANSWER_SECONDS = 5.0  # Maximum wait for the database; Prometheus waits 10 seconds by default

_ESTIMATE = f"counted up to {SAMPLE:,}, above that an estimate by the query planner"


class Metrics(Collector):
    """Metrics of a corpus, whose database is opened at the first scrape.

    `url, schema`: as in `Deduplicator`. `up`: true if the database answered the last scrape. `problem`: the
    error of the last scrape, if any. `port`: the port of `serve`, which also logs outages.
    """

    def __init__(self, url: str | None = None, *, schema: str | None = None) -> None:
        self.up, self.port = False, 0
        self.problem: DatabaseError | None = None
        self._outages = OutageLog(logging.getLogger("dedup.metrics"), "the database", "dedup_up is 0")
        self._url, self._schema = url, chosen(schema)
        self._database: Database | None = None
        self._lock = threading.Lock()
        # The default registry is not used, because it adds metrics of this Python process.
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry).decode()

    def write(self, path: str | Path) -> None:
        """Write or replace a file for the textfile collector; a reader never sees half a file."""
        write_to_textfile(str(path), self._registry)

    def serve(self, port: int, host: str) -> Callable[[], None]:
        """Answer scrapes in a thread, and return a function that ends the thread; port 0 takes a free port.

        Raises OSError: the port cannot be used.
        """
        server, thread = start_http_server(port, host, self._registry)
        self.port = server.server_port

        def close() -> None:
            server.shutdown()
            server.server_close()
            thread.join(5)
            self.close()

        return close

    def close(self) -> None:
        """Close the connection; the next scrape opens it again."""
        if self._database:
            self._database.close()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics, for a registry of `prometheus_client`."""
        return describe(self._vitals())

    def _vitals(self) -> Vitals | None:
        try:
            # Each scrape has its own thread: two scrapes must not both open the database.
            with self._lock:
                if self._database is None:
                    # A monitor must not start a server, nor make a corpus.
                    if self._url is None:
                        server.require_data(start=False)
                        server.require_schema(self._schema, exact=True)
                    self._database = opening.connect(self._url, schema=self._schema)
            found, self.problem = read_vitals(self._database, seconds=ANSWER_SECONDS), None
        except DatabaseError as error:
            found, self.problem = None, error
        self.up = found is not None
        if self.port:
            self._outages.note(self.problem)
        return found


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def exposition(families: Iterable[Metric]) -> bytes:
    """Return metrics in Prometheus' text format, as UTF-8."""
    return generate_latest(_Families(families))


def describe(found: Vitals | None) -> Iterator[Metric]:
    """Yield the metrics of a corpus. `found`: None if the database did not answer."""
    yield _gauge("dedup_up", "1 if the database gave these metrics, else 0.", int(found is not None))
    if found is not None:
        yield from _gauges(found)
        yield from _counters(found)


def _gauges(found: Vitals) -> Iterable[Metric]:
    yield _gauge("dedup_articles", "Stored articles, estimated by the query planner.", found.articles)
    yield _gauge(
        "dedup_unsettled_articles",
        f"Articles that wait for their first mark (pending) or a new mark (stale); {_ESTIMATE}.",
        {"pending": found.pending, "stale": found.stale},
        "state",
    )
    yield _gauge(
        "dedup_waiting_seconds",
        "Seconds that the oldest unsettled article has waited; 0 if no article waits.",
        found.waiting_seconds or 0.0,
    )
    about = f"Articles that cannot be fingerprinted, among the last {SAMPLE:,} that failed."
    yield _gauge("dedup_failed_articles", about, found.failed, "reason")
    about = f"Unsettled articles that wait because of a safety limit, among the first {SAMPLE:,}."
    yield _gauge("dedup_limited_articles", about, found.limits, "limit")
    yield _gauge("dedup_queue_rows", f"Waiting rows, counted up to {SAMPLE + 1:,}.", found.queues, "queue")
    yield _gauge(
        "dedup_changes_waiting_seconds",
        "Seconds that the oldest unread change of an attached table has waited; 0 if no change waits.",
        found.changes_waiting_seconds or 0.0,
    )
    alive = sum(worker.alive for worker in found.workers)
    workers = {"alive": alive, "gone": len(found.workers) - alive}
    yield _gauge("dedup_workers", "Workers: alive, or gone (ended without notice).", workers, "state")
    yield _gauge("dedup_run_active", "1 if a run is at work, else 0.", int(found.run is not None))
    if found.quiet_at is not None:
        quiet = found.quiet_at.timestamp()
        yield _gauge("dedup_last_success_timestamp_seconds", "Last time when no work waited.", quiet)


def _counters(found: Vitals) -> Iterable[Metric]:
    for name, counter, about in (
        ("fingerprinted", "dedup_articles_fingerprinted", "Texts that got a fingerprint."),
        ("settled", "dedup_articles_settled", "Marks written by runs, without marks that `submit` wrote."),
        ("failed", "dedup_articles_failed", "Texts that could not get a fingerprint."),
    ):
        yield CounterMetricFamily(counter, about, found.totals.get(name, 0.0))
    for prefix, counter, about, label in (
        ("seconds ", "dedup_stage_seconds", "Seconds that the stages of runs took.", "stage"),
        ("runs ", "dedup_runs", "Runs that ended.", "outcome"),
    ):
        family = CounterMetricFamily(counter, about, labels=[label])
        for name, value in found.totals.items():
            if name.startswith(prefix):
                family.add_metric([name.removeprefix(prefix)], value)
        yield family


def _gauge(name: str, about: str, value: float | Mapping[str, int], label: str = "") -> Metric:
    """Return a gauge with one value, or with one value for each value of `label`."""
    if not isinstance(value, Mapping):
        return GaugeMetricFamily(name, about, value)
    family = GaugeMetricFamily(name, about, labels=[label])
    for labelled, count in value.items():
        family.add_metric([labelled], count)
    return family
