"""`dedup load` says how it understood a file; the same rows make the same corpus in every format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dedup.db import embedded
from dedup.db.database import URL_VARIABLE, Database
from dedup.files import readers
from tests.cli.conftest import HARBOUR, MUSEUM, Dedup, lines
from tests.conftest import empty
from tests.files import exports
from tests.files.feed_files import post, wordpress

NAMES = {"English": exports.ENGLISH, "newsroom": exports.NEWSROOM}
KINDS = [(".jsonl", ""), (".csv", ","), (".csv", ";"), (".csv", "\t"), (".parquet", "")]


def corpus_of(database: Database) -> list[tuple[Any, ...]]:
    """Return the fields and the status of every article, sorted by id."""
    with database.transaction() as cursor:
        return cursor.execute(
            "SELECT source_id, md5(text), title, url, publication, published_at, added_at, language, status"
            " FROM dedup.marked_article ORDER BY source_id"
        ).fetchall()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "count", [1_000, pytest.param(20_000, marks=[pytest.mark.torture, pytest.mark.timeout(600)])]
)
def test_the_same_rows_are_the_same_corpus_in_every_format_under_every_name(
    dedup: Dedup, database: Database, tmp_path: Path, count: int
) -> None:
    articles = exports.articles(count)
    for article in articles:  # without a fixed time, storing would fill in the present time
        object.__setattr__(article, "added_at", article.added_at or exports.FIRST)
    found = []
    for names in NAMES.values():
        rows = exports.rows(articles, names)
        for suffix, delimiter in KINDS:
            empty(database)
            file = exports.write(tmp_path / f"news{suffix}", rows, delimiter or ",")
            loaded = json.loads(dedup("load", str(file), "--json").out)
            assert (loaded["lines"], loaded["new"], loaded["refused"], loaded["repaired"]) == (
                *(count, count),
                *(0, 0),
            )
            assert loaded["files"][0]["understood"]["delimiter"] == (delimiter or None)
            found.append(corpus_of(database))
    assert len(found) == 10
    assert len(found[0]) == count
    assert all(corpus == found[0] for corpus in found)


def test_load_says_which_column_became_what_and_what_was_ignored(dedup: Dedup, tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text(
        "guid;Headline;Body;pubDate;Outlet;Author;Section\n"
        f"a;Closed;{HARBOUR};Tue, 10 Nov 2020 08:00:00 GMT;Courier;x;y\n"
        f"b;Bowls;{MUSEUM};;Herald;x;y\n",
        "utf-8",
    )
    said = dedup("load", "export.csv").err.splitlines()
    assert said == [
        "export.csv: CSV with semicolons",
        "  source_id ← guid, text ← Body, title ← Headline, publication ← Outlet, published_at ← pubDate,"
        " byline ← Author",
        "  ignored: Section",
        "  no date: 1 of 2 articles; the time of storing counts instead",
        "read 2 lines: 2 new, 0 changed, 0 same, 0 superseded, 0 refused",
        "next: dedup backfill",
    ]


def test_load_says_how_many_texts_are_empty(dedup: Dedup, tmp_path: Path) -> None:
    rows = [{"id": "a", "text": " "}, {"id": "b", "text": HARBOUR}]
    said = dedup("load", str(lines(tmp_path / "news.jsonl", rows))).err
    assert "  1 text is empty, which the backfill marks as failed\n" in said


def test_refused_lines_go_to_no_file_of_something_else(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    rows = [{"id": "a", "text": HARBOUR}, {"id": "no text"}]
    file = lines(tmp_path / "news.jsonl", rows)
    (tmp_path / "letter.txt").write_text("Dear Ann\n")
    for taken in ("news.jsonl", "letter.txt"):
        before = (tmp_path / taken).read_bytes()
        result = dedup("load", str(file), "--rejects", taken)
        assert result.code == 2
        assert taken in result.err
        assert (tmp_path / taken).read_bytes() == before
    assert corpus_of(database) == []


def test_a_name_within_an_object_is_found_and_can_be_mapped(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    rows = [{"id": "a", "content": HARBOUR, "source": {"id": None, "name": "Courier"}, "meta": {"l": "en"}}]
    file = lines(tmp_path / "api.jsonl", rows)
    said = dedup("load", str(file), "--map", "language=meta.l").err
    assert "publication ← source.name, language ← meta.l" in said
    assert [row[4:8:3] for row in corpus_of(database)] == [("Courier", "en")]


@pytest.mark.parametrize("name", ["news.jsonl", "news.csv"])
def test_a_mapped_column_that_does_not_exist_is_an_error_before_anything_is_stored(
    dedup: Dedup, database: Database, tmp_path: Path, name: str
) -> None:
    exports.write(tmp_path / name, [{"id": str(i), "text": HARBOUR} for i in range(600)])
    result = dedup("load", name, "--map", "title=headine")
    assert result.code == 2
    assert "headine" in result.err
    assert "--map title=" in result.err
    assert "id, text" in result.err
    assert corpus_of(database) == []
    assert not list(tmp_path.glob("*.rejects.jsonl"))


def test_a_mapped_key_may_come_late_in_a_file(
    dedup: Dedup, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[dict[str, Any]] = [{"id": str(i), "text": HARBOUR} for i in range(9)]
    file = lines(tmp_path / "late.jsonl", [*rows, {"id": "9", "text": HARBOUR, "head_line": "At last"}])
    assert dedup("load", str(file), "--map", "title=head_line").code == 0
    monkeypatch.setattr(readers, "FIRST_RECORDS", 5)
    assert dedup("load", str(file), "--map", "title=head_line").code == 2


def test_a_dry_run_shows_three_articles_and_needs_no_database(
    dedup: Dedup, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": f"a{i}", "body": f"{i} {HARBOUR}", "date": "2026-03-11"} for i in range(5)]
    file = lines(tmp_path / "news.jsonl", [*rows, {"id": "no text"}])
    monkeypatch.setenv(URL_VARIABLE, "postgresql://nobody@127.0.0.1:1/nowhere")
    result = dedup("load", str(file), "--dry-run")
    assert result.code == 0, result.err
    assert [name for name in ("a0", "a1", "a2", "a3") if f"source_id     {name}\n" in result.out] == [
        *("a0", "a1", "a2"),
    ]
    assert f"({len(rows[0]['body'])} characters)" in result.out
    assert "text ← body" in result.err
    assert "refused: 1 for: text is missing (no text)" in result.err
    assert "read 6 lines, 1 refused; nothing was stored" in result.err
    as_json = json.loads(dedup("load", str(file), "--dry-run", "--json").out)[0]
    assert as_json["report"]["lines"] == 6
    assert [article["source_id"] for article in as_json["articles"]] == ["a0", "a1", "a2"]
    assert not list(tmp_path.glob("*.rejects.jsonl"))
    assert corpus_of(database) == []


@pytest.mark.parametrize("command", [["load"], ["check"], ["train-sentences", "de"]], ids=lambda c: c[0])
def test_a_typo_in_the_file_name_starts_no_server(
    dedup: Dedup, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def fail(*_: object) -> str:
        raise AssertionError("it was started")

    monkeypatch.delenv(URL_VARIABLE)
    monkeypatch.setattr(embedded, "start", fail)
    result = dedup(*command, "mising.jsonl")
    assert result.code == 2
    assert "mising.jsonl: no such file" in result.err


def test_a_bad_date_loses_the_date_and_is_counted_with_its_id(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "good", "text": HARBOUR, "published": 1604995200},
        {"id": "bad", "text": MUSEUM, "published": "05/01/2020"},
        {"id": "worse", "text": MUSEUM, "published": {"on": "a Monday"}},
    ]
    said = dedup("load", "--lose-dates", str(lines(tmp_path / "news.jsonl", rows))).err
    assert "repaired: 1 for: published_at is not a time; write it like 2024-05-01T12:00:00Z (bad)" in said
    assert "(worse)" in said
    assert "each refused or repaired line: see news.jsonl.rejects.jsonl" in said
    assert [bool(row[5]) for row in corpus_of(database)] == [False, True, False]
    noted = [json.loads(line) for line in (tmp_path / "news.jsonl.rejects.jsonl").read_text().splitlines()]
    assert [(row["id"], row["outcome"], row["field"]) for row in noted] == [
        ("bad", "repaired", "published_at"),
        ("worse", "repaired", "published_at"),
    ]


def test_reasons_of_refusals_are_counted_on_the_screen(dedup: Dedup, tmp_path: Path) -> None:
    rows: list[Any] = [{"id": f"a{i}"} for i in range(5)]
    file = lines(tmp_path / "news.jsonl", [*rows, {"text": "no id"}, {"id": "good", "text": HARBOUR}])
    with file.open("a") as more:
        more.write('{"id": \n{"id": "x", "te\n')
    result = dedup("load", str(file))
    assert result.code == 0
    assert "  refused: 5 for: text is missing (a0, a1, a2, …)\n" in result.err
    assert "  refused: 1 for: source_id is missing (line 6)\n" in result.err
    assert "  refused: 1 for: broken JSON: Expecting value at column 8 (line 8)\n" in result.err
    report = json.loads(dedup("load", str(file), "--json").out)["files"][0]
    missing = {"reason": "text is missing", "count": 5, "ids": [f"a{i}" for i in range(5)]}
    assert report["reasons"]["text is missing"] == missing


def test_a_file_whose_every_line_is_refused_is_a_failure(dedup: Dedup, tmp_path: Path) -> None:
    result = dedup("load", str(lines(tmp_path / "news.jsonl", [{"id": "a"}, {"id": "b"}])))
    assert result.code == 1
    assert "nothing was loaded: name the field that holds the text: --map text=NAME" in result.err
    assert dedup("load", str(lines(tmp_path / "none.jsonl", []))).code == 0


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"guid;body\n1;text\n", "--format csv"),
        ('{"id": "a", "text": "Mär"}\n'.encode("latin-1"), "--encoding cp1252"),
        (b'{"text": "a"}\n', "--map source_id=NAME"),
    ],
    ids=["csv", "latin-1", "no id"],
)
def test_nothing_loaded_says_what_to_do_about_it(
    dedup: Dedup, tmp_path: Path, content: bytes, hint: str
) -> None:
    (tmp_path / "news.jsonl").write_bytes(content)
    result = dedup("load", "news.jsonl")
    assert result.code == 1
    assert hint in result.err.splitlines()[-1]


def test_the_encoding_to_try_is_that_of_the_file_that_is_in_another(dedup: Dedup, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "no id"}\n')
    line = '{"id": "a", "text": "Паром опоздал, и никто на причале не удивился этому"}\n'
    (tmp_path / "b.jsonl").write_bytes(line.encode("cp1251") * 2)
    result = dedup("load", "a.jsonl", "b.jsonl")
    assert result.code == 1
    assert "--encoding cp1251" in result.err.splitlines()[-1]


def test_kinds_of_a_wordpress_export_beyond_those_shown_are_counted(dedup: Dedup, tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    others = [post(number, HARBOUR, kind=f"kind-{number}") for number in range(10)]
    (tmp_path / "export.xml").write_text(wordpress(post(10, HARBOUR), *others), "utf-8")
    shown = ", ".join(f"1 kind-{number}" for number in range(8))
    result = dedup("load", "export.xml", "--dry-run")
    assert f"  left out, since not published posts or pages: {shown} and 2 more\n" in result.err


PAGE = f"<html><body><nav>Menu</nav><article><p>{HARBOUR}</p><p>{MUSEUM}</p></article></body></html>"


def test_html_that_is_given_as_text_is_recognised(dedup: Dedup, database: Database, tmp_path: Path) -> None:
    file = lines(tmp_path / "crawl.jsonl", [{"id": "page", "html": PAGE}, {"id": "plain", "text": HARBOUR}])
    warned = dedup("load", str(file)).err
    assert "1 text looks like HTML" in warned
    assert "--html" in warned
    extracted = dedup("load", str(file), "--html")
    assert "texts extracted from HTML: 1" in extracted.err
    assert "looks like HTML" not in extracted.err
    with database.transaction() as cursor:
        texts = dict(cursor.execute("SELECT source_id, text FROM dedup.article").fetchall())
    assert texts["plain"] == HARBOUR
    assert HARBOUR in texts["page"]
    assert "<" not in texts["page"]


def test_check_answers_blank_and_refused_lines_and_names_repairs(dedup: Dedup, tmp_path: Path) -> None:
    file = tmp_path / "stream.jsonl"
    row = {"id": "good", "text": HARBOUR, "date": "yesterday"}
    file.write_text(f'\n{{"id": "no text"}}\n   \n{json.dumps(row)}\n{{\n')
    answers = dedup("check", str(file)).lines
    assert [(a["id"], a["status"]) for a in answers] == [
        (None, "refused"),
        ("no text", "refused"),
        (None, "refused"),
        ("good", "unique"),
        (None, "refused"),
    ]
    assert answers[0]["reason"] == "line 1: the line is blank"
    assert [r["field"] for a in answers for r in a["repairs"]] == ["published_at"]
    assert len({tuple(a) for a in answers}) == 1, "all answers have the same keys"


@pytest.mark.long("dedup", "migrations")
def test_marks_can_be_filtered_on_the_command_line(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")

    def ids(*options: str) -> list[str]:
        return [row["id"] for row in dedup("marks", *options).lines]

    assert ids("--status", "duplicate") == ["copy"]
    assert ids("--since", "2026-03-11T08:30Z") == ["copy", "other"]
    assert ids("--publication", "Courier", "--limit", "1") == ["first"]
    assert ids("--marked-since", "1h") == ["copy", "first", "other"]
    assert ids("--marked-since", "2999-01-01") == []
    for wrong in (["--status", "new"], ["--since", "sometime"], ["--limit", "-1"], ["--since", ""]):
        assert dedup("marks", *wrong).code == 2, wrong
    assert "'24' is not a time: write 2026-11-20, 2026-11-20T08:00Z, or an age: 30m, 24h, 7d" in (
        dedup("marks", "--since", "24").err
    )


def test_a_table_goes_to_no_file(dedup: Dedup, tmp_path: Path) -> None:
    result = dedup("marks", "--format", "table", "--output", "marks.txt")
    assert (result.code, result.out) == (2, "")
    assert "--format jsonl or csv" in result.err
    assert not (tmp_path / "marks.txt").exists()


def test_check_fails_if_not_one_line_is_an_article(dedup: Dedup, tmp_path: Path) -> None:
    (tmp_path / "stream.jsonl").write_text("{\n\n")
    result = dedup("check", "stream.jsonl")
    assert (result.code, len(result.lines)) == (1, 2)
    assert "no line is an article" in result.err


@pytest.mark.long("dedup", "migrations")
def test_a_full_disk_under_the_output_is_said(dedup: Dedup, corpus_url: str, news: Path) -> None:
    dedup("load", str(news))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dedup.cli.main", "marks"],
            env={**os.environ, URL_VARIABLE: corpus_url},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr == "dedup: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("url", "code", "shown"),
    [
        ("postgresql+psycopg://ann@db.example:5999/news", 0, "postgresql://ann@db.example:5999/news\n"),
        ("postgresql://ann:hidden@db.example/news", 1, ""),
        ("host=db.example dbname=news password=hidden", 1, ""),
    ],
)
def test_db_url_is_for_psql_and_shows_no_password(
    dedup: Dedup, monkeypatch: pytest.MonkeyPatch, url: str, code: int, shown: str
) -> None:
    monkeypatch.setenv(URL_VARIABLE, url)
    result = dedup("db", "url")
    assert (result.code, result.out) == (code, shown)
    assert "hidden" not in result.err


def test_show_and_explain_say_the_verdict_first(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    assert dedup("show", "copy").out.startswith("copy: pending\n")
    dedup("backfill", "--workers", "0")
    assert dedup("show", "copy").out.startswith("copy: duplicate of first (content, 1.000)\n")
    assert dedup("show", "first").out.startswith("first: original, 1 copy")
    assert dedup("explain", "first", "copy").out.splitlines()[0].startswith("duplicate")
    assert dedup("explain", "first", "other").out.startswith("not related: ")


def test_stories_lists_the_most_copied_first(dedup: Dedup, news: Path) -> None:
    dedup("load", str(news))
    dedup("backfill", "--workers", "0")
    shown = dedup("stories")
    told = shown.out.splitlines()[2].split()
    # The table shows the first words, because the article has no title.
    called = json.loads(dedup("stories", "--json").out)[0]["first_words"]
    assert told[:2] == ["1", "first"]
    assert called.startswith(" ".join(told[2:6]))
    assert "next: dedup show first" in shown.err
    assert json.loads(dedup("stories", "--json").out)[0]["copied_by"] == ["Herald"]


def test_stories_and_marks_may_be_of_a_time_and_a_scope(dedup: Dedup, news: Path, tmp_path: Path) -> None:
    scoped = [json.loads(line) for line in news.read_text().splitlines()]
    scoped = [{**one, "id": f"ann/{one['id']}", "scope": "ann"} for one in scoped]
    for file in (news, lines(tmp_path / "ann.jsonl", scoped)):
        dedup("load", str(file))
    dedup("backfill", "--workers", "0")

    def stories(*options: str) -> list[str]:
        return [one["id"] for one in json.loads(dedup("stories", "--json", *options).out)]

    assert stories("--since", "2026-03-12") == stories() == ["ann/first", "first"]
    assert stories("--since", "2026-03-13") == stories("--scope", "ben") == []
    assert stories("--scope", "ann") == ["ann/first"]
    assert [one["id"] for one in dedup("marks", "--scope", "ann", "--since", "2026-03-12").lines] == [
        "ann/copy"
    ]
    assert "'soon' is not a time" in dedup("stories", "--since", "soon").err


@pytest.mark.long("dedup", "migrations")
def test_a_file_whose_dates_cannot_be_read_is_not_stored(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    rows = [{"id": f"n{i}", "text": HARBOUR, "date": "05/06/2018 03:30"} for i in range(680)]
    file = str(lines(tmp_path / "news.jsonl", rows))
    refused = dedup("load", file)
    assert refused.code == 2
    assert "680 of 680 dates in published_at" in refused.err
    assert not stored(database)
    told = json.loads(dedup("load", "--json", "--lose-dates", file).out)
    assert (told["new"], told["lost_dates"]) == (680, 680)
    assert told["files"][0]["understood"]["dates"]["published_at"]["lost"] == 680
    read = dedup("load", "--month-first", file)
    assert "published_at: read month first: as given" in read.err
    assert {str(time)[:16] for time in stored(database)} == {"2018-05-06 03:30"}


def test_dates_that_are_lost_are_counted_and_shown(dedup: Dedup, tmp_path: Path) -> None:
    rows = [{"id": f"n{i}", "text": HARBOUR, "date": "28/09/2016 14:30"} for i in range(10)]
    said = dedup(
        "load", str(lines(tmp_path / "news.jsonl", [*rows, {**rows[0], "id": "x", "date": "soon"}]))
    ).err
    assert "published_at: read day first: 10 dates cannot be read otherwise" in said
    assert "published_at: 1 of 11 dates cannot be read, and are lost" in said
    assert "0 refused, 1 date lost" in said


def stored(database: Database) -> list[object]:
    with database.transaction() as cursor:
        return [time for (time,) in cursor.execute("SELECT published_at FROM dedup.article").fetchall()]
