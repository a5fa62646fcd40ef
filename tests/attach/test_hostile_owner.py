"""A hostile owner of an attached table uses every place where Postgres runs an owner's code.

The payload notes the role that runs it, tries to become superuser, and tries to copy others' data. Functions
of views, triggers, casts, operators, index expressions, row security and so on call the payload while
other roles settle. The payload must run only as the owner, and only in sessions of the owner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.api.deduplicator import Deduplicator
from dedup.api.operation import Operation
from dedup.base.errors import DedupError, InputError
from dedup.db.database import Database
from tests.attach.owners import copied, make_template
from tests.conftest import Server
from tests.corpora import article, assert_right, load, text, window

pytestmark = pytest.mark.timeout(300)

OWNER, WORKER, READER = (f"dedup_{kind}_{os.getpid()}" for kind in ("hostile", "night", "reads"))
SECRET = "embargoed words of another newsroom"

PAYLOAD = f"""
CREATE FUNCTION cms.payload() RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text := '';
BEGIN
    BEGIN SELECT string_agg(text, ' ') INTO found FROM dedup.article; EXCEPTION WHEN OTHERS THEN END;
    BEGIN
        SELECT coalesce(found, '') || string_agg(text, ' ') INTO found FROM dedup.article_text;
    EXCEPTION WHEN OTHERS THEN END;
    BEGIN
        INSERT INTO public.loot VALUES (current_user, session_user, coalesce(found, ''));
    EXCEPTION WHEN OTHERS THEN END;
    BEGIN EXECUTE 'SET ROLE NONE'; EXCEPTION WHEN OTHERS THEN END;
    BEGIN EXECUTE 'ALTER ROLE {OWNER} SUPERUSER'; EXCEPTION WHEN OTHERS THEN END;
    BEGIN
        EXECUTE 'DEALLOCATE ALL';
        FOR i IN 0..40 LOOP
            EXECUTE format('PREPARE %I AS SELECT cms.payload()', '_pg3_' || i);
        END LOOP;
    EXCEPTION WHEN OTHERS THEN END;
    BEGIN EXECUTE 'SET search_path = cms, pg_catalog'; EXCEPTION WHEN OTHERS THEN END;
    BEGIN EXECUTE 'SET statement_timeout = 0'; EXCEPTION WHEN OTHERS THEN END;
    RETURN '';
END $$;
CREATE FUNCTION cms.fixed(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM cms.payload(); RETURN $1; END $$;
CREATE FUNCTION cms.holds(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM cms.payload(); RETURN true; END $$;
CREATE FUNCTION cms.fires() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM cms.payload(); RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END $$;
CREATE FUNCTION cms.equals(text, text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN PERFORM cms.payload(); RETURN $1 OPERATOR(pg_catalog.=) $2; END $$;
CREATE OPERATOR cms.= (LEFTARG = text, RIGHTARG = text, FUNCTION = cms.equals);
CREATE FUNCTION cms.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS
    $$ BEGIN PERFORM cms.payload(); RETURN QUERY SELECT pg_catalog.unnest($1); END $$;
CREATE TYPE cms.mood AS ENUM ('a', 'b');
CREATE FUNCTION cms.told(cms.mood) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN PERFORM cms.payload(); RETURN 'a'; END $$;
CREATE CAST (cms.mood AS text) WITH FUNCTION cms.told(cms.mood) AS IMPLICIT;
CREATE DOMAIN cms.word AS text CHECK (cms.holds(VALUE));
"""

ALTERED = ("SECURITY INVOKER", "SET search_path = cms, pg_catalog", "RESET ALL")

HOOKS: dict[str, str] = {
    **{f"functions {how}": f"ALTERED {how}" for how in ALTERED},
    "trigger before": "CREATE TRIGGER h1 BEFORE UPDATE ON cms.a FOR EACH ROW EXECUTE FUNCTION cms.fires()",
    "trigger after": "CREATE TRIGGER h2 AFTER UPDATE OR INSERT ON cms.a FOR EACH ROW"
    " EXECUTE FUNCTION cms.fires(); ALTER TABLE cms.a ENABLE ALWAYS TRIGGER h2",
    "trigger of a statement": "CREATE TRIGGER h3 BEFORE UPDATE ON cms.a EXECUTE FUNCTION cms.fires()",
    "deferred trigger": "CREATE CONSTRAINT TRIGGER h4 AFTER UPDATE ON cms.a DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW EXECUTE FUNCTION cms.fires()",
    "index expression": "CREATE INDEX h5 ON cms.a ((id + cms.fixed(1)))",
    "index predicate": "CREATE INDEX h6 ON cms.a (id) WHERE cms.holds('x')",
    "check constraint": "ALTER TABLE cms.a ADD CONSTRAINT h7 CHECK (cms.holds(body)) NOT VALID",
    "default": "ALTER TABLE cms.a ALTER headline SET DEFAULT cms.payload()",
    "generated column": "ALTER TABLE cms.a ADD COLUMN h8 integer GENERATED ALWAYS AS (cms.fixed(1)) STORED",
    "rule": "CREATE RULE h9 AS ON UPDATE TO cms.a DO ALSO SELECT cms.payload()",
    "row security": "ALTER TABLE cms.a ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
    " CREATE POLICY h10 ON cms.a USING (cms.holds(body)) WITH CHECK (cms.holds(body))",
    "domain": "ALTER TABLE cms.a ALTER body TYPE cms.word",
    "view": "CREATE OR REPLACE VIEW cms.v AS SELECT id, body || cms.payload() AS body, headline FROM cms.a",
    "view of a function": "CREATE OR REPLACE VIEW cms.v AS SELECT id, body, headline FROM cms.a"
    " WHERE cms.holds(body)",
    "cascade": "CREATE TABLE cms.b (id bigint PRIMARY KEY, s text); CREATE TRIGGER h11 AFTER INSERT ON cms.b"
    " FOR EACH ROW EXECUTE FUNCTION cms.fires(); CREATE FUNCTION cms.more() RETURNS trigger LANGUAGE plpgsql"
    " SECURITY DEFINER AS $$ BEGIN INSERT INTO cms.b VALUES (NEW.id, '') ON CONFLICT DO NOTHING;"
    " RETURN NEW; END $$; CREATE TRIGGER h12 AFTER UPDATE ON cms.a FOR EACH ROW EXECUTE FUNCTION cms.more()",
}
"""Statements by the place in which Postgres runs an owner's code. `ALTERED …` alters each function that dedup
has made for the owner."""


def as_role(url: str, role: str) -> str:
    parts: dict[str, Any] = {**conninfo_to_dict(url), "user": role}
    parts.pop("password", None)
    return make_conninfo(**parts)


@contextmanager
def made_roles(url: str) -> Iterator[None]:
    with psycopg.connect(url, autocommit=True) as connection:
        for role in (OWNER, WORKER, READER):
            connection.execute(f"CREATE ROLE {role} LOGIN".encode())
    try:
        yield
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            for role in (OWNER, WORKER, READER):
                connection.execute(f"DROP ROLE {role}".encode())


@pytest.fixture(scope="module")
def corpora(server: Server) -> Iterator[str]:
    """Yield the name of a database with the schema. The module's roles are dropped after its last test."""
    name = make_template(server)
    with made_roles(server.create("dedup_hostile_roles")):
        yield name
    server.drop("dedup_hostile_roles")


@contextmanager
def corpus(server: Server, template: str, kind: str) -> Iterator[tuple[Database, psycopg.Connection[Any]]]:
    """Yield a corpus and a connection of the hostile owner. The corpus has an article of another newsroom and
    the attached table of the owner."""
    with copied(server, template, "dedup_hostile") as database:
        try:
            with psycopg.connect(database.url, autocommit=True) as root:
                root.execute(f"CREATE SCHEMA cms AUTHORIZATION {OWNER}".encode())
                root.execute(b"CREATE TABLE public.loot (runs_as text, logged_in_as text, text text)")
                root.execute(b"GRANT INSERT ON public.loot TO PUBLIC")
            load(database, article("secret", window(40, 6), 0, title=SECRET))
            with closing(psycopg.connect(as_role(database.url, OWNER), autocommit=True)) as owner:
                parts = " PARTITION BY RANGE (id)" if kind == "partitioned" else ""
                owner.execute(
                    "CREATE TABLE cms.a (id bigint PRIMARY KEY, body text, headline text, mood text"
                    f"){parts}".encode()
                )
                if parts:
                    owner.execute(b"CREATE TABLE cms.a1 PARTITION OF cms.a FOR VALUES FROM (0) TO (1000)")
                owner.execute(PAYLOAD.encode())
                for key, codes in ((1, window(0, 6)), (2, window(1, 6)), (3, window(20, 6))):
                    owner.execute("INSERT INTO cms.a VALUES (%s, %s, 'one')", [key, text(codes)])
                owner.execute(b"CREATE VIEW cms.v AS SELECT id, body, headline FROM cms.a")
                with Deduplicator(database.url) as dd:
                    columns = {"text": "body", "title": "headline"}
                    dd.attachments.attach(
                        "cms.v" if kind == "view" else "cms.a",
                        keys=["id"],
                        columns=columns,
                        mark_columns=kind != "view",
                        name="theirs",
                    )
                with Operation(database.url) as operation:
                    operation.grant(worker=[WORKER], reader=[READER])
                yield database, owner
        finally:
            with psycopg.connect(database.url, autocommit=True) as root:
                for role in (OWNER, WORKER, READER):
                    root.execute(f"DROP OWNED BY {role} CASCADE".encode())


def hook(owner: psycopg.Connection[Any], statements: str) -> None:
    """Run statements of `HOOKS`, which make Postgres run the payload. Ignore refusals by Postgres."""
    with suppress(psycopg.Error):
        if not statements.startswith("ALTERED"):
            owner.execute(statements.encode())
            return
    for (function,) in owner.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner"
        " WHERE r.rolname = current_user AND p.proname ~ '^attached_'"
    ).fetchall():
        with suppress(psycopg.Error):
            owner.execute(f"ALTER FUNCTION {function} {statements.removeprefix('ALTERED')}".encode())


def used(database: Database, url: str) -> None:
    """Call every function that touches attached tables as one role, and ignore errors of dedup."""
    with Deduplicator(url) as dd:
        for work in (
            lambda: dd.backfill(workers=0),
            dd.attachments.sync,
            lambda: dd.attachments.sync(whole=True),
            lambda: dd.backfill(workers=0),
            dd.verify,
            dd.attachments.drift,
            lambda: dd.explain("theirs/1", "theirs/2"),
            lambda: dd.get("theirs/1"),
            lambda: dd.newest(5),
            lambda: list(dd.marks()),
        ):
            with suppress(DedupError):
                work()


def caught(database: Database) -> list[Any]:
    """Return traces of code that ran with other rights than the owner's, or that read others' data."""
    with psycopg.connect(database.url, autocommit=True) as root:
        found = root.execute(
            "SELECT * FROM public.loot WHERE runs_as <> %s OR logged_in_as <> %s OR text <> ''",
            [OWNER, OWNER],
        ).fetchall()
        row = root.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", [OWNER]).fetchone()
    return [*found, *(["superuser"] if row and row[0] else [])]


def touched(owner: psycopg.Connection[Any]) -> None:
    """Change rows, so that there are changes to read and marks to write."""
    with suppress(psycopg.Error):
        owner.execute("UPDATE cms.a SET body = %s WHERE id = 3", [text(window(2, 6))])
    with suppress(psycopg.Error):
        owner.execute("INSERT INTO cms.a (id, body) VALUES (9, %s)", [text(window(0, 6))])


@pytest.mark.long("dedup/attach", "migrations")
@pytest.mark.parametrize("kind", ["table", "view", "partitioned"])
def test_no_hook_of_an_owner_runs_with_the_rights_of_another(server: Server, corpora: str, kind: str) -> None:
    for name, statements in HOOKS.items():
        with corpus(server, corpora, kind) as (database, owner):
            used(database, database.url)
            hook(owner, statements)
            touched(owner)
            used(database, as_role(database.url, WORKER))
            used(database, database.url)
            with Deduplicator(as_role(database.url, READER)) as dd:
                assert dd.get("secret")
                with suppress(DedupError):
                    dd.get("theirs/1")
            assert caught(database) == [], name


@pytest.mark.long("dedup", "migrations")
def test_marks_arrive_and_texts_are_read_in_sessions_of_the_owner(server: Server, corpora: str) -> None:
    with corpus(server, corpora, "table") as (database, owner):
        for role in (WORKER, None):
            url = as_role(database.url, role) if role else database.url
            touched(owner)
            with Deduplicator(url) as dd:
                dd.backfill(workers=0)
                assert dd.attachments.drift() == []
        assert_right(database)
        marks = "SELECT id, {} FROM {} ORDER BY id"
        written = owner.execute(marks.format("dedup_status, dedup_duplicate_of", "cms.a").encode()).fetchall()
        with psycopg.connect(database.url) as root:
            view = root.execute(marks.format("status, duplicate_of", "dedup.theirs_marks").encode())
            assert written == view.fetchall()
        assert {"duplicate"} <= {row[1] for row in written} <= {"duplicate", "similar", "unique"}
        with Deduplicator(as_role(database.url, READER)) as dd:
            found = dd.get("theirs/1")
        assert found
        assert found.article.text == text(window(0, 6))
        owner.execute(b"DELETE FROM cms.a WHERE id = 2")
        with Deduplicator(database.url) as dd:
            dd.backfill(workers=0)
            assert dd.get("theirs/2") is None
            assert dd.verify().differences == []
            dd.attachments.detach("theirs")
        assert owner.execute(b"SELECT count(*) FROM cms.a").fetchone() == (3,)


@pytest.mark.long("dedup", "migrations")
def test_without_a_session_of_the_owner_it_is_refused_with_the_next_step(
    server: Server, corpora: str
) -> None:
    with (
        corpus(server, corpora, "table") as (database, owner),
        psycopg.connect(database.url, autocommit=True) as root,
    ):
        root.execute(f"ALTER ROLE {OWNER} NOLOGIN".encode())
        try:
            touched(owner)
            with Deduplicator(database.url) as dd:
                problems = dd.backfill(workers=0).problems
                assert all("no session can be opened as" in problem for problem in problems)
                assert problems
                assert dd.attachments.drift() == problems[:1]  # `status --check` prints the same message
                with pytest.raises(InputError, match="give libpq a login for that role"):
                    dd.attachments.attach("cms.a", keys=["id"], columns={"text": "body"}, name="again")
        finally:
            root.execute(f"ALTER ROLE {OWNER} LOGIN".encode())
        with Deduplicator(database.url) as dd:
            assert dd.backfill(workers=0).problems == []
            assert dd.attachments.drift() == []
        assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_a_table_given_to_another_role_is_left_alone_until_it_is_mapped(server: Server, corpora: str) -> None:
    with copied(server, corpora, "dedup_hostile") as database:
        try:
            with psycopg.connect(database.url, autocommit=True) as root:
                root.execute(f"CREATE SCHEMA cms AUTHORIZATION {OWNER}".encode())
                root.execute(b"CREATE TABLE public.loot (runs_as text, logged_in_as text, text text)")
                root.execute(b"GRANT INSERT ON public.loot TO PUBLIC")
                root.execute(b"CREATE TABLE cms.a (id bigint PRIMARY KEY, body text, headline text)")
                root.execute("INSERT INTO cms.a VALUES (1, %s), (2, %s)", [text(window(0, 6))] * 2)
                with Deduplicator(database.url) as dd:
                    dd.attachments.attach("cms.a", keys=["id"], columns={"text": "body"}, name="theirs")
                    dd.backfill(workers=0)
                    root.execute(f"ALTER TABLE cms.a OWNER TO {OWNER}".encode())
                    with closing(psycopg.connect(as_role(database.url, OWNER), autocommit=True)) as owner:
                        owner.execute(PAYLOAD.encode())
                        for statements in HOOKS.values():
                            hook(owner, statements)
                        touched(owner)
                    used(database, database.url)
                    assert any("dedup remap theirs" in line for line in dd.attachments.drift())
                    assert caught(database) == []
                    root.execute(b"SELECT text FROM dedup.article_text")
                    assert caught(database) == []
        finally:
            with psycopg.connect(database.url, autocommit=True) as root:
                root.execute(f"DROP OWNED BY {OWNER} CASCADE".encode())


STRANGE_VIEWS = {
    "table": "SELECT id, body, headline FROM cms.a",
    "function": "SELECT id, body || cms.payload() AS body, headline FROM public.plain",
    "operator": "SELECT id, body, headline FROM public.plain WHERE body OPERATOR(cms.=) body",
    "domain": "SELECT id, body::cms.word AS body, headline FROM public.plain",
    "view": "SELECT id, body, headline FROM cms.v",
    "child": "SELECT id, body, headline FROM public.parent",
}
"""Views that run code of an untrusted role, or that read a table of an untrusted role."""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("of", sorted(STRANGE_VIEWS))
def test_a_trusted_view_over_what_belongs_to_others_is_refused(server: Server, corpora: str, of: str) -> None:
    query = STRANGE_VIEWS[of]
    with (
        corpus(server, corpora, "view") as (database, owner),
        psycopg.connect(database.url, autocommit=True) as root,
        Deduplicator(database.url) as dd,
    ):
        root.execute(b"CREATE TABLE public.plain (id bigint PRIMARY KEY, body text, headline text)")
        root.execute("INSERT INTO public.plain VALUES (1, %s, 'one')", [text(window(0, 6))])
        root.execute(b"CREATE TABLE public.parent (LIKE public.plain)")
        if of == "child":
            owner.execute(b"CREATE TABLE cms.child (id bigint NOT NULL, body text, headline text)")
            root.execute(b"ALTER TABLE cms.child INHERIT public.parent")
        mapping: dict[str, Any] = {"keys": ["id"], "columns": {"text": "body", "title": "headline"}}
        root.execute(f"CREATE VIEW public.ours AS {query}".encode())
        with pytest.raises(InputError, match=f"would run code of {OWNER}, which has fewer"):
            dd.attachments.attach("public.ours", **mapping)
        # Define a view harmlessly, attach it, and then replace its query.
        root.execute(b"CREATE VIEW public.plainly AS SELECT id, body, headline FROM public.plain")
        dd.attachments.attach("public.plainly", **mapping, name="plainly")
        dd.backfill(workers=0)
        changed = query.replace("body::cms.word AS body", "(body::cms.word)::text AS body")
        root.execute(f"CREATE OR REPLACE VIEW public.plainly AS {changed}".encode())
        root.execute("UPDATE public.plain SET body = %s", [text(window(3, 6))])
        for url in (as_role(database.url, WORKER), database.url):
            used(database, url)
        assert any(f"plainly: {OWNER} has fewer rights" in line for line in dd.attachments.drift())
        with Deduplicator(as_role(database.url, READER)) as reader, suppress(DedupError):
            reader.get("plainly/1")
        root.execute(b"SELECT text FROM dedup.article_text")
        assert caught(database) == []


@pytest.mark.long("dedup", "migrations")
def test_functions_of_a_former_owner_run_for_nobody(server: Server, corpora: str) -> None:
    with (
        corpus(server, corpora, "table") as (database, owner),
        psycopg.connect(database.url, autocommit=True) as root,
    ):
        used(database, database.url)
        for how in ALTERED:
            hook(owner, f"ALTERED {how}")
        replaced = "CREATE OR REPLACE FUNCTION dedup.attached_1_text(text) RETURNS text LANGUAGE plpgsql AS"
        with suppress(psycopg.Error):
            owner.execute(f"{replaced} $$ BEGIN RETURN cms.payload(); END $$".encode())
        touched(owner)
        for role in ("CURRENT_USER", READER):
            root.execute(f"ALTER TABLE cms.a OWNER TO {role}".encode())
            # Imitate a restore, or a person who edits dedup's record of the owner.
            root.execute(b"UPDATE dedup.attachment SET copied = %s", [role == READER])
            root.execute(b"SELECT text FROM dedup.article_text")
            for url in (as_role(database.url, WORKER), database.url):
                used(database, url)
        assert caught(database) == []
        root.execute(f"ALTER TABLE cms.a OWNER TO {OWNER}".encode())


@pytest.mark.long("dedup", "migrations")
def test_an_owner_notes_changes_of_its_own_table_only(server: Server, corpora: str) -> None:
    with corpus(server, corpora, "table") as (database, owner):
        insert = b"INSERT INTO dedup.outbox (attachment_id, amount, source_ids) VALUES (%s, %s, %s)"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute(insert, [2, 1, ["theirs/1"]])
        owner.execute(insert, [1, -5, ["theirs/1"] * 5_000])
        owner.execute(insert, [1, 1, []])
        with psycopg.connect(database.url) as root:
            noted = root.execute(b"SELECT amount, source_ids FROM dedup.outbox ORDER BY id DESC LIMIT 2")
            assert noted.fetchall() == [(1, []), (1, [])]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute(b"SELECT * FROM dedup.outbox")


@pytest.mark.torture
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_order_of_hooks_and_commands(server: Server, corpora: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["table", "view", "partitioned"]))
    with corpus(server, corpora, kind) as (database, owner):
        for _ in range(data.draw(st.integers(2, 6))):
            step = data.draw(st.sampled_from([*HOOKS, "used", "worker", "touched", "remap"]))
            if step in HOOKS:
                hook(owner, HOOKS[step])
            elif step == "touched":
                touched(owner)
            elif step == "remap":
                with Deduplicator(database.url) as dd, suppress(DedupError):
                    dd.attachments.remap("theirs")
            else:
                used(database, database.url if step == "used" else as_role(database.url, WORKER))
        used(database, database.url)
        assert caught(database) == []
