"""Families, aliases and agencies of outlets are stated, proposed, exported, imported, and never guessed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from dedup import Article, Deduplicator
from dedup.base.errors import InputError
from dedup.cli import main
from dedup.db.database import Database
from dedup.extras.coverage.names import OutletName, propose, registrable
from dedup.extras.coverage.outlets import Outlet, read_csv
from tests.corpora import text, window
from tests.loops import each

pytestmark = pytest.mark.long("dedup", "migrations")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dd(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deduplicator]:
    """A corpus of six articles: four name different outlets, one names none, and one has a blank name."""
    monkeypatch.setenv("DEDUP_DATABASE_URL", database.url)
    names = ("Courier", "www.courier.example", "courier.example", "Herald", None, " ")
    with Deduplicator(database.url) as found:
        found.load(
            Article(f"a{number}", text(window(number * 50, 5, ring=10_000)), publication=name)
            for number, name in enumerate(names)
        )
        found.backfill(workers=0)
        yield found


@pytest.fixture
def run(dd: Deduplicator, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*words: str) -> tuple[int, str, str]:
        code = main.run(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def test_outlets_are_listed_with_their_articles(run: Run) -> None:
    assert run("outlets", "set", "Elsewhere", "--family", "Roe")[0] == 0
    code, out, _ = run("outlets", "--json")
    assert code == 0
    assert [(one["name"], one["articles"]) for one in json.loads(out)] == [
        ("Courier", 1), ("Herald", 1), ("courier.example", 1), ("www.courier.example", 1), ("Elsewhere", 0),
    ]  # fmt: skip
    code, out, err = run("outlets", "--limit", "1")
    assert (code, len(out.splitlines())) == (0, 3)
    assert "4 more" in err


def test_an_outlet_without_articles_is_stored_and_told(dd: Deduplicator, run: Run) -> None:
    code, out, err = run("outlets", "set", "Heralt", "--family", "Roe")
    assert (code, out) == (0, "")
    assert "no article has the outlet 'Heralt' yet" in err
    assert dd.outlets.stated() == [Outlet("Heralt", family="Roe")]
    for name in ("Herald", "www.courier.example"):
        assert run("outlets", "set", name, "--family", "Roe")[2] == f"{name}: family Roe\n"
    long = "x" * 200
    dd.load([Article("long", text(window(900, 5, ring=10_000)), publication=f"{long}1")])
    assert dd.outlets.without_articles([f"{long}1", f"{long}2"]) == [f"{long}2"]


def test_an_import_names_outlets_without_articles(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "outlets.csv"
    file.write_text("name,family\nHerald,Roe\nHeralt,Roe\n", encoding="utf-8")
    assert run("outlets", "import", str(file))[2].splitlines() == [
        "stored 2 outlets",
        "note: no article has the outlet 'Heralt' yet; `dedup outlets` lists the outlets",
    ]
    file.write_text("name\n" + "".join(f"new {number}\n" for number in range(12)), encoding="utf-8")
    assert "the outlets 'new 0', 'new 1', " in (told := run("outlets", "import", str(file))[2])
    assert "'new 9' and 2 more yet" in told


def test_what_is_stated_decides_about_origins(dd: Deduplicator, run: Run) -> None:
    def count() -> int:
        return dd.origins().independent

    assert count() == 5  # four names, and one origin for all unknown outlets
    assert run("outlets", "set", "www.courier.example", "--alias-of", "courier.example")[0] == 0
    assert count() == 4
    assert run("outlets", "set", "courier.example", "--family", "Roe")[0] == 0
    assert run("outlets", "set", "Courier", "--family", "Roe")[0] == 0
    assert count() == 3
    assert run("outlets", "set", "Herald", "--agency", "AP")[0] == 0
    assert {(one.kind, one.name) for one in dd.origins().origins} == {
        ("family", "Roe"), ("agency", "AP"), ("unknown", None),
    }  # fmt: skip
    assert run("outlets", "set", "Courier", "--family", "")[0] == 0
    assert run("outlets", "unset", "Herald")[0] == 0
    assert count() == 4


def test_a_refusal_names_the_next_step(dd: Deduplicator, run: Run) -> None:
    dd.outlets.write([Outlet("www.courier.example", alias_of="courier.example")])
    for words, told in (
        (["set", "x", "--alias-of", "www.courier.example"], "make it an alias of 'courier.example'"),
        (["set", "courier.example", "--alias-of", "x"], "make it an alias of 'x'"),
        (["set", "x", "--alias-of", "x"], "make it an alias of 'x'"),
        (["set", "www.courier.example", "--family", "Roe"], "state them for 'courier.example'"),
        (["set", "x", "--agency", "Nobody"], "`dedup agencies` lists"),
        (["set", "x"], "give --family"),
        (["set", " ", "--family", "y"], "empty"),
        (["set", "x", "--family", "y" * 1_001], "1,000 bytes"),
        (["unset", "courier.example"], "first unset 'www.courier.example'"),
        (["unset", "nobody"], "`dedup outlets` lists"),
        (["import", "missing.csv"], "cannot read missing.csv"),
    ):
        code, _, err = run("outlets", *words)
        assert (code, told in err) == (2, True), (words, err)
    assert dd.outlets.stated() == [
        Outlet("courier.example"),
        Outlet("www.courier.example", alias_of="courier.example"),
    ]


HOSTILE = ("=1+1", "'=1+1", '<b>"&', "a\x1b[31mb", "line\nbreak", "x" * 900, "‮abc", "@a", "Ünïcode")


def test_a_file_gives_back_what_was_exported(dd: Deduplicator, run: Run, tmp_path: Path) -> None:
    dd.outlets.write([Outlet(name, family=name) for name in HOSTILE])
    before = dd.outlets.stated()
    file = str(tmp_path / "outlets.csv")
    assert run("outlets", "export", "--raw", "-o", file)[0] == 0
    for name in HOSTILE:
        dd.outlets.remove(name)
    assert run("outlets", "import", "--raw", file)[0] == 0
    assert dd.outlets.stated() == before
    # Without --raw, no cell is a formula or controls a terminal, and harmless names are unchanged.
    _, out, _ = run("outlets", "export")
    cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@")) or not cell.isprintable()]
    names = {one.name for one in read_csv(io.StringIO(out))}
    assert {"=1+1", "@a", '<b>"&', "Ünïcode"} <= names
    _, out, _ = run("outlets")
    assert all(line.isprintable() for line in out.splitlines())


@each(
    ("given", "told"),
    [
        ("", "first line must name columns"),
        ("family\nx", "name is needed"),
        ("name,name\nx,y", "first line must name columns"),
        ("name,owner\nx,y", "first line must name columns"),
        ("name\nx,y", "more cells"),
        ("name,family\n,y", "no name"),
        ("name\na\0b", "NUL"),
        ("name\n" + "x" * 1_001, "1,000 bytes"),
        ("name\n" + "x" * 200_000, "no CSV"),
        ('name\n"x', "no CSV"),
    ],
)
def test_a_file_that_is_wrong_is_refused(given: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_csv(io.StringIO(given))


def test_a_file_is_stored_whole_or_not_at_all(dd: Deduplicator, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "outlets.csv"
    for lines in (["a,,b", "b,,c"], ["a,Roe,"] * 2, ["a,Roe,b"]):
        file.write_text("\n".join(["name,family,alias_of", "fine,Roe,", *lines]), "utf-8")
        assert run("outlets", "import", str(file))[0] == 2
        assert dd.outlets.stated() == []
    file.write_text("\ufeffname,alias_of\nb,a\nc,a\n", "utf-8")
    note = "note: no article has the outlets 'b', 'c' yet; `dedup outlets` lists the outlets\n"
    assert run("outlets", "import", str(file)) == (0, "", f"stored 2 outlets\n{note}")
    assert [one.name for one in dd.outlets.stated()] == ["a", "b", "c"]


def test_sql_refuses_chains_cycles_and_blank_names(dd: Deduplicator, database: Database) -> None:
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute("INSERT INTO dedup.outlet (name, alias_of) VALUES ('a', NULL), ('b', 'a')")
        for statement in (
            "INSERT INTO dedup.outlet (name, alias_of) VALUES ('c', 'b')",
            "INSERT INTO dedup.outlet (name, alias_of) VALUES ('c', 'nowhere')",
            "INSERT INTO dedup.outlet (name, alias_of) VALUES ('c', 'c')",
            "INSERT INTO dedup.outlet (name, alias_of) VALUES ('c', 'd'), ('d', 'c')",
            "INSERT INTO dedup.outlet (name, alias_of, family) VALUES ('c', 'a', 'f')",
            "INSERT INTO dedup.outlet (name) VALUES (' ')",
            "INSERT INTO dedup.outlet (name) VALUES (repeat('é', 501))",
            "INSERT INTO dedup.outlet (name, family) VALUES ('c', '')",
            "UPDATE dedup.outlet SET alias_of = 'b' WHERE name = 'a'",
            "DELETE FROM dedup.outlet WHERE name = 'a'",
        ):
            with pytest.raises(psycopg.errors.IntegrityError):
                owner.execute(statement)
    assert dd.outlets.stated() == [Outlet("a"), Outlet("b", alias_of="a")]


def test_a_curator_with_a_grant_changes_outlets(dd: Deduplicator, database: Database) -> None:
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute("CREATE ROLE dedup_curator")
        try:
            owner.execute("GRANT USAGE ON SCHEMA dedup TO dedup_curator")
            owner.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON dedup.outlet TO dedup_curator")
            owner.execute("SET ROLE dedup_curator")
            owner.execute("INSERT INTO dedup.outlet (name, family) VALUES ('Courier', 'Roe')")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute("DELETE FROM dedup.agency")
        finally:
            owner.execute("RESET ROLE")
            owner.execute("DROP OWNED BY dedup_curator")
            owner.execute("DROP ROLE dedup_curator")
    assert dd.outlets.stated() == [Outlet("Courier", "Roe")]


def test_proposals_change_nothing_until_they_are_imported(dd: Deduplicator, run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "proposals.csv")
    before = dd.origins()
    assert run("outlets", "propose", "-o", file)[0] == 0
    assert dd.outlets.stated() == []
    assert dd.origins() == before
    assert run("outlets", "import", file)[0] == 0
    assert dd.outlets.stated() == [
        Outlet("courier.example"),
        Outlet("www.courier.example", alias_of="courier.example"),
    ]
    assert dd.outlets.proposals() == []


@each(
    ("names", "told"),
    [
        (("startribune.com", "www.startribune.com", "feeds.startribune.com"), {"startribune.com"}),
        (
            ("Star Tribune", "RSS Star Tribune", "Star Tribune - Opinion", "Star Tribune (Online)"),
            {"Star Tribune"},
        ),
        (("TheBlaze.com", "TheBlaze"), {"TheBlaze.com"}),
        (("bbc.co.uk", "guardian.co.uk"), set()),
        (("ada.blogspot.com", "bob.blogspot.com"), set()),
        (("Post", "Post Courier"), set()),
        (("Guest Writer", "Guest Writer - Left", "Guest Writer - Right"), set()),
        (("Guest Writer (Left)", "Guest Writer (Right)", "Guest Writer"), set()),
        (("Times", "The Times (London)", "times (london)"), {"Times"}),
        (("Times", "Times (London)", "Times (Perth)"), set()),
        (("Opinión", "Opinión - Política"), {"Opinión"}),
        (("…", "!"), set()),
    ],
)
def test_names_are_proposed_as_names_of_one_outlet(names: tuple[str, ...], told: set[str]) -> None:
    found = propose([OutletName(name, 9 - number) for number, name in enumerate(names)])
    assert {one.alias_of for one in found} == told
    assert {one.name for one in found} == (set(names[1:]) if told else set())


def test_subdomains_are_proposed_as_a_family() -> None:
    names = ("boston.cbslocal.com", "www.chicago.cbslocal.com", "chicago.cbslocal.com", "x.co.uk")
    found = propose([OutletName(name, 9 - number) for number, name in enumerate(names)])
    assert [(one.name, one.alias_of, one.family) for one in found] == [
        ("boston.cbslocal.com", None, "cbslocal.com"),
        ("chicago.cbslocal.com", "www.chicago.cbslocal.com", None),
        ("www.chicago.cbslocal.com", None, "cbslocal.com"),
    ]


@each(
    ("host", "told"),
    [
        ("startribune.com", "startribune.com"),
        ("a.b.startribune.com", "startribune.com"),
        ("news.bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("news.example.de", "example.de"),
        ("ada.substack.com", "ada.substack.com"),
    ],
)
def test_a_domain_is_the_part_that_an_owner_registers(host: str, told: str) -> None:
    assert registrable(host) == told
