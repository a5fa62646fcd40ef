"""Arrays: from Postgres to numpy and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest

from dedup.db.database import Database
from dedup.db.elements import read_arrays

VALUES = {
    "bigint": np.array([-(2**63), -1, 0, 2**63 - 1], np.int64),
    "double precision": np.array([-0.5, 0.0, 1 / 3, np.inf], np.float64),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("count", [4, 1, 0])
def test_an_array_comes_back_as_it_went(database: Database, kind: str, count: int) -> None:
    given = VALUES[kind][:count]
    found = one(database, f"SELECT %s::{kind}[]", given)
    assert (found.dtype, found.tolist()) == (given.dtype, given.tolist())
    found += 1  # the array can be written to


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("made", ["ARRAY[1, NULL]", "ARRAY[[1, 2], [3, 4]]"])
def test_an_array_of_another_shape_is_refused(database: Database, kind: str, made: str) -> None:
    with database.transaction() as cursor:
        cursor.execute(f"SELECT {made}::{kind}[]".encode())
        with pytest.raises(psycopg.DataError, match="one dimension without nulls"):
            cursor.fetchone()


def test_arrays_that_were_sent_as_bytes_are_read_together(database: Database) -> None:
    parts = [VALUES["bigint"][:n] for n in (2, 0, 4, 0)]
    data = b"".join(one(database, "SELECT array_send(%s::bigint[])", part) for part in parts)
    found = read_arrays(data, np.array([len(part) for part in parts]))
    assert found.tolist() == np.concatenate(parts).tolist()


def one(database: Database, query: str, *given: Any) -> Any:
    with database.transaction() as cursor:
        row = cursor.execute(query.encode(), given).fetchone()
    assert row is not None
    return row[0]
