"""A table in which every user has rows of the same texts, and queries that show each user one copy."""

from __future__ import annotations

import random
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dedup.attach import survey
from dedup.db.database import Database
from tests.attach.owners import Owner, rows
from tests.attached import SCHEMA
from tests.corpora import deduplicator, settle

pytestmark = pytest.mark.timeout(120)

PAGE = Path(__file__).parents[2] / "docs" / "attach.md"

ENTRIES = (
    "CREATE TABLE entries (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id {}, feed_id integer,"
    " status text, headline text, outlet text, outlet_id integer, body text)"
)
INSERT = (
    "INSERT INTO entries (user_id, feed_id, status, headline, outlet, outlet_id, body)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s)"
)


def entry(owner: Owner, user: Any, number: int, outlet: int = 1) -> None:
    """A row of a user for an entry of a feed."""
    feed = None if user is None else hash((user, outlet)) % 10_000
    status = ("read", "unread")[number % 2]
    words = random.Random(number)
    body = " ".join("".join(words.choice("abcdefghijklmnop") for _ in range(7)) for _ in range(60))
    owner.execute(INSERT, [user, feed, status, f"Entry {number}", f"Wire {outlet}", outlet, body])


def told(database: Database, **given: Any) -> list[str]:
    """Attach the entries, and return the hints to the owner."""
    columns = {"text": "body", "title": "headline", "publication": "outlet"}
    done = deduplicator(database).attachments.attach(
        f"{SCHEMA}.entries", keys=["id"], columns=columns, **given
    )
    return done.told


@pytest.mark.parametrize("kind", ["bigint", "text", "uuid"])
def test_a_column_with_each_text_once_for_each_user_is_named(
    database: Database, owner: Owner, kind: str
) -> None:
    owner.execute(ENTRIES.format(kind).encode())
    users = [uuid.uuid4(), uuid.uuid4()] if kind == "uuid" else [4, 5]
    for user in users:
        for number in range(12):
            entry(owner, user, number, 1 + number % 4)
    (line,) = told(database, dry_run=True)
    assert "'user_id'" in line, "of two such columns the one with fewer values"
    assert "PARTITION BY" in line
    owner.execute("ANALYZE entries")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "SAMPLED_ROWS", 23)
        assert told(database) == [line], "a sample of the rows"


def test_copies_in_several_outlets_are_no_reason_to_warn(database: Database, owner: Owner) -> None:
    owner.execute(ENTRIES.format("bigint").encode())
    for outlet in (1, 2):
        for number in range(12):
            entry(owner, None, number, outlet)
    assert told(database) == []


@given(
    users=st.integers(1, 5),
    entries=st.integers(0, 40),
    own=st.integers(0, 100),
    again=st.booleans(),
)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_readers_are_seen_where_most_texts_stand_once_for_several_of_them(
    users: int, entries: int, own: int, again: bool
) -> None:
    """`own`: texts that only one user has. `again`: every row is in the table twice."""
    found = [(str(i), "Wire", str(user)) for user in range(users) for i in range(entries)]
    found += [(f"own {i}", "Wire", str(i % users)) for i in range(own)]
    shared = users * entries if users > 1 else 0
    most = shared >= survey.REPEATED_ROWS and 2 * shared >= len(found)
    few = users * survey.ROWS_A_READER <= len(found)
    assert survey._readers(found * 2 if again else found, 1.0) == (users if most and few and not again else 0)


def test_the_documented_query_shows_one_copy_to_every_user(database: Database, owner: Owner) -> None:
    (query,) = re.findall(r"```sql\n(SELECT id, user_id[^`]*)```", PAGE.read_text())
    owner.execute(ENTRIES.format("bigint").encode())
    for user, numbers in {1: [0, 1, 1], 2: [0, 1, 2, 2], 3: [2]}.items():
        for number in numbers:
            entry(owner, user, number)
    told(database, mark_columns=True)
    settle(database)
    hidden = rows(owner, "SELECT user_id, headline FROM entries WHERE dedup_status = 'unique' ORDER BY 1, 2")
    assert hidden == [(1, "Entry 0"), (1, "Entry 1"), (2, "Entry 2")]
    entry(owner, 3, 3)  # not settled yet
    shown = rows(owner, query.replace("reader.", f"{SCHEMA}."))
    assert sorted(row[1:] for row in shown) == [
        (1, "Entry 0"),
        (1, "Entry 1"),
        (2, "Entry 0"),
        (2, "Entry 1"),
        (2, "Entry 2"),
        (3, "Entry 2"),
        (3, "Entry 3"),
    ]
