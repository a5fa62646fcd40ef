"""Commands for attached tables; every command and statement of docs/attach.md works, in order."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dedup.db.database import Database
from tests.attached import owned
from tests.cli.conftest import HARBOUR, MUSEUM, Dedup

PAGE = Path(__file__).parents[2] / "docs" / "attach.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)

Owner = psycopg.Connection[Any]


@pytest.fixture
def owner(database: Database) -> Iterator[Owner]:
    with owned(database) as connection:
        yield connection
        connection.execute("DROP TABLE IF EXISTS public.articles CASCADE")


def fill(owner: Owner) -> None:
    for day, body in enumerate([HARBOUR, HARBOUR, MUSEUM]):
        owner.execute(
            "INSERT INTO public.articles (body, pub_date, lang) VALUES (%s, %s, 'en')",
            [body, f"2024-03-0{day + 1}"],
        )


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_a_table_is_detached_by_its_own_name_where_that_names_one(dedup: Dedup, owner: Owner) -> None:
    owner.execute("CREATE TABLE public.articles (id bigint PRIMARY KEY, body text)")
    attached = ("attach", "public.articles", "--id", "id", "--text", "body")
    for name in ("public.articles", "articles"):
        assert dedup(*attached, "--name", "news").code == 0
        assert dedup("sync", name).code == 0
        assert dedup("detach", name, "--yes").code == 0
    assert dedup(*attached, "--name", "news").code == 0
    assert dedup(*attached, "--name", "wires", "--no-triggers").code == 0
    refused = dedup("detach", "public.articles")
    assert refused.code == 2
    assert "'public.articles' is attached more than once; there are 'news', 'wires'" in refused.err
    assert "nothing is attached as 'other'" in dedup("detach", "other").err
    assert [dedup("detach", name, "--yes").code for name in ("news", "wires")] == [0, 0]


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_every_command_of_the_page_works(dedup: Dedup, owner: Owner) -> None:
    printed: list[str] = []
    found: list[list[tuple[Any, ...]]] = []
    for kind, code in BLOCKS:
        if kind == "console" or "cms." in code or "reader." in code:  # other tests run these blocks
            continue
        if kind == "sql":
            for statement in code.split(";")[:-1]:
                made = owner.execute(statement.encode())
                found += [made.fetchall()] if made.description else []
            if "CREATE TABLE" in code:
                fill(owner)
            continue
        assert kind == "sh"
        for line in code.splitlines():
            result = dedup(*shlex.split(line)[1:])
            assert result.code == 0, (line, result.err)
            printed.append(result.out)
    assert printed[0].startswith("BEGIN;\n")
    assert printed[0].endswith("COMMIT;\n")
    marks = [row[:4] for row in sorted(found[0])]
    assert marks == [
        (1, "unique", None, None),
        (2, "duplicate", 1, "articles/1"),
        (3, "unique", None, None),
    ]
    assert [row[0] for row in sorted(found[1])] == [1, 3]
    columns = owner.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'public.articles'::regclass AND attnum > 0"
        " AND NOT attisdropped ORDER BY attnum"
    ).fetchall()
    assert [row[0] for row in columns] == ["id", "body", "headline", "pub_date", "outlet", "lang"]
    assert owner.execute("SELECT count(*) FROM dedup.article").fetchone() == (0,)


CMS = """
CREATE SCHEMA cms;
CREATE TABLE cms.outlets (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE cms.posts (
    id bigint PRIMARY KEY, outlet_id integer NOT NULL REFERENCES cms.outlets, headline text, topic text,
    status text NOT NULL, published_at timestamptz, updated_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE cms.revisions (
    post_id bigint REFERENCES cms.posts, number integer, body text, PRIMARY KEY (post_id, number));
INSERT INTO cms.outlets VALUES (1, 'Vantage Wire'), (2, 'Courier'), (3, 'Mercury');
INSERT INTO cms.posts VALUES
    (101, 1, 'Harbour bridge shut after storm', 'weather', 'publish', '2026-03-12 06:10+00'),
    (102, 2, 'Storm shuts the bridge &#8211; again', 'traffic', 'publish', '2026-03-12 07:30+00'),
    (103, 3, 'Nine days without a bridge', 'traffic', 'publish', '2026-03-12 08:05+00'),
    (104, 2, 'Museum opens its <em>north</em> wing', 'culture', 'publish', '2026-03-12 18:00+00'),
    (105, 3, 'Bridge, draft', NULL, 'draft', NULL)
"""
"""Tables of a content management system (CMS), as docs/attach.md describes them."""


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_the_transcript_of_a_view_says_what_happens(dedup: Dedup, owner: Owner) -> None:
    """Check the output of the page's commands: five at most lead from a CMS's tables to its stories."""
    (view,) = [code for kind, code in BLOCKS if kind == "sql" and "cms." in code]
    (transcript,) = [code for kind, code in BLOCKS if kind == "console"]
    steps = re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", transcript, re.MULTILINE)
    try:
        for statement in CMS.split(";\n"):
            owner.execute(statement.encode())
        for key, body in ((101, HARBOUR), (102, HARBOUR), (103, HARBOUR), (104, MUSEUM), (105, HARBOUR)):
            for number, words in enumerate(("", body)):
                markup = "".join(f"<p>{part}.</p>" for part in words.split(". "))
                owner.execute("INSERT INTO cms.revisions VALUES (%s, %s, %s)", [key, number, markup])
        owner.execute(view.encode())
        for command, said in steps:
            result = dedup(*shlex.split(command)[1:])
            assert result.code == 0, (command, result.err)
            assert said in (result.out + result.err, result.err + result.out), command
        exported = dedup("marks", "--kept", "--format", "csv").out
        assert 'published/104,unique,,,,False,"{""topic"": ""culture""}"' in exported
        (watched,) = [code for kind, code in BLOCKS if kind == "sh" and "cms." in code]
        assert dedup("detach", "published", "--yes").code == 0
        told = dedup(*shlex.split(watched)[1:]).err
        assert "triggers note changes of cms.posts, cms.revisions, cms.outlets, and all rows" in told
        assert dedup("backfill").code == 0
        owner.execute("UPDATE cms.outlets SET name = 'Vantage' WHERE id = 1")
        assert "triggers of" in dedup("attachments").out
        assert dedup("backfill").code == 0
        assert "Vantage " in dedup("stories").out
    finally:
        owner.execute("DROP SCHEMA IF EXISTS cms CASCADE")
    assert 1 + len(steps) <= 5, "creating the view counts as a command"


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_a_table_with_keys_of_feeds_is_attached_as_the_page_says(dedup: Dedup, owner: Owner) -> None:
    (command,) = [code for kind, code in BLOCKS if kind == "sh" and "=feeds.title" in code]
    owner.execute("CREATE SCHEMA reader; CREATE TABLE reader.feeds (id integer PRIMARY KEY, title text)")
    try:
        owner.execute(
            "CREATE TABLE reader.entries (id bigint PRIMARY KEY, title text, content text,"
            " feed_id bigint NOT NULL REFERENCES reader.feeds)"
        )
        owner.execute("INSERT INTO reader.feeds VALUES (1, 'Vantage Wire')")
        owner.execute("INSERT INTO reader.entries VALUES (17, 'Bridge', %s, 1)", [HARBOUR])
        assert dedup(*shlex.split(command)[1:]).code == 0
        assert dedup("backfill").code == 0
        assert "Vantage Wire" in dedup("show", "entries/17").out
        assert json.loads(dedup("attachments", "--json").out)["attachments"][0]["bases"] == [
            {"table": "reader.feeds", "way": "name", "columns": ["id", "title"]}
        ]
        assert dedup("detach", "entries", "--yes").code == 0
    finally:
        owner.execute("DROP SCHEMA reader CASCADE")


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_the_attached_tables_and_what_waits(dedup: Dedup, owner: Owner) -> None:
    owner.execute(BLOCKS[0][1].encode())
    assert dedup("attach", "public.articles", "--id", "id", "--text", "body", "--name", "press").code == 0
    fill(owner)
    listed = json.loads(dedup("attachments", "--json").out)
    assert [item["name"] for item in listed["attachments"]] == ["press"]
    assert listed["waiting"] == 3
    assert "press" in dedup("attachments").out
    assert json.loads(dedup("status", "--json").out)["changes"] == 3
    assert dedup("backfill", "--workers", "0").code == 0
    assert json.loads(dedup("attachments", "--json").out)["waiting"] == 0
    explained = dedup("explain", "press/1", "press/2")
    assert explained.code == 0
    assert "harbour" in dedup("show", "press/1").out
    assert "nothing is attached as 'news'; there are 'press'" in dedup("detach", "news").err
    refused = dedup("detach", "press")
    assert refused.code == 2
    assert (
        "press: 3 articles will be deleted from the corpus, with the marks; this cannot be undone"
        in refused.err
    )
    assert dedup("attachments", "--json").out.count("press")
    assert "detached; 3 articles were deleted" in dedup("detach", "press", "--yes").err


@pytest.mark.long("dedup", "migrations", "docs/attach.md")
def test_who_wrote_a_row_is_its_byline_and_is_followed(dedup: Dedup, owner: Owner) -> None:
    owner.execute("CREATE TABLE public.posts (id bigint PRIMARY KEY, body text, author text)")
    harbour, museum = HARBOUR.replace("'", "''"), MUSEUM.replace("'", "''")
    rows = f"(1, '{harbour}', 'Ada Roe, AFP'), (2, '{museum}', NULL)"
    owner.execute(f"INSERT INTO public.posts VALUES {rows}".encode())
    attach = ("attach", "public.posts", "--id", "id", "--text", "body", "--byline", "author")
    assert dedup(*attach).code == 0
    assert dedup("backfill", "--workers", "0").code == 0

    def shown(key: int) -> tuple[str | None, list[dict[str, str]]]:
        found = json.loads(dedup("show", f"posts/{key}", "--json").out)
        return found["article"]["byline"], found["credits"]

    assert shown(1) == ("Ada Roe, AFP", [{"agency": "AFP", "place": "byline", "kind": "text"}])
    assert shown(2) == (None, [])
    owner.execute("UPDATE public.posts SET author = CASE id WHEN 2 THEN 'dpa' END")
    assert dedup("backfill", "--workers", "0").code == 0
    assert shown(1) == (None, [])
    assert shown(2) == ("dpa", [{"agency": "dpa", "place": "byline", "kind": "text"}])
    assert dedup("verify").code == 0
    refused = dedup("attach", "public.posts", "--id", "id", "--text", "body", "--byline", "writer")
    assert refused.code == 2
    assert "writer" in refused.err


def test_a_table_that_cannot_be_attached_is_wrong_usage(dedup: Dedup, owner: Owner) -> None:
    result = dedup("attach", "public.articles", "--id", "id", "--text", "body")
    assert result.code == 2
    assert "there is no table public.articles" in result.err
