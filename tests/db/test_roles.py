"""Least privilege: the rights of each kind of role, and the commands that it may run.

`test_reader.py` tests the queries that pages make as a reader.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypedDict

import psycopg
import pytest
import typer
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.api.deduplicator import Deduplicator
from dedup.api.operation import Operation
from dedup.base.errors import InputError, RightsError
from dedup.cli import main, rights
from dedup.db import roles
from dedup.db.database import URL_VARIABLE, Database
from dedup.settling.backfill import backfill
from tests.corpora import article, assert_right, at, code, load, make_function, text, window
from tests.replica import journal

GOLDEN = Path(__file__).parent / "rights.txt"
REWRITE = "DEDUP_REWRITE_RIGHTS=1 .venv/bin/python -m pytest tests/db/test_roles.py -k matrix"

Names = dict[str, str]


class Grants(TypedDict, total=False):
    """Names of the database roles that get the rights of each kind."""

    worker: list[str]
    scraper: list[str]
    analyst: list[str]
    counter: list[str]
    reader: list[str]


def only(kind: roles.Role, name: str) -> Grants:
    found: Grants = {}
    found[kind] = [name]
    return found


def each_role(names: Names) -> Grants:
    found: Grants = {}
    for role in roles.ROLES:
        found[role] = [names[role]]
    return found


@contextmanager
def made_roles(url: str, kinds: Iterable[str]) -> Iterator[Names]:
    """Make roles that may log in and have no rights yet; yield their names by purpose."""
    made = {kind: f"dedup_{kind}_{os.getpid()}" for kind in kinds}
    with psycopg.connect(url, autocommit=True) as owner:
        for name in made.values():
            owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    try:
        yield made
    finally:
        with psycopg.connect(url, autocommit=True) as owner:
            for name in made.values():
                owner.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
                owner.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def names(database: Database) -> Iterator[Names]:
    """Yield a role for each kind of rights, and a role without rights."""
    with made_roles(database.url, (*roles.ROLES, "stranger")) as made:
        yield made


@pytest.fixture
def granted(database: Database, names: Names) -> Names:
    """Give the roles their rights, and return their names."""
    with Operation(database.url) as owner:
        owner.grant(**each_role(names))
    return names


def url_of(database: Database | str, name: str) -> str:
    """Return the address of a database for a role; skip the test if the role cannot log in."""
    url = database if isinstance(database, str) else database.url
    url = make_conninfo(url, user=name, password="")
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        pytest.skip("this server does not let a new role in")
    return url


MATRIX = """
    SELECT r.rolname, c.kind || ' ' || c.name, c.privilege FROM (
        SELECT 'schema' AS kind, nspname::text AS name, (a).grantee AS role, (a).privilege_type AS privilege
        FROM (SELECT nspname, aclexplode(nspacl) AS a FROM pg_namespace
              WHERE oid = 'dedup'::regnamespace) AS n
        UNION ALL
        SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END, relname,
               (a).grantee, (a).privilege_type
        FROM (SELECT relname, relkind, aclexplode(relacl) AS a FROM pg_class
              WHERE relnamespace = 'dedup'::regnamespace) AS t
        UNION ALL
        SELECT 'column', relname || '.' || attname, (a).grantee, (a).privilege_type
        FROM (SELECT relname, attname, aclexplode(attacl) AS a FROM pg_attribute
              JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'dedup'::regnamespace) AS t
        UNION ALL
        SELECT 'function', proname, (a).grantee, (a).privilege_type
        FROM (SELECT proname, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS a FROM pg_proc
              WHERE pronamespace = 'dedup'::regnamespace) AS f
    ) AS c JOIN pg_roles r ON r.oid = c.role WHERE r.rolname = ANY (%s)
"""


def matrix(database: Database, names: Names) -> list[str]:
    """Return the matrix of rights: role, object and privileges, one line each."""
    known = {name: role for role, name in names.items()}
    found: dict[tuple[str, str], set[str]] = {}
    with database.transaction() as cursor:
        for name, thing, privilege in cursor.execute(MATRIX, [list(known)]).fetchall():
            found.setdefault((known[name], thing), set()).add(privilege)
    return [
        f"{role:8} {thing}: {' '.join(sorted(rights))}" for (role, thing), rights in sorted(found.items())
    ]


def test_the_matrix_of_rights_is_the_one_described(database: Database, granted: Names) -> None:
    found = matrix(database, granted)
    if os.environ.get("DEDUP_REWRITE_RIGHTS"):
        GOLDEN.write_text("\n".join(found) + "\n", "utf-8")
    wanted = GOLDEN.read_text("utf-8").splitlines()
    changes = [line for line in difflib.ndiff(wanted, found) if line[0] in "+-"]
    assert not changes, "\n".join([*changes, f"if that is meant: {REWRITE}"])


def test_the_analyst_reads_views_and_marks_and_nothing_else(database: Database, granted: Names) -> None:
    lines = [line.split(maxsplit=1)[1] for line in matrix(database, granted) if line.startswith("analyst")]
    assert {line for line in lines if not line.startswith("view ")} == {
        "schema dedup: USAGE",
        "table article_mark: SELECT",  # finds copies by the index of `duplicate_of`, which no view can use
        # for monitors
        *(f"table {name}: SELECT" for name in ("attachment", "mark_change", "run", "run_total", "worker")),
        *(f"column article.{name}: SELECT" for name in ("id", "added_at")),
        *(f"column outbox.{name}: SELECT" for name in ("id", "amount", "noted_at")),
        "column deferred_article.source_id: SELECT",
        *(f"function {name}: EXECUTE" for name in ("role_is_trusted", "strangers")),
        *(f"table {name}: SELECT" for name in ("journal", "journal_mark", "journal_deleted")),
        *(f"table {name}: SELECT" for name in ("outlet", "word_count")),
        *(f"function {name}: EXECUTE" for name in ("changes", "journal_triggers")),
        *(f"function {name}: EXECUTE" for name in ("origins", "independent_origins")),
        "function text_hash: EXECUTE",  # views call these two functions with the rights of their reader
        "function attached_text: EXECUTE",
    }
    assert {line.partition(": ")[2] for line in lines if line.startswith("view ")} == {"SELECT"}


def test_a_reader_writes_nothing(database: Database, granted: Names) -> None:
    lines = [line.split(maxsplit=1)[1] for line in matrix(database, granted) if line.startswith("reader")]
    kinds = {(line.partition(" ")[0], line.partition(": ")[2]) for line in lines}
    read = {(kind, "SELECT") for kind in ("table", "column", "view")}
    assert kinds == {("schema", "USAGE"), ("function", "EXECUTE"), *read}
    called = [line.partition(": ")[0].partition(" ")[2] for line in lines if line.startswith("function")]
    with database.transaction() as cursor:
        writing = cursor.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace AND proname = ANY (%s)"
            " AND (provolatile = 'v' OR prosecdef AND proname <> 'attached_text')",  # it only reads a text
            [called],
        ).fetchall()
    assert writing == []


def test_a_scraper_reads_no_text_and_writes_no_mark(database: Database, granted: Names) -> None:
    lines = [line.split(maxsplit=1)[1] for line in matrix(database, granted) if line.startswith("scraper")]
    texts = [line for line in lines if line.startswith("column ") and ".text:" in line]
    assert texts == ["column article.text: INSERT", "column deferred_article.text: INSERT"]
    written = {line for line in lines if "UPDATE" in line or "DELETE" in line or "TRUNCATE" in line}
    assert {line.partition(":")[0] for line in written} == {
        "table feed",
        "table feed_entry",
    }  # state that `watch` stored about feeds


def test_every_table_view_and_function_says_who_may_use_it(database: Database) -> None:
    with database.transaction() as cursor:
        tables = cursor.execute(
            "SELECT relname FROM pg_class"
            " WHERE relnamespace = 'dedup'::regnamespace AND relkind IN ('r', 'p')"
        ).fetchall()
        functions = cursor.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace"
            " AND prorettype <> 'trigger'::regtype"
        ).fetchall()
        views = cursor.execute(
            "SELECT relname FROM pg_class"
            " WHERE relnamespace = 'dedup'::regnamespace AND relkind IN ('v', 'm')"
        ).fetchall()
    for kind, rows in (("table", tables), ("view", views), ("function", functions)):
        assert {row[0] for row in rows} == {name for name in roles.RIGHTS[kind] if "*" not in name}


def test_tables_that_change_places_have_the_same_rights() -> None:
    assert roles.RIGHTS["table"]["fingerprint"] == roles.RIGHTS["table"]["fingerprint_bulk"]


def test_rights_name_kinds_of_role_only() -> None:
    """Check that each right names an existing kind of role: a misspelt one would give no right, unnoticed."""
    holders = {role for of in roles.RIGHTS.values() for given in of.values() for role in given}
    assert holders == {*roles.ROLES}


def test_grant_again_takes_what_is_no_longer_meant(database: Database, granted: Names) -> None:
    before = matrix(database, granted)
    with psycopg.connect(database.url) as owner:
        owner.execute(
            sql.SQL("GRANT SELECT ON dedup.article, dedup.setting TO {}").format(
                sql.Identifier(granted["analyst"])
            )
        )
    assert matrix(database, granted) != before
    with Operation(database.url) as owner_:
        owner_.grant(**each_role(granted))
    assert matrix(database, granted) == before


def test_one_role_may_be_for_two_things(database: Database, names: Names) -> None:
    with Operation(database.url) as owner:
        owner.grant(worker=[names["worker"]], scraper=[names["scraper"]])
        both = owner.grant(scraper=[names["stranger"]], analyst=[names["stranger"]], dry_run=True)
    assert len([line for line in both if line.startswith("REVOKE")]) == 4
    assert not any(line.endswith(f'"{names["stranger"]}";') for line in matrix(database, names))


def test_revoke_leaves_nothing(database: Database, granted: Names) -> None:
    with Operation(database.url) as owner:
        owner.grant(**each_role(granted), revoke=True)
    assert matrix(database, granted) == []


def test_dry_run_changes_nothing_and_prints_what_would_run(database: Database, names: Names) -> None:
    with Operation(database.url) as owner:
        printed = owner.grant(worker=[names["worker"]], analyst=[names["analyst"]], dry_run=True)
    assert matrix(database, names) == []
    with psycopg.connect(database.url) as connection:
        for line in printed:
            connection.execute(line.encode())
    by_hand = matrix(database, names)
    with Operation(database.url) as owner:
        owner.grant(worker=[names["worker"]], analyst=[names["analyst"]])
    assert matrix(database, names) == by_hand != []


def test_only_the_owner_gives_rights(database: Database, granted: Names) -> None:
    url = url_of(database, granted["worker"])
    before = matrix(database, granted)
    with Operation(url) as worker, pytest.raises(RightsError, match="connect as the owner"):
        worker.grant(analyst=[granted["analyst"]])
    with Operation(url) as worker, pytest.raises(RightsError):
        worker.uninstall()
    assert matrix(database, granted) == before


HOSTILE = ['weird "name', "select", "%s", "a; drop", "it's", "Ünïcode", "x" * 63, "{0}", "a.b", "public.x"]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_role_may_have_any_name(database: Database, name: str) -> None:
    role = sql.Identifier(name)
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE ROLE {}").format(role))
        try:
            for kind in roles.ROLES:
                with Operation(database.url) as operation:
                    operation.grant(**only(kind, name))
                found = matrix(database, {kind: name})
                prefix = f"{kind:8} "
                assert [prefix + line.split(maxsplit=1)[1] for line in found] == [
                    line for line in GOLDEN.read_text("utf-8").splitlines() if line.startswith(prefix)
                ]
            with Operation(database.url) as operation:
                operation.grant(analyst=[name], revoke=True)
            assert matrix(database, {"analyst": name}) == []
        finally:
            owner.execute(sql.SQL("DROP OWNED BY {}").format(role))
            owner.execute(sql.SQL("DROP ROLE {}").format(role))


REFUSED = {
    "x" * 64: "longer than 63 bytes",
    "ü" * 32: "longer than 63 bytes",
    "": "empty",
    "a\x00b": "NUL",
    "nobody_of_that_name": r'no role "nobody_of_that_name"; make it: CREATE ROLE "nobody_of_that_name"',
    'weird "name': r'no role "weird ""name"',
    "public": "no role",
    "%s": 'no role "%s"',
    "a; drop": "no role",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", roles.ROLES)
def test_a_name_that_is_no_role_is_refused(database: Database, name: str, kind: roles.Role) -> None:
    with Operation(database.url) as owner, pytest.raises(InputError, match=REFUSED[name]):
        owner.grant(**only(kind, name))


def test_a_long_name_is_not_the_role_that_it_would_be_cut_to(database: Database) -> None:
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier("y" * 63)))
        try:
            with Operation(database.url) as operation, pytest.raises(InputError):
                operation.grant(worker=["y" * 64])
            assert matrix(database, {"worker": "y" * 63}) == []
        finally:
            owner.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier("y" * 63)))


def test_the_owner_of_the_schema_keeps_its_rights(database: Database) -> None:
    with database.transaction() as cursor:
        row = cursor.execute("SELECT current_user").fetchone()
    assert row
    with Operation(database.url) as owner, pytest.raises(InputError, match="owns the schema"):
        owner.grant(analyst=[row[0]], revoke=True)


# Tests of the commands of each role.

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    """Return a function that runs a command as a role: `run("marks", role=name)`."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, role: str) -> tuple[int, str, str]:
        monkeypatch.setenv(URL_VARIABLE, url_of(database, role))
        capsys.readouterr()
        exit_code = main.run(list(arguments))
        shown = capsys.readouterr()
        return exit_code, shown.out, shown.err

    return call


@pytest.fixture
def settled(database: Database) -> Iterator[Database]:
    """Yield a settled corpus with duplicates, similar articles, a pin and a journal."""
    load(database, *(article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(8)))
    backfill(database, workers=0, factory=make_function)
    with Deduplicator(database.url) as dd:
        dd.pins.set("a1", "a6", "similar")
        dd.backfill(workers=0, engine="postgres")
    with journal(database):
        yield database


@pytest.mark.long("dedup", "migrations")
def test_a_worker_takes_up_the_result_of_a_cluster(
    database: Database, granted: Names, run: Run, tmp_path: Path
) -> None:
    results = pytest.importorskip("tests.extras.spark.results")
    given = [article(f"a{i}", window(i, 6), i, added_at=at(50)) for i in range(8)]
    load(database, *given)
    results.result_of(given).write(tmp_path / "result")
    for role in ("scraper", "analyst", "reader"):
        code_, _, said = run("import", "result", role=granted[role])
        assert code_ == 1, said
    code_, _, said = run("import", "result", role=granted["worker"])
    assert code_ == 0, said
    assert_right(database)


def line_of(source_id: str, start: int) -> str:
    return json.dumps({"id": source_id, "text": text([*window(start, 6), code(99)])}) + "\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write two files: a new article, and a new version of a stored article."""
    made = {}
    for name, source_id in (("new", "fresh"), ("edit", "a3")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(line_of(source_id, 5), "utf-8")
        made[name] = path.name
    return made


COUNTER = [
    *(["marks"], ["matches"], ["stories"], ["pin", "list"], ["runs"], ["db", "url"]),
    ["export", "stories", "news.sqlite"],
    ["changes"],
    ["metrics"],
    *(["origins"], ["outlets"], ["outlets", "export"], ["outlets", "propose"]),
]
ANALYST = [*COUNTER, ["common"], ["quotes"]]
SCRAPER = [
    ["check", "new.jsonl"],
    ["check", "edit.jsonl"],
    ["check", "--dry-run", "new.jsonl"],
    ["load", "new.jsonl"],
]
READER = [
    *ANALYST,
    ["show", "a1"],
    ["explain", "a1", "a2"],
    ["status"],
    ["settings"],
    ["attachments"],
    ["check", "--dry-run", "new.jsonl"],
    ["export", "corpus", "known"],
    ["report", "--story", "a1", "-o", "story.html"],
]
WORKER = [
    *ANALYST,
    *SCRAPER,
    ["load", "edit.jsonl"],
    ["backfill", "--workers", "0"],
    ["backfill", "--workers", "0", "--engine", "memory"],
    ["retry"],
    ["show", "a1"],
    ["explain", "a1", "a2"],
    ["status"],
    ["verify"],
    ["settings"],
    ["delete", "a1"],
    ["worker", "--once"],
    ["attachments"],
    ["sync"],
    ["prune", "--older-than", "2y", "--yes"],
    ["export", "corpus", "known"],
    ["report", "--story", "a1", "-o", "story.html"],
]
OWNER = [
    ["changes", "--start"],
    ["pin", "set", "a1", "a2", "similar"],
    ["common", "pin", "A sentence of some words.", "--always"],
    ["settings", "set", "bands=16"],
    ["outlets", "set", "Courier", "--family", "Roe"],
    ["uninstall", "--yes"],
]


def allowed(role: str) -> list[list[str]]:
    return {
        "worker": WORKER,
        "scraper": SCRAPER,
        "analyst": ANALYST,
        "counter": COUNTER,
        "reader": READER,
        "stranger": [],
    }[role]


EVERY = [*WORKER, *OWNER]
READS = [*READER, ["verify"]]
"""Commands that change nothing in the corpus."""
EVERYONE = (*roles.ROLES, "stranger")


def refused(role: str) -> list[list[str]]:
    """Return the commands that a role may not run."""
    without = [
        *allowed(role),
        ["db", "url"],
        *([["settings"]] if role == "scraper" else []),
        *([["sync"]] if role == "reader" else []),  # without an attached table `sync` writes nothing
    ]
    return [command for command in EVERY if command not in without]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("role", "command"),
    [(role, command) for role in EVERYONE for command in allowed(role) if command not in READS],
    ids=lambda v: v if isinstance(v, str) else " ".join(v),
)
def test_a_role_can_write_what_it_is_for(
    settled: Database, granted: Names, files: dict[str, str], run: Run, role: str, command: list[str]
) -> None:
    exit_code, _, err = run(*command, role=granted[role])
    assert exit_code == 0, err
    with Deduplicator(settled.url) as dd:
        dd.backfill(workers=0)
        assert dd.verify().right


@pytest.mark.extra("browse", "coverage", "frames", "spark")
@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("role", [role for role in EVERYONE if any(c in READS for c in allowed(role))])
def test_a_role_can_read_what_it_is_for(
    settled: Database, granted: Names, files: dict[str, str], run: Run, role: str
) -> None:
    for command in allowed(role):
        if command in READS and command != ["db", "url"]:
            exit_code, _, err = run(*command, role=granted[role])
            assert exit_code == 0, (command, err)
            with Deduplicator(settled.url) as dd:
                assert dd.preview().settle == 0, command
    with Deduplicator(settled.url) as dd:
        assert dd.verify().right


@pytest.mark.torture  # slow: runs every command that is refused to the role
@pytest.mark.parametrize("role", EVERYONE)
def test_a_role_can_do_nothing_else(
    settled: Database, granted: Names, files: dict[str, str], run: Run, role: str
) -> None:
    for command in refused(role):
        exit_code, _, err = run(*command, role=granted[role])
        assert exit_code == 1, command
        last = err.strip().splitlines()[-1]
        assert "connect as" in last or " run `dedup grant" in last, command
        with Deduplicator(settled.url) as dd:  # check that nothing happened
            assert dd.preview().settle == 0, command
            assert dd.get("a1") is not None, command


MORE = [
    *(
        ["versions", "a1"],
        ["credits"],
        ["agencies"],
        ["corrections"],
        ["sentences"],
        ["report", "-o", "r"],
    ),
    *(["common", "unpin", "99"], ["pin", "remove", "a1", "a2"], ["settings", "reset", "bands"]),
    *(["agencies", "Wire"], ["corrections", "Refile:"]),
    *(["removable"], ["export", "panel", "p.csv"], ["export", "network", "n.graphml"]),
    ["train-sentences", "en", "new.jsonl"],
]
"""Other commands that some roles may not run."""


@pytest.mark.extra("browse", "coverage", "frames", "spark")
@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("role", EVERYONE)
def test_a_refusal_names_who_may_and_the_grant_that_gives_it(
    settled: Database,
    granted: Names,
    files: dict[str, str],
    run: Run,
    role: roles.Role | Literal["stranger"],
    tmp_path: Path,
) -> None:
    name = granted[role]
    with settled.transaction() as cursor:
        row = cursor.execute("SELECT current_user").fetchone()
    assert row
    kind = {"analyst": ", an analyst,", "stranger": ""}.get(role, f", a {role},")
    own = [command for command in allowed(role) if command in READS and command != ["db", "url"]]
    ends = [["delete", "a1"], ["changes", "--stop", "--yes"], ["uninstall", "--yes"]]
    for command in [*(command for command in [*MORE, *refused(role)] if command not in ends), *ends[:-1]]:
        exit_code, _, err = run(*command, role=name)
        if exit_code == 0:  # some roles may run some of these commands
            continue
        said = err.strip().splitlines()[-1]
        assert f'"{name}"{kind} may not run `dedup {command[0]}' in said, (command, said)
        if found := re.search(r"; .+ may: .*have the owner, (.+), run `dedup (grant .+)`$", said):
            assert found[1] == roles.quote(row[0])
            assert run(*found[2].split(), role=row[0])[0] == 0, said
            for each in [command, *own[:2]]:  # the role keeps the rights that it had
                exit_code, _, err = run(*each, role=name)
                assert exit_code == 0, (command, each, said, err)
                clear(tmp_path)
            with Operation(settled.url) as owner:
                owner.grant(worker=[name], revoke=True)
                if role != "stranger":
                    owner.grant(**only(role, name))
        else:
            assert said.endswith(f'connect as "{row[0]}"'), (command, said)
            exit_code, _, err = run(*command, role=row[0])
            assert exit_code == 0 or "not pinned" in err, (command, err)
    with settled.transaction() as cursor:  # no fixture empties the list of agencies between tests
        cursor.execute("DELETE FROM dedup.agency WHERE name = 'Wire'")


def test_only_the_owner_resets_settings(settled: Database, granted: Names, run: Run) -> None:
    with Deduplicator(settled.url) as dd:
        dd.settings.change({"common_stories": 9})
    exit_code, _, err = run("settings", "reset", "common_stories", role=granted["worker"])
    assert exit_code == 1
    assert "only the owner of the corpus may: connect as" in err
    with Deduplicator(settled.url) as dd:
        assert dd.settings.wanted().common_stories == 9


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("kind", "command"), [("worker", "retry"), ("reader", "status"), ("scraper", "check")]
)
def test_a_refusal_names_a_role_that_may(
    settled: Database, granted: Names, files: dict[str, str], run: Run, kind: roles.Role, command: str
) -> None:
    words = [command, files["new"]] if command == "check" else [command]
    exit_code, _, err = run(*words, role=granted["counter"])
    assert exit_code == 1
    said = err.strip().splitlines()[-1]
    found = re.search(r"may: connect as (.+), or have the owner", said)
    assert found, said
    able = {roles.quote(granted[kind]), roles.quote(granted["worker"])}  # a worker may run all of these
    named = set(found[1].split(" or "))
    assert roles.quote(granted["counter"]) not in named
    assert named == able
    for name in named:
        assert run(*words, role=name.strip('"'))[0] == 0


def clear(folder: Path) -> None:
    """Remove the files that commands wrote, so that commands can write them again."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".jsonl":
            path.unlink()


@pytest.mark.extra(
    *("browse", "coverage", "frames", "judging", "lab", "loads", "mcp", "serve", "spark", "watch")
)
def test_every_command_of_a_corpus_says_who_may_run_it() -> None:
    def commands(group: object, before: tuple[str, ...] = ()) -> Iterator[str]:
        for name, command in group.commands.items():  # type: ignore[attr-defined]
            if hasattr(command, "commands"):
                yield from commands(command, (*before, name))
            else:
                yield " ".join((*before, name))

    without = ("completion", "config", "db ", "lab ", "spark ")
    found = {
        name for name in commands(typer.main.get_command(main.program())) if not name.startswith(without)
    }
    told = {re.sub(" (--.*|[A-Z]+)$", "", task) for task in rights.MAY}
    assert found == told - {"common", "settings", "outlets", "loads"}


def test_a_scraper_is_told_what_the_backfill_then_says(settled: Database, granted: Names) -> None:
    copied = article("copy", [*window(2, 6), code(99)], 500)
    with Deduplicator(url_of(settled, granted["scraper"])) as scraper:
        told = scraper.submit(copied)
        asked = scraper.lookup(copied)
    assert (told.status, told.duplicate_of, told.provisional) == ("duplicate", asked.duplicate_of, True)
    with Deduplicator(url_of(settled, granted["worker"])) as worker:
        report = worker.backfill(workers=0)
    assert report.settled >= 1
    with Deduplicator(settled.url) as dd:
        found = dd.get("copy")
    assert found
    assert (found.verdict.status, found.verdict.duplicate_of) == (told.status, told.duplicate_of)
    assert_right(settled)


def test_a_new_version_by_a_scraper_is_stored_by_the_next_backfill(settled: Database, granted: Names) -> None:
    with Deduplicator(url_of(settled, granted["scraper"])) as scraper:
        scraper.submit(article("a3", [code(500), code(501), code(502), code(503)], 3))
        scraper.submit(article("a3", [code(600), code(601), code(602), code(603)], 3))
    with Deduplicator(url_of(settled, granted["worker"])) as worker:
        worker.backfill(workers=0)
    with Deduplicator(settled.url) as dd:
        found = dd.get("a3")
    assert found
    assert found.article.text == text([code(600), code(601), code(602), code(603)])
    assert found.verdict.status == "unique"
    assert_right(settled)


def test_plain_sql_of_a_scraper_inserts_and_does_nothing_else(settled: Database, granted: Names) -> None:
    with psycopg.connect(url_of(settled, granted["scraper"]), autocommit=True) as scraper:
        scraper.execute(
            "INSERT INTO dedup.article (source_id, text) VALUES ('plain', 'Words of an article.')"
        )
        for statement in (
            "UPDATE dedup.article SET text = ''",
            "UPDATE dedup.article_mark SET status = 'unique'",
            "DELETE FROM dedup.article",
            "TRUNCATE dedup.article CASCADE",
            "SELECT text FROM dedup.article",
            "SELECT title FROM dedup.article",
            "INSERT INTO dedup.article (source_id, text, revision) VALUES ('x', 'y', 1)",
            "INSERT INTO dedup.article_mark (id, time, status) VALUES (7, now(), 'unique')",
            "SELECT dedup.settle_lock()",
            "SELECT * FROM dedup.settle_turn FOR UPDATE",
            "SELECT * FROM dedup.mark",
            "SELECT * FROM dedup.deferred_article",
            "CREATE TABLE dedup.mine ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                scraper.execute(statement.encode())


def test_a_password_is_in_no_message(database: Database, names: Names) -> None:
    url = make_conninfo(url_of(database, names["stranger"]), password="hunter2")
    with pytest.raises(RightsError) as caught:
        Deduplicator(url)
    assert "hunter2" not in str(caught.value)
    assert conninfo_to_dict(url)["password"] == "hunter2"
