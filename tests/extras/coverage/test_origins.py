"""Origins of stories and of sets: in Python, in SQL, on the command line, over HTTP and on pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from typing import Any

import psycopg
import pytest

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.base.errors import InputError, NotFoundError
from dedup.cli import main
from dedup.db.database import Database
from dedup.extras.coverage.origins import CountedOrigin, Origins
from dedup.extras.coverage.outlets import Outlet
from tests.corpora import START, article, rows, text, window

pytestmark = pytest.mark.long("dedup", "migrations")

DAY = START.date().isoformat()


def printed(
    source_id: str, body: int, publication: str | None, minute: int | None = 0, **more: Any
) -> Article:
    return article(source_id, window(body * 50, 6, ring=10_000), minute, publication=publication, **more)


WIRE = [
    printed("courier", 1, "Courier", 1),
    printed("herald", 1, "Herald", 2, byline="Ada Roe, Associated Press"),
    printed("post", 1, "www.post.example", 3, byline="By The Associated Press"),
    printed("post again", 1, "post.example", 4, byline="Reuters"),
    printed("own", 2, "Courier", 5),
    printed("nobody's", 3, None, 6),
    printed("unknown", 4, " ", 7),
    printed("agency's", 5, "associated press", 8),
]


@pytest.fixture
def dd(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deduplicator]:
    """A corpus of one text of AP in four outlets (one outlet names Reuters), and of four other texts."""
    monkeypatch.setenv("DEDUP_DATABASE_URL", database.url)
    with Deduplicator(database.url) as found:
        found.load(WIRE)
        found.backfill(workers=0)
        found.outlets.write([Outlet("www.post.example", alias_of="post.example")])
        yield found


def told(found: Origins) -> list[tuple[str, str | None, int, int, int]]:
    return [(one.kind, one.name, one.articles, one.stories, one.outlets) for one in found.origins]


def test_the_credit_of_most_copies_counts_and_unknown_outlets_are_one_origin(dd: Deduplicator) -> None:
    found = dd.origins()
    assert told(found) == [
        ("agency", "AP", 5, 2, 4),
        ("unknown", None, 2, 2, 0),
        ("outlet", "Courier", 1, 1, 1),
    ]
    assert (found.independent, found.articles, found.stories, found.outlets) == (3, 8, 5, 4)
    assert str(found) == "8 articles, 4 outlets, 5 texts: 3 independent origins"
    assert dd.story("post").origin.printed_by(dd.story("post").outlets) == (
        "AP, printed by 3 outlets; 1 origin"
    )


def test_a_set_without_the_original_has_its_origin(dd: Deduplicator) -> None:
    assert told(dd.origins(["post"])) == [("agency", "AP", 1, 1, 1)]
    assert told(dd.origins(["post", "post", "own"])) == [
        ("agency", "AP", 1, 1, 1),
        ("outlet", "Courier", 1, 1, 1),
    ]
    assert dd.origins([]) == Origins(0, 0, 0, 0, 0, ())
    with pytest.raises(NotFoundError, match="'gone'"):
        dd.origins(["post", "gone"])


def test_articles_are_chosen_by_what_is_asked(dd: Deduplicator, database: Database) -> None:
    dd.load([printed("undated", 6, "Herald", None), printed("later", 7, "Herald", 3 * 24 * 60)])
    dd.backfill(workers=0)
    assert dd.origins(publication="Herald").articles == 3
    assert dd.origins(credit="AP").articles == 2
    assert dd.origins(language="de").articles == 0
    assert dd.origins(first=DAY, last=START.date()).articles == 8  # an undated article belongs to no day
    assert dd.origins(first=date(2100, 1, 1)).articles == 0
    assert dd.origins(last=date.max).articles == 9
    assert dd.origins(["own", "undated"], first=DAY).articles == 1
    with pytest.raises(InputError, match="init --search"):
        dd.origins(words="anything")
    for wrong in ({"first": "soon"}, {"first": 5}, {"last": DAY, "first": "2999-01-01"}, {"limit": -1}):
        with pytest.raises(InputError):
            dd.origins(**wrong)
    with pytest.raises(InputError, match="not both"):
        dd.origins(["own"], words="x")
    with Operation(database.url) as owner:
        owner.make_searchable()
    word = text(window(50, 6, ring=10_000)).split()[0]
    assert dd.origins(words=word, limit=1).origins[0].name == "AP"


def test_what_was_not_compared_is_no_origin(dd: Deduplicator) -> None:
    dd.load([printed("waiting", 8, "Herald", 9), Article("empty", "", publication="Post")])
    found = dd.origins()
    assert (found.independent, found.articles, found.stories, found.not_compared) == (3, 10, 5, 2)
    assert "2 not compared" in str(found)
    dd.backfill(workers=0)
    assert (dd.origins().independent, dd.origins().not_compared) == (4, 1)
    # Here a copy keeps its last mark while its original waits.
    dd.load([printed("courier", 1, "Courier", 1, title="New"), printed("own", 9, "Courier", 5)])
    assert told(dd.origins(["post"])) == [("agency", "AP", 1, 1, 1)]
    assert dd.origins(["own"]).not_compared == 1
    assert rows(dd._database, "SELECT independent_origins FROM dedup.story WHERE source_id = 'own'") == [(0,)]


def test_the_other_kinds_of_credit_do_not_count(dd: Deduplicator) -> None:
    photo = text(window(500, 6, ring=10_000)) + "\n\nPhoto: AFP"
    helped = text(window(600, 6, ring=10_000)) + "\n\nThe Associated Press contributed to this report."
    dd.load([Article("p", photo, publication="Herald"), Article("c", helped, publication="Herald")])
    dd.backfill(workers=0)
    kinds = {one.kind for name in ("p", "c") for one in dd.credits.of([name]).get(name, ())}
    assert kinds == {"photo", "contribution"}
    assert told(dd.origins(["p", "c"])) == [("outlet", "Herald", 2, 2, 1)]


def test_names_of_a_megabyte_and_of_control_characters_do_no_harm(
    dd: Deduplicator, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("x" * 1_000_000, "y" * 3_000, "a\x1b[31m\u202eb", "<script>", "'; DROP TABLE dedup.outlet; --")
    dd.load(printed(f"h{place}", 20 + place, name, 30 + place) for place, name in enumerate(names[1:], 1))
    with database.transaction() as cursor:  # the library would refuse this name
        values = [text(window(20 * 50, 6, ring=10_000)), names[0]]
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text, publication) VALUES ('h0', %s, %s)", values
        )
    dd.backfill(workers=0)
    found = dd.origins([f"h{place}" for place in range(len(names))])
    assert found.independent == len(names)
    assert max(len(one.name or "") for one in found.origins) <= 300
    assert dd.origins(publication=names[0]).independent == 1
    for words in (["origins"], ["outlets"], ["outlets", "propose"], ["show", "h2"]):
        assert main.run(words) == 0
        shown = capsys.readouterr().out
        assert all(line.isprintable() for line in shown.splitlines()), words
        assert len(shown) < 10_000
    with pytest.raises(InputError, match="1,000 bytes"):
        dd.outlets.set(names[0], family="Roe")
    with pytest.raises(InputError, match="NUL"):
        dd.outlets.set("a\0", family="Roe")


def test_the_command_line_shows_credit_first(dd: Deduplicator, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["show", "post"]) == 0
    assert "AP, printed by 3 outlets; 1 origin" in capsys.readouterr().out
    assert main.run(["show", "own"]) == 0
    assert "1 origin" not in capsys.readouterr().out
    assert main.run(["show", "courier", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["outlets"], shown["origin"]) == (3, {"kind": "agency", "name": "AP"})
    assert main.run(["origins", "--day", DAY, "--limit", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "8 articles, 4 outlets, 5 texts: 3 independent origins",
        "origin  kind    texts  articles  outlets",
        "AP      agency      2         5        4",
    ]
    assert "2 more" in said.err
    assert main.run(["origins", "own", "gone"]) == 1
    assert main.run(["origins", "--day", DAY, "--last", DAY]) == 2
    assert main.run(["origins", "--day", "soon"]) == 2


@pytest.mark.parametrize("role", ["analyst", "counter", "reader", "worker"])
def test_a_role_that_reads_views_counts_origins(dd: Deduplicator, database: Database, role: str) -> None:
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE dedup_origins_{role}")
        try:
            with Operation(database.url) as operation:
                operation.grant(**{role: [f"dedup_origins_{role}"]})  # type: ignore[arg-type]
            owner.execute(f"SET ROLE dedup_origins_{role}")
            query = "SELECT dedup.independent_origins(array_agg(id)) FROM dedup.mark"
            assert owner.execute(query).fetchone() == (3,)
            query = "SELECT origin, outlets FROM dedup.story WHERE source_id = 'courier'"
            assert owner.execute(query).fetchone() == ("AP", 3)
            for statement in ("DELETE FROM dedup.outlet", "INSERT INTO dedup.outlet (name) VALUES ('x')"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    owner.execute(statement)
        finally:
            owner.execute("RESET ROLE")
            owner.execute(f"DROP OWNED BY dedup_origins_{role}")
            owner.execute(f"DROP ROLE dedup_origins_{role}")


def test_a_query_without_the_new_columns_does_not_read_for_them(dd: Deduplicator, database: Database) -> None:
    def plan(columns: str) -> str:
        query = f"EXPLAIN SELECT {columns} FROM dedup.story ORDER BY copies DESC LIMIT 10"
        return "\n".join(row[0] for row in rows(database, query))

    assert "outlet" not in plan("title, copies")
    assert "outlet" not in plan("title, copies, independent_origins")
    assert "outlet" in plan("title, origin")


@pytest.mark.extra("serve")
def test_the_document_of_the_service_describes_the_answer() -> None:
    from dedup.extras.serve.endpoints import document

    schema = document()["components"]["schemas"]["Origins"]
    names = [item.name for item in fields(Origins)]
    assert (list(schema["properties"]), schema["required"]) == (names, names)
    inner = schema["properties"]["origins"]["items"]
    assert list(inner["properties"]) == [item.name for item in fields(CountedOrigin)]
    assert inner["required"] == list(inner["properties"])
