"""Rows that a comparison does not find. If row security hides rows, their articles stay.

If most rows are gone, their articles are deleted only after a person has allowed it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from psycopg import sql

from dedup.attach import comparing, outbox
from dedup.attach import sync as following
from dedup.base.errors import DatabaseError
from dedup.base.progress import SilentProgress
from dedup.db.database import Database
from dedup.runs import waiting
from tests.attach import test_bases
from tests.attach.owners import Owner
from tests.attached import SCHEMA, attach, news, right
from tests.cli.conftest import Dedup, dedup
from tests.corpora import answer, deduplicator, settle, wait_until
from tests.settling.test_daemon import working

__all__ = ["dedup"]

pytestmark = pytest.mark.timeout(120)

MANY = 50


@pytest.fixture
def role(database: Database, owner: Owner) -> Iterator[sql.Identifier]:
    """A role that owns the tables of this test and is no superuser."""
    name = sql.Identifier(f"dedup_plain_{os.getpid()}")
    owner.execute(sql.SQL("CREATE ROLE {0} LOGIN; GRANT ALL ON SCHEMA newsroom TO {0}").format(name))
    try:
        yield name
    finally:
        owner.execute("RESET ROLE")
        door = deduplicator(database).attachments
        for item in door.list():
            door.detach(item.name)
        owner.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(name))


def fill(owner: Owner, amount: int = MANY, first: int = 1) -> None:
    owner.execute(
        "INSERT INTO news (id, body) SELECT i, 'The council of town ' || i || ' votes on its bridge today.'"
        " FROM generate_series(%s::integer, %s) AS i",
        [first, first + amount - 1],
    )


def amount(database: Database) -> int:
    """Count the articles."""
    return len(answer(database).marks)


def unnoted(owner: Owner, statement: str) -> None:
    """Run a statement without notes of the triggers."""
    owner.execute("ALTER TABLE news DISABLE TRIGGER USER")
    owner.execute(statement.encode())
    owner.execute("ALTER TABLE news ENABLE TRIGGER USER")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("noted", ["by triggers", "by sync"])
def test_row_security_that_is_forced_later_is_named_and_deletes_nothing(
    database: Database, owner: Owner, role: sql.Identifier, dedup: Dedup, noted: str
) -> None:
    owner.execute(sql.SQL("SET ROLE {}").format(role))
    news(owner)
    fill(owner, 3)
    attach(database, triggers=noted == "by triggers")
    settle(database)
    owner.execute("ALTER TABLE news ENABLE ROW LEVEL SECURITY")
    assert dedup("backfill", "--workers", "0").code == 0, (
        "row security hides nothing from the owner until it is forced"
    )
    owner.execute("ALTER TABLE news FORCE ROW LEVEL SECURITY")
    owner.execute("RESET ROLE")
    owner.execute("UPDATE news SET body = body || ' More.'")
    step = f'`ALTER TABLE "{SCHEMA}"."news" NO FORCE ROW LEVEL SECURITY`'
    synced = dedup("sync")
    assert synced.code != 0
    assert step in synced.err
    for _ in range(2):
        settled = dedup("backfill", "--workers", "0")
        assert settled.code == 1
        assert step in settled.err
        assert amount(database) == 3
    checked = dedup("status", "--check")
    assert checked.code == 1
    assert step in checked.out + checked.err
    listed = dedup("attachments")
    assert step in listed.out + listed.err
    owner.execute("ALTER TABLE news NO FORCE ROW LEVEL SECURITY")
    assert dedup("backfill", "--workers", "0").code == 0
    assert set(right(database).status()) == {"news/1", "news/2", "news/3"}
    assert deduplicator(database).attachments.drift() == []


def test_row_security_that_is_forced_on_a_base_table_is_named_with_its_step(
    database: Database, owner: Owner, role: sql.Identifier
) -> None:
    owner.execute(sql.SQL("SET ROLE {}").format(role))
    test_bases.make(owner)
    test_bases.fill(owner)
    test_bases.attach_entries(database)
    settle(database)
    owner.execute("ALTER TABLE feeds ENABLE ROW LEVEL SECURITY; ALTER TABLE feeds FORCE ROW LEVEL SECURITY")
    owner.execute("RESET ROLE")
    (problem,) = deduplicator(database).attachments.drift()
    step = f'`ALTER TABLE "{SCHEMA}"."feeds" NO FORCE ROW LEVEL SECURITY`'
    assert problem.endswith(f" of {SCHEMA}.feeds, and hides rows: run {step}")


def test_row_security_that_is_forced_while_notes_are_read_deletes_nothing(
    database: Database, owner: Owner, role: sql.Identifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.execute(sql.SQL("SET ROLE {}").format(role))
    news(owner)
    fill(owner, 3)
    attach(database)
    settle(database)
    owner.execute("UPDATE news SET body = body || ' More.'")
    found = outbox.notes

    def forced(*given: object) -> object:
        owner.execute("ALTER TABLE news ENABLE ROW LEVEL SECURITY; ALTER TABLE news FORCE ROW LEVEL SECURITY")
        return found(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(outbox, "notes", forced)
    done = following.sync(database, SilentProgress(), lambda: False)
    assert "NO FORCE ROW LEVEL SECURITY" in str(done.problems)
    assert amount(database) == 3


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "case", ["triggers were off", "there are no triggers", "a view has another condition"]
)
def test_most_articles_are_kept_where_a_comparison_finds_no_rows_until_that_is_allowed(
    database: Database, owner: Owner, dedup: Dedup, case: str
) -> None:
    news(owner)
    fill(owner)
    view = case.startswith("a view")
    name = "shown" if view else "news"
    if view:
        owner.execute("CREATE VIEW shown AS SELECT * FROM news")
        attach(database, "shown")
    else:
        attach(database, triggers=case.startswith("triggers"))
    settle(database)
    few = MANY // 2 - 1
    if view:
        owner.execute(f"CREATE OR REPLACE VIEW shown AS SELECT * FROM news WHERE id <= {few}".encode())
    else:
        unnoted(owner, f"DELETE FROM news WHERE id > {few}")
    named = f"{MANY - few} of its {MANY} articles have no row any more"
    step = f"`dedup sync {name} --allow-deletes`"
    synced = dedup("sync", name)
    assert synced.code != 0
    assert named in synced.err
    assert step in synced.err
    for _ in range(2):
        settled = dedup("backfill", "--workers", "0")
        assert settled.code == 1
        assert named in settled.err
        assert amount(database) == MANY
    assert dedup("status", "--check").code == 1
    assert named in str(deduplicator(database).attachments.drift())
    assert named in str(deduplicator(database).verify().differences)
    assert dedup("sync", name, "--allow-deletes").code == 0
    assert dedup("backfill", "--workers", "0").code == 0
    assert len(right(database).marks) == few
    assert deduplicator(database).attachments.drift() == []


def test_a_trigger_that_cannot_read_its_table_allows_no_loss(database: Database, owner: Owner) -> None:
    news(owner)
    fill(owner)
    attach(database)
    settle(database)
    owner.execute("ALTER TABLE news RENAME COLUMN id TO number")
    owner.execute("UPDATE news SET body = body || ' More.' WHERE number = 1")
    unnoted(owner, "DELETE FROM news WHERE number > 3")
    deduplicator(database).attachments.remap("news")
    assert "allow-deletes" in str(settle(database).problems)
    assert amount(database) == MANY


def test_rows_that_came_back_need_nobody(database: Database, owner: Owner) -> None:
    news(owner)
    fill(owner)
    attach(database, triggers=False)
    settle(database)
    owner.execute("CREATE TABLE kept AS TABLE news; DELETE FROM news")
    with pytest.raises(DatabaseError, match="allow-deletes"):
        deduplicator(database).attachments.sync()
    assert settle(database).problems
    owner.execute("INSERT INTO news SELECT * FROM kept")
    assert settle(database).problems == []
    assert len(right(database).marks) == MANY


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statement", ["TRUNCATE news", "DELETE FROM news"])
@pytest.mark.parametrize("loaded", [0, 3])
def test_what_an_owner_deletes_before_the_triggers_is_followed(
    database: Database, owner: Owner, statement: str, loaded: int
) -> None:
    news(owner)
    fill(owner)
    attach(database)
    settle(database)
    with owner.transaction():
        owner.execute(statement.encode())
        fill(owner, loaded, 100)
    # Disable the triggers for a moment: now the backfill compares the whole table.
    unnoted(owner, "SELECT")
    assert settle(database).problems == []
    assert len(right(database).marks) == loaded


def test_allowed_deletes_are_followed_beside_a_note_of_the_whole_table(
    database: Database, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "NOTES", 7)
    monkeypatch.setattr(comparing, "PAGE", 7)
    monkeypatch.setattr(outbox, "KEYS_PER_NOTE", 3)
    news(owner)
    fill(owner)
    attach(database)
    settle(database)
    unnoted(owner, "DELETE FROM news WHERE id > 2")
    assert deduplicator(database).attachments.sync(allow_deletes=True) == MANY - 2
    assert settle(database).problems == []
    assert len(right(database).marks) == 2


@pytest.mark.long("dedup", "migrations")
@given(present=st.integers(1, 50), gone=st.integers(0, 50), come=st.integers(0, 30), page=st.integers(1, 60))
@hypothesis_settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_comparison_deletes_only_few_articles_or_at_most_half(
    database: Database, owner: Owner, present: int, gone: int, come: int, page: int
) -> None:
    gone = min(gone, present)
    owner.execute("DROP TABLE IF EXISTS news")
    news(owner)
    fill(owner, present)
    attach(database, triggers=False)
    settle(database)
    owner.execute("DELETE FROM news WHERE id <= %s", [gone])
    fill(owner, come, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "PAGE", page)
        if gone > comparing.FEW_GONE and 2 * gone > present:
            with pytest.raises(DatabaseError, match=f"{gone} of its {present} articles"):
                deduplicator(database).attachments.sync()
            assert len(settle(database).problems) == 1
            assert amount(database) == present
        else:
            assert deduplicator(database).attachments.sync() == gone + come
            assert len(right(database).marks) == present - gone + come
    deduplicator(database).attachments.detach("news")


# --- two rows with the same id


def twice(database: Database, owner: Owner) -> None:
    """Attach a view of three rows. Later two of its rows have the same id."""
    news(owner)
    fill(owner, 3)
    owner.execute("CREATE TABLE outlets AS SELECT 1 AS id")
    owner.execute("CREATE VIEW shown AS SELECT news.* FROM news CROSS JOIN outlets")
    attach(database, "shown", every=15)
    settle(database)
    owner.execute("INSERT INTO outlets VALUES (2)")
    owner.execute("UPDATE dedup.attachment SET synced_at = now() - interval '16 minutes'")


@pytest.mark.long("dedup", "migrations")
def test_two_rows_with_one_id_are_named_until_they_are_gone(
    database: Database, owner: Owner, dedup: Dedup
) -> None:
    twice(database, owner)
    named = "several rows have the id 1"
    for _ in range(3):
        settled = dedup("backfill", "--workers", "0")
        assert settled.code == 1
        assert named in settled.err
        checked = dedup("status", "--check")
        assert checked.code == 1
        assert named in checked.out + checked.err
        listed = dedup("attachments")
        assert named in listed.out + listed.err
    assert named in str(deduplicator(database).verify().differences)
    owner.execute("DELETE FROM outlets WHERE id = 2")
    assert dedup("backfill", "--workers", "0").code == 0
    assert deduplicator(database).attachments.drift() == []
    assert len(right(database).marks) == 3


@pytest.mark.long("dedup", "migrations")
def test_a_worker_names_two_rows_with_one_id_and_rests_before_it_looks_again(
    database: Database, owner: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    twice(database, owner)
    for _ in range(2):  # the second worker starts before the table is due again
        caplog.clear()
        with working(database.url):
            wait_until(lambda: "several rows" in caplog.text)
    with database.transaction() as cursor:
        assert not waiting.find_waiting(cursor), "the table is not compared again every second"
    owner.execute("DELETE FROM outlets WHERE id = 2")
    assert deduplicator(database).attachments.sync() == 0
    assert deduplicator(database).attachments.drift() == []


def test_looks_that_fail_leave_no_more_notes_each_time(
    database: Database, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "PAGE", 2)
    twice(database, owner)
    owner.execute("DELETE FROM outlets; INSERT INTO outlets VALUES (1)")
    owner.execute("CREATE OR REPLACE VIEW shown AS TABLE news UNION ALL SELECT * FROM news WHERE id = 3")
    owner.execute("UPDATE news SET body = body || ' More.'")

    def notes() -> list[tuple[object, ...]]:
        return owner.execute("SELECT amount, source_ids FROM dedup.outbox").fetchall()

    for _ in range(3):
        assert "several rows" in str(settle(database).problems)
        assert notes() == [(1, [])], "the only note is to compare the whole table"
