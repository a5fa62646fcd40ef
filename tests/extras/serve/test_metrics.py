"""GET /metrics: the corpus and the requests, in few time series, whatever clients send."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dedup import Deduplicator
from dedup.base.errors import UnreachableError
from dedup.base.extras import installing
from dedup.db.database import Database
from dedup.extras.serve.guard import Access
from dedup.extras.serve.limits import Limits
from dedup.extras.serve.metering import BOUNDS, METRICS
from tests.cli.conftest import HARBOUR
from tests.corpora import article, load, window
from tests.extras.serve.conftest import Door, Serving, is_problem

Samples = dict[tuple[str, ...], float]


def scrape(door: Door, headers: dict[str, str] | None = None) -> Samples:
    """Return the value of each sample by its name and its labels, sorted by label name."""
    reply = door.ask("GET", METRICS, headers=headers)
    assert reply.status == 200, reply.raw
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(reply.raw.decode())
        for sample in family.samples
    }


def test_requests_are_counted_by_route_method_and_status(door: Door) -> None:
    door.submit({"source_id": "a", "text": HARBOUR})
    for _ in range(2):
        door.ask("GET", "/v1/articles", source_id="a")
    door.ask("GET", "/v1/articles", source_id="nobody")
    found = scrape(door)
    count = "dedup_http_requests_total"
    assert found[count, "POST", "/v1/articles", "200"] == 1
    assert found[count, "GET", "/v1/articles", "200"] == 2
    assert found[count, "GET", "/v1/articles", "404"] == 1
    assert found["dedup_http_requests_in_progress",] == 1, "the scrape itself is in progress"
    assert found["dedup_http_streams",] == 0
    seconds = "dedup_http_request_seconds"
    assert found[f"{seconds}_count", "/v1/articles"] == 4
    buckets = [found[f"{seconds}_bucket", str(most), "/v1/articles"] for most in (*BOUNDS, "+Inf")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 4
    assert 0 < found[f"{seconds}_sum", "/v1/articles"] < 60
    assert scrape(door)[count, "GET", METRICS, "200"] == 1


def test_clients_cannot_make_series(door: Door) -> None:
    before = len(scrape(door))
    for number in range(20):
        door.ask("GET", f"/nowhere/{number}")
        door.ask(f"BREW{number}", "/v1/health")
        door.ask("GET", f"/v1/articles?source_id={number}&x{number}=")
    found = scrape(door)
    count = "dedup_http_requests_total"
    assert found[count, "GET", "other", "404"] == 20
    assert found[count, "other", "/v1/health", "405"] == 20
    assert found[count, "GET", "/v1/articles", "400"] == 20
    # Three routes and the first scrape have a counter and a histogram each.
    assert len(found) - before == 4 * (1 + len(BOUNDS) + 3)


def test_metrics_of_the_corpus_are_those_of_dedup_metrics(door: Door, database: Database) -> None:
    load(database, article("a", window(0, 6)))
    found = scrape(door)
    assert found["dedup_up",] == 1
    assert found["dedup_unsettled_articles", "pending"] == 1


def test_without_a_database_or_a_free_thread_requests_are_still_told(
    serving: Serving, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Deduplicator(corpus_url) as dd:

        def fail(_: object) -> Any:
            raise UnreachableError("the database does not answer")

        monkeypatch.setattr(type(dd._database._pool), "borrow", fail)
        door = serving(Limits(requests=0), dd=dd)
        is_problem(door.ask("GET", "/v1/articles", source_id="a"), 503)
        found = scrape(door)
    assert found["dedup_up",] == 0
    assert found["dedup_http_requests_total", "GET", "/v1/articles", "503"] == 1


def test_the_token_is_asked_for_and_the_query_is_empty(serving: Serving) -> None:
    door = serving(access=Access(b"0123456789abcdef"))
    is_problem(door.ask("GET", METRICS), 401)
    bearer = {"Authorization": "Bearer 0123456789abcdef"}
    assert scrape(door, bearer)["dedup_http_requests_total", "GET", METRICS, "401"] == 1
    is_problem(door.ask("GET", METRICS, headers=bearer, a="b"), 400, "takes none")


def test_without_the_extra_it_is_named(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dedup.api.metrics", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    is_problem(door.ask("GET", METRICS), 501, installing("metrics"))
