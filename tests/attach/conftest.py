"""Fixtures: an owner of attached tables in the shared database, and a database to copy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dedup.db.database import Database
from tests.attach.owners import Owner, make_template
from tests.attached import owned
from tests.conftest import Server


@pytest.fixture
def owner(database: Database) -> Iterator[Owner]:
    with owned(database) as connection:
        yield connection


@pytest.fixture(scope="module")
def template(server: Server) -> str:
    """The name of a database that each test copies."""
    return make_template(server)
