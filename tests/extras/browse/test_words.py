"""Pages and endpoints show no word of a text to a role that may not read texts."""

from __future__ import annotations

import pytest

from dedup import Deduplicator
from dedup.db.database import Database
from dedup.extras.browse.views import PLACES
from dedup.extras.serve.app import make_app
from dedup.extras.serve.endpoints import PATHS
from dedup.extras.serve.guard import LOOPBACK_NAMES, Access
from dedup.extras.serve.limits import Limits
from tests.db.test_roles import Names, url_of
from tests.db.test_roles import granted as granted  # fixtures
from tests.db.test_roles import names as names
from tests.db.test_words import MARK
from tests.db.test_words import marked as marked
from tests.extras.browse.conftest import opened
from tests.extras.serve.conftest import running


@pytest.mark.long("dedup", "migrations")
def test_no_page_and_no_endpoint_tells_a_counter_a_word(marked: Database, granted: Names) -> None:
    given = {"id": "a1", "a": "a1", "b": "a2", "words": "council", "hash": "1", "kind": "picked"}
    asked = [{}, *({name: value} for name, value in given.items()), {"a": "a1", "b": "a2"}]
    with opened() as start:
        for kind, shown in (("reader", True), ("counter", False)):
            pages = start(url_of(marked, granted[kind]))
            told = b"".join(pages.get(place.path, None, **query).raw for place in PLACES for query in asked)
            assert (MARK.encode() in told.lower()) == shown, kind
    asked = [
        {},
        {"source_id": "a1", "text": "true"},
        {"source_id": "a1"},
        {"a": "a1", "b": "a2", "text": "true"},
    ]
    for kind, shown in (("reader", True), ("counter", False)):
        with Deduplicator(url_of(marked, granted[kind])) as dd:
            app = make_app(dd, Limits(rate=10_000), Access(None, LOOPBACK_NAMES), texts=True)
            with running(dd, app) as door:
                told = b"".join(
                    door.ask("GET", path, None, None, **query).raw
                    for path in sorted(PATHS)
                    for query in asked
                )
        assert (MARK.encode() in told.lower()) == shown, kind
