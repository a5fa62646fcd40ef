"""Exports of newsrooms: the reader recognises fields, delimiters and objects, and reports its choices."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files import naming, report
from dedup.files.naming import DEFAULT_FIELDS, TEASERS
from dedup.files.readers import Reject, Repair, read_articles
from dedup.files.report import Understanding
from tests.files import exports

ROWS = 2_000
INVENTED = exports.articles(ROWS)


def read(path: Path, content: str | bytes, **options: Any) -> tuple[list[Any], Understanding]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reader = read_articles(path, lose_dates=True, **options)
    return list(reader), reader.understood


def jsonl(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("names", [exports.ENGLISH, exports.NEWSROOM], ids=["english", "newsroom"])
@pytest.mark.parametrize(
    ("suffix", "delimiter"),
    [
        ("jsonl", ","),
        ("csv", ","),
        ("csv", ";"),
        ("csv", "\t"),
        ("csv", "|"),
        ("tsv", "\t"),
        ("parquet", ","),
    ],
)
def test_the_same_rows_are_the_same_articles_in_every_format(
    tmp_path: Path, suffix: str, delimiter: str, names: dict[str, str]
) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    path = exports.write(tmp_path / f"export.{suffix}", exports.rows(INVENTED, names), delimiter)
    reader = read_articles(path)
    assert list(reader) == INVENTED
    understood = reader.understood
    assert (understood.file, understood.format) == (str(path), suffix)
    assert understood.delimiter == (delimiter if suffix == "csv" else None)
    have = {name: sum(getattr(a, name) is not None for a in INVENTED) for name in names}
    written = {field: name.strip() if suffix in ("csv", "tsv") else name for field, name in names.items()}
    assert understood.fields == {name: {written[name]: count} for name, count in have.items()}
    assert understood.ignored == {"Section": ROWS}
    assert (understood.records, understood.without_date) == (ROWS, ROWS - have["published_at"])
    assert json.loads(json.dumps(asdict(understood))) == asdict(understood)


EVERY_NAME = [(field, name) for field, names in DEFAULT_FIELDS.items() for name in names]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(("field", "name"), EVERY_NAME)
def test_every_usual_name_is_known_however_it_is_written(tmp_path: Path, field: str, name: str) -> None:
    usual = {"published_at": "2024-05-01", "added_at": "2024-05-01", "kept": '{"x": 1}'}
    value = usual.get(field, "x")
    base = {"source_id": "a", "text": "b"}
    base.pop(field, None)
    if name in TEASERS:
        base["body"] = ""
    for written in (name, name.upper(), f" {name.replace('_', '-').title()} ", name.replace("_", " ")):
        (article,), understood = read(tmp_path / "a.jsonl", jsonl({**base, written: value}))
        assert getattr(article, field)
        assert understood.fields[field] == {written: 1}
        assert not understood.ignored
        (again,), _ = read(
            tmp_path / "a.tsv", "\t".join([*base, written]) + "\n" + "\t".join([*base.values(), value])
        )
        assert again == article


def test_names_are_tried_in_order_and_the_exact_one_first(tmp_path: Path) -> None:
    def title(**names: Any) -> str | None:
        (article, *_), _ = read(tmp_path / "a.jsonl", jsonl({"id": 1, "text": "b", **names}))
        return article.title  # type: ignore[no-any-return]

    assert title(Title="folded", title="exact") == "exact"
    assert title(title="exact", Title="folded") == "exact"
    assert title(headline="second", title="first") == "first"
    assert title(headline="second", title=None) == "second"
    assert title(headline="second", title="") == "second"
    assert title(headline="second", Title="first") == "first"
    assert title(**{"headline": None, "title": ""}) is None


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_an_empty_value_leaves_the_field_to_the_next_name(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    rows = [
        {"id": "1", "text": "a", "body": "", "date": "2024-05-01", "published": "2024-05-02"},
        {"id": "2", "text": "", "body": "b", "date": "", "published": "2024-05-02"},
        {"id": "3", "text": "", "body": "", "date": "", "published": ""},
    ]
    reader = read_articles(exports.write(tmp_path / f"a.{suffix}", rows))
    assert list(reader) == [
        Article("1", "a", published_at="2024-05-01"),
        Article("2", "b", published_at="2024-05-02"),
        Article("3", ""),
    ]
    assert reader.understood.fields["text"] == {"text": 1, "body": 1}
    assert reader.understood.ignored == {"body": 1, "published": 1}


def test_a_name_may_be_within_an_object(tmp_path: Path) -> None:
    def publication(record: dict[str, Any], **fields: str) -> Any:
        (article,), _ = read(tmp_path / "a.jsonl", jsonl({"id": 1, "text": "b", **record}), fields=fields)
        return article.publication

    assert publication({"source": {"id": None, "name": "Post"}}) == "Post"
    assert publication({"source": {"id": None, "name": None}}) is None
    assert publication({"Source": {"Name": "Post"}}) == "Post"
    assert publication({"source": "Post"}) == "Post"
    assert publication({"source": {"name": "within"}, "source.name": "literal"}) == "literal"
    assert publication({"source": {"name": "Post"}, "publication": "first"}) == "first"
    assert publication({"publisher": {"@type": "Organization", "name": "Post"}}) == "Post"
    assert publication({"a": {"b": {"c": "Post"}}}, publication="a.b.c") == "Post"
    assert publication({"a.b": {"c": "Post"}}, publication="a.b.c") == "Post"
    assert publication({"a": {"b.c": "Post"}}, publication="a.b.c") == "Post"
    for record, name in (({"a": {"b": "no"}}, "a.b.c"), ({"a": ["b"]}, "a.b")):
        with pytest.raises(InputError, match=f"none of the first 1 records has '{name}'"):
            publication(record, publication=name)


def test_a_struct_of_parquet_is_an_object(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows: list[dict[str, Any]] = [
        {"id": "1", "text": "b", "source": {"id": 7, "name": "Post"}, "meta": {"by": {"Line": "Ann"}}},
        {"id": "2", "text": "b", "source": None, "meta": {"by": None}},
        {"id": "3", "text": "b", "source": {"id": 8, "name": "Echo"}, "meta": None},
    ]
    path = exports.write(tmp_path / "a.parquet", rows)
    reader = read_articles(path, fields={"title": "meta.by.line"})
    assert [(a.publication, a.title) for a in reader if isinstance(a, Article)] == [
        ("Post", "Ann"),
        (None, None),
        ("Echo", None),
    ]
    assert reader.understood.fields["publication"] == {"source.name": 2}
    assert reader.understood.find_unseen({"title": "meta.by.line"}) == {}
    with pytest.raises(InputError, match="no column for title"):
        read_articles(path, fields={"title": "meta.by.none"})
    literal = exports.write(
        path, [{"id": "1", "text": "b", "source.name": "literal", "source": {"name": "x"}}]
    )
    assert [getattr(item, "publication", item) for item in read_articles(literal)] == ["literal"]


def test_in_csv_a_dot_is_a_letter(tmp_path: Path) -> None:
    (article,), _ = read(tmp_path / "a.csv", "id,text,source.name,source\n1,b,Post,no\n")
    assert article.publication == "Post"
    with pytest.raises(InputError, match="no column for title"):
        read(tmp_path / "a.csv", "id,text,meta\n1,b,c\n", fields={"title": "meta.title"})


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("id,text", ","),
        ("id;text", ";"),
        ("\nid;text;title, or none", ";"),
        ('"id";"note, long";text', ";"),
        ("id\ttext\tnote, long", "\t"),
        ("id|text|title", "|"),
        ("id,text,x;id;text", ","),
    ],
)
def test_the_header_tells_the_delimiter(tmp_path: Path, header: str, delimiter: str) -> None:
    for name, options in (("a.csv", {}), ("a.txt", {"format": "csv"})):
        items, understood = read(tmp_path / name, f"{header}\n", **options)
        assert (items, understood.delimiter) == ([], delimiter)


def test_a_header_that_names_nothing_has_commas(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its columns are a;b, c;"):
        read(tmp_path / "a.csv", "a;b,c\n")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("below", [0, 3])
def test_a_header_of_unknown_names_has_the_delimiter_of_its_rows(
    tmp_path: Path, delimiter: str, below: int
) -> None:
    names = ["Kennung", "Titel, oder keiner", "Volltext"]
    row = ["1", "a, b; c", '"one\n; two, ""three"""']
    content = "\n".join(map(delimiter.join, [[f'"{name}"' for name in names], *[row] * below]))
    fields = {"source_id": "Kennung", "text": "Volltext"}
    if delimiter in ",;":
        content = content.replace("a, b; c", '"a, b; c"')
    with pytest.raises(
        InputError, match="its columns are Kennung, Titel, oder keiner, Volltext; name the right column"
    ):
        read(tmp_path / "a.csv", content)
    items, understood = read(tmp_path / "a.csv", content, fields=fields)
    assert items == [Article("1", 'one\n; two, "three"')] * below
    assert understood.delimiter == delimiter


def test_rows_overrule_a_header_of_unknown_names_that_may_be_cut_in_two_ways(tmp_path: Path) -> None:
    content = "Name, Vorname, Ort;Text\na;b\nc;d\ne;f\n"
    with pytest.raises(InputError, match="its columns are Name, Vorname, Ort, Text;"):
        read(tmp_path / "a.csv", content)


def test_the_url_is_the_id_where_no_name_of_an_id_is_known(tmp_path: Path) -> None:
    rows = [{"link": f"https://post.example/{number % 2}", "text": str(number)} for number in range(3)]
    wanted = [Article(row["link"], row["text"], url=row["link"]) for row in rows]
    suffixes = ["jsonl", "csv", *(["parquet"] if importlib.util.find_spec("pyarrow") else [])]
    for suffix in suffixes:
        reader = read_articles(exports.write(tmp_path / f"a.{suffix}", rows))
        assert list(reader) == wanted
        assert (reader.understood.ids_from_url, reader.understood.fields["url"]) == (3, {"link": 3})


def test_an_id_that_is_named_and_missing_is_not_the_url(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": None, "url": "https://post.example/1", "text": "a"}]
    for content in (jsonl(*rows), jsonl({"id": 1, "text": "b"}, {"url": "x", "text": "c"})):
        items, understood = read(tmp_path / "a.jsonl", content)
        assert getattr(items[-1], "reason", "") == "source_id is missing"
        assert understood.ids_from_url == 0
    items, _ = read(tmp_path / "a.csv", "id,url,text\n,x,a\n")
    assert getattr(items[-1], "reason", "") == "source_id is empty"
    for wrong in ({}, {"url": None}, {"url": ["x"]}, {"url": ""}, {"url": "x" * 2000}):
        items, _ = read(tmp_path / "a.jsonl", jsonl({**wrong, "text": "a"}))
        assert getattr(items[-1], "reason", "") == "source_id is missing"
    with pytest.raises(InputError, match="no column for source_id"):
        read(tmp_path / "a.csv", "url,text\nx,a\n", fields={"source_id": "key"})


def test_a_teaser_is_a_text_only_where_another_name_has_none(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "content": "a", "description": "x"},
        {"id": 2, "content": None, "description": "b"},
    ]
    items, understood = read(tmp_path / "a.jsonl", jsonl(*rows, {"id": 3, "description": "c"}))
    assert items[:2] == [Article("1", "a"), Article("2", "b")]
    assert getattr(items[2], "reason", "") == "text is missing"
    assert understood.fields["text"] == {"content": 1, "description": 1}
    items, _ = read(tmp_path / "a.jsonl", jsonl(rows[1]), fields={"text": "description"})
    assert items == [Article("2", "b")]


def test_texts_that_a_service_cut_off_are_counted(tmp_path: Path) -> None:
    rows = [{"id": 1, "content": "The ferry was… [+1234 chars]"}, {"id": 2, "content": "It has 200 chars."}]
    assert read(tmp_path / "a.jsonl", jsonl(*rows))[1].cut == 1


def test_mapped_names_count_when_the_delimiter_is_found(tmp_path: Path) -> None:
    (article,), understood = read(
        tmp_path / "a.csv", "key;words, all\n1;b\n", fields={"source_id": "key", "text": "words, all"}
    )
    assert (article, understood.delimiter) == (Article("1", "b"), ";")


def test_a_mapped_name_that_no_record_has_is_refused(tmp_path: Path) -> None:
    fields = {"title": "heading", "publication": "source.name"}
    path = tmp_path / "a.jsonl"
    path.write_text(
        jsonl({"id": 1, "text": "b", "heading": None}, {"id": 2, "text": "b", "source": {"name": None}})
    )
    assert len(list(read_articles(path, fields=fields))) == 2  # a name with an empty value counts as present
    with pytest.raises(InputError, match="none of the first 2 records has 'adress', to which url is mapped"):
        list(read_articles(path, fields={**fields, "url": "adress"}))


@pytest.mark.long("dedup", "migrations")
def test_what_is_counted_of_strange_names_is_bounded(tmp_path: Path) -> None:
    records = ({"id": 1, "text": "b", f"{number}{'x' * 300}": 0} for number in range(1_500))
    _, understood = read(tmp_path / "a.jsonl", jsonl(*records))
    assert len(understood.ignored) == report.MAX_NAMES
    assert max(map(len, understood.ignored)) == report.MAX_NAME_CHARACTERS
    assert understood.records == 1_500


def test_sets_of_names_are_looked_up_once_and_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    understood = Understanding("a", "jsonl")
    shapes = naming.Shapes(DEFAULT_FIELDS, understood)
    first = shapes.find({"id": 1, "text": "b"})
    assert shapes.find({"id": 2, "text": "c"}) is first
    for number in range(3 * naming.MAX_SHAPES):
        shapes.find({"id": 1, "text": "b", str(number): 0})
    assert len(shapes._known) <= naming.MAX_SHAPES
    wide = {str(number): 0 for number in range(naming.MAX_SHAPE_NAMES + 1)}
    assert shapes.find(wide) is not shapes.find(wide)


def test_texts_that_look_like_html_are_counted_and_left_alone(tmp_path: Path) -> None:
    markup = "<p>The ferry was late.</p><p>Nobody minded.</p>"
    items, understood = read(
        tmp_path / "a.jsonl", jsonl({"id": 1, "text": markup}, {"id": 2, "text": "a < b"})
    )
    assert [item.text for item in items] == [markup, "a < b"]
    assert (understood.html, understood.extracted) == (1, 0)


def test_texts_are_extracted_from_html_where_that_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    records = (
        {"id": 1, "content_html": "<p>The ferry was late.</p><p>Nobody minded.</p>"},
        {"id": 2, "text": "a < b"},
        {"id": 3, "html": "<html><body><script>x()</script></body></html>"},
        {"id": 4, "text": 7},
    )
    items, understood = read(tmp_path / "a.jsonl", jsonl(*records), html=True)
    assert items[:2] == [Article("1", "The ferry was late.\nNobody minded."), Article("2", "a < b")]
    assert [(r.line, r.source_id, r.reason) for r in items[2:] if isinstance(r, Reject)] == [
        (3, "3", "the HTML has no text"),
        (4, "4", "text must be a string, not int"),
    ]
    assert (understood.html, understood.extracted, understood.records) == (0, 1, 4)


def test_without_trafilatura_html_is_refused_when_the_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match=re.escape(installing("html"))):
        read_articles(tmp_path / "a.jsonl", html=True)
    read_articles(tmp_path / "a.jsonl")


def test_a_repair_comes_right_before_its_article(tmp_path: Path) -> None:
    items, _ = read(
        tmp_path / "a.jsonl", jsonl({"id": 1, "text": "b", "title": [1], "date": "?"}, {"id": 2, "text": "c"})
    )
    file = str(tmp_path / "a.jsonl")
    no_time = "published_at is not a time; write it like 2024-05-01T12:00:00Z"
    assert items == [
        Repair(file, 1, "1", "title", "title must be a string, not list", "[1]"),
        Repair(file, 1, "1", "published_at", no_time, "?"),
        Article("1", "b"),
        Article("2", "c"),
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_articles_without_a_word_are_counted(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    texts = ["", " ", "\n\t\u2003", "a", " b ", "\0"]
    rows = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    reader = read_articles(exports.write(tmp_path / f"a.{suffix}", rows))
    assert [item.text for item in reader if isinstance(item, Article)] == texts
    assert (reader.understood.records, reader.understood.empty) == (6, 3)


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_titles_are_taken_out_of_html_where_that_is_asked_for(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("trafilatura")
    titles = ["Council &amp; <i>budget</i>", "Council & budget", "<br>"]
    rows = [{"id": str(number), "text": "b &amp; c", "title": title} for number, title in enumerate(titles)]
    path = exports.write(tmp_path / f"a.{suffix}", rows)

    def read_titles(html: bool) -> list[str | None]:
        articles = [item for item in read_articles(path, html=html) if isinstance(item, Article)]
        assert [article.text for article in articles] == ["b &amp; c"] * 3
        return [article.title for article in articles]

    assert read_titles(html=False) == titles
    assert read_titles(html=True) == ["Council & budget", "Council & budget", None]
