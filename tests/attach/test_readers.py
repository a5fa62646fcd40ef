"""Tables in which many users have rows of the same texts, and queries that show each user one copy."""

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
from dedup.base.errors import InputError
from dedup.db.database import Database
from tests.attach.owners import Owner, rows
from tests.attached import SCHEMA
from tests.corpora import assert_right, deduplicator, settle

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
    """Insert a user's row for an entry of a feed."""
    feed = None if user is None else hash((user, outlet)) % 10_000
    status = ("read", "unread")[number % 2]
    words = random.Random(number)
    body = " ".join("".join(words.choice("abcdefghijklmnop") for _ in range(7)) for _ in range(60))
    owner.execute(INSERT, [user, feed, status, f"Entry {number}", f"Wire {outlet}", outlet, body])


def told(database: Database, **given: Any) -> list[str]:
    """Attach the entries, and return the hints for the owner."""
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
    assert "'user_id'" in line, "of two fitting columns, the one with fewer values is named"
    assert '`within="user_id"`' in line
    owner.execute("ANALYZE entries")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "SAMPLED_ROWS", 23)
        assert told(database) == [line], "a sample of the rows gives the same hint"


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
def test_readers_are_recognised_if_several_readers_have_most_texts_once(
    users: int, entries: int, own: int, again: bool
) -> None:
    """Check a table in which all users share `entries` texts, and `own` further texts have one user each.

    With `again`, the table has every row twice.
    """
    found = [(str(i), "Wire", str(user)) for user in range(users) for i in range(entries)]
    found += [(f"own {i}", "Wire", str(i % users)) for i in range(own)]
    shared = users * entries if users > 1 else 0
    most = shared >= survey.REPEATED_ROWS and 2 * shared >= len(found)
    few = users * survey.ROWS_A_READER <= len(found)
    assert survey._readers(found * 2 if again else found, 1.0) == (users if most and few and not again else 0)


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_each_user_has_stories_of_their_own(database: Database, owner: Owner) -> None:
    """The documented query hides exactly the copies that a user has within their own rows."""
    (query,) = re.findall(r"```sql\n(SELECT e.id, e.user_id[^`]*)```", PAGE.read_text())
    owner.execute(ENTRIES.format("bigint").encode())
    for user, numbers in {1: [0, 1, 1], 2: [0, 1, 2, 2], 3: [2]}.items():
        for number in numbers:
            entry(owner, user, number)
    columns = {"text": "body", "title": "headline"}
    dd = deduplicator(database)
    attached = dd.attachments.attach(f"{SCHEMA}.entries", keys=["id"], columns=columns, within="user_id")
    assert attached.told == []
    settle(database)
    assert_right(database)
    entry(owner, 3, 3)  # this row is not settled yet

    def shown() -> list[tuple[int, int]]:
        found = rows(owner, query.replace("reader.", f"{SCHEMA}."))
        return sorted((user, int(headline.split()[-1])) for _, user, headline in found)

    assert shown() == [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 2), (3, 3)]
    owner.execute(b"UPDATE entries SET user_id = 1 WHERE user_id = 2 AND headline IN ('Entry 0', 'Entry 2')")
    settle(database)
    assert_right(database)
    assert shown() == [(1, 0), (1, 1), (1, 2), (2, 1), (3, 2), (3, 3)]
    dd.attachments.remap("entries", within="feed_id")
    assert dd.attachments.list()[0].columns["scope"] == "feed_id"
    settle(database)
    assert_right(database)


def test_a_scope_is_a_text_a_number_or_a_uuid(database: Database, owner: Owner) -> None:
    owner.execute(ENTRIES.format("uuid").encode())
    user = uuid.uuid4()
    for number in (0, 0):
        entry(owner, user, number)
    attach = deduplicator(database).attachments.attach
    owner.execute(b"ALTER TABLE entries ADD at timestamptz")
    with pytest.raises(InputError, match="at"):
        attach(f"{SCHEMA}.entries", keys=["id"], columns={"text": "body", "scope": "at"})
    attach(f"{SCHEMA}.entries", keys=["id"], columns={"text": "body", "scope": "user_id"})
    settle(database)
    assert rows(owner, "SELECT scope, count(*) FROM dedup.mark GROUP BY 1") == [(str(user), 2)]
    assert_right(database)
