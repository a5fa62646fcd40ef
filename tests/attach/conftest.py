"""An owner of tables for the tests of attached ones, in the database that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dedup.db.database import Database
from tests.attach.owners import Owner
from tests.attached import owned


@pytest.fixture
def owner(database: Database) -> Iterator[Owner]:
    with owned(database) as connection:
        yield connection
