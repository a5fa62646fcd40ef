"""Workbooks: sheets, headers below a title, dates as cells and as text; bombs are refused."""

from __future__ import annotations

import csv
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.extras import installing
from dedup.files import excel
from dedup.files.readers import Reject, Repair, read_articles
from tests.files.items import read, refuse

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

TEXTS = "xl/sharedStrings.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
PARTS = ("office", "table", "text")  # Namespaces of LibreOffice
HEADER = ("ID", "Headline", "Text", "Date", "Outlet")


def book(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]], hidden: Sequence[str] = ()) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def changed(path: Path, part: str, pattern: str, replacement: str) -> Path:
    """Change a part of a workbook's XML; return the path."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            if name == part:
                content = re.sub(pattern, replacement, content.decode(), count=1, flags=re.DOTALL).encode()
            new.writestr(name, content)
    return path


def with_shared_texts(path: Path) -> Path:
    """Write a workbook as Excel does, with the texts of all cells in a separate part."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name).decode() for name in old.namelist()}
    texts: list[str] = []

    def shared(cell: re.Match[str]) -> str:
        texts.append(f"<si>{cell[2]}</si>")
        return f'{cell[1]}t="s"><v>{len(texts) - 1}</v></c>'

    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = re.sub(
        r'(<c [^>]*)t="inlineStr"><is>(.*?)</is></c>', shared, parts[sheet], flags=re.DOTALL
    )
    parts[TEXTS] = f'<sst xmlns="{MAIN}main">{"".join(texts)}</sst>'
    kind = 'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"'
    types, rels = "[Content_Types].xml", "xl/_rels/workbook.xml.rels"
    parts[types] = parts[types].replace("</Types>", f'<Override PartName="/{TEXTS}" {kind}/></Types>')
    target = f'<Relationship Id="rId99" Type="{OFFICE}sharedStrings" Target="/{TEXTS}"/>'
    parts[rels] = parts[rels].replace("</Relationships>", f"{target}</Relationships>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return path


def test_rows_are_articles_with_the_dates_of_their_cells(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [
        HEADER,
        (1, "Ferry", "The ferry\nwas late.", datetime(2018, 5, 3, 14, 30), "Courier"),
        (2.0, 2018, "B", date(2018, 5, 4), None),
        ("n-3", None, "C", "2018-05-05", "Post"),
        (None, None, None, None, None),
        (4, "D", "D", 43225.5, ""),
    ]
    path = book(tmp_path / "a.xlsx", {"Export": rows})
    items, reader = read(path)
    assert items == [
        Article("1", "The ferry\nwas late.", "Ferry", None, "Courier", "2018-05-03T14:30:00Z"),
        Repair(str(path), 3, "2", "title", "title is a number: taken as text", "2018"),
        Article("2", "B", "2018", None, None, "2018-05-04"),
        Article("n-3", "C", None, None, "Post", "2018-05-05"),
        Article("4", "D", "D", None, None, "2018-05-05T12:00:00Z"),
    ]
    understood = reader.understood
    assert (understood.format, understood.sheet, understood.other_sheets) == ("xlsx", "Export", [])
    assert 0 < reader.bytes_read <= path.stat().st_size


def test_texts_that_excel_keeps_apart_are_in_their_cells(tmp_path: Path) -> None:
    rows = [
        HEADER,
        *((number, f"t{number}", "The ferry & <pier>\nwas late.", None, "Post") for number in range(90)),
    ]
    path = with_shared_texts(book(tmp_path / "a.xlsx", {"A": rows}))
    text = "The ferry & <pier>\nwas late."
    assert read(path)[0] == [Article(str(n), text, f"t{n}", publication="Post") for n in range(90)]


def test_german_dates_that_are_text_are_day_first(tmp_path: Path) -> None:
    rows = [
        HEADER,
        (1, "a", "a", "03.05.2018 14:30", "x"),
        (2, "b", "b", "4. Mai 2018", "x"),
        (3, "c", "c", "28.09.2018", "x"),
    ]
    items, reader = read(book(tmp_path / "a.xlsx", {"A": rows}))
    assert [str(getattr(item, "published_at", ""))[:16] for item in items] == [
        "2018-05-03 14:30",
        "2018-05-04 00:00",
        "2018-09-28 00:00",
    ]
    assert reader.understood.dates["published_at"].order == "day first: 1 date cannot be read otherwise"


def test_the_first_sheet_that_is_not_hidden_is_read_or_the_one_that_is_named(tmp_path: Path) -> None:
    sheets = {name: [HEADER, (name, "t", "b", None, None)] for name in ("Notes", "2018", "2019")}
    path = book(tmp_path / "a.xlsm", sheets, hidden=["Notes"])
    items, reader = read(path)
    assert [item.source_id for item in items] == ["2018"]
    assert (reader.understood.sheet, reader.understood.other_sheets) == ("2018", ["Notes", "2019"])
    assert [item.source_id for item in read(path, sheet="2019")[0]] == ["2019"]
    assert "has no sheet '2020'; its sheets are Notes, 2018, 2019; name one with --sheet" in refuse(
        path, sheet="2020"
    )
    (tmp_path / "a.csv").write_text("id,text\n")
    assert "has no sheet: leave out --sheet" in refuse(tmp_path / "a.csv", sheet="2019")
    assert "leave out --encoding" in refuse(path, encoding="cp1252")


def test_a_title_above_the_header_is_passed_over(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [
        ("Export of May 3rd, 2018",),
        (),
        (None, *HEADER),
        (None, 1, "t", "b", None, None),
    ]
    items, reader = read(book(tmp_path / "a.xlsx", {"A": rows}))
    assert items == [Article("1", "b", "t")]
    assert reader.understood.ignored == {}
    assert "no column for text" in refuse(
        book(tmp_path / "b.xlsx", {"A": [("Title",), ("id", "story"), (1, "x")]})
    )
    assert "its columns are id, story;" in refuse(tmp_path / "b.xlsx")


def test_cells_that_are_no_text_and_rows_of_other_lengths(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [
        HEADER,
        (1, "t"),
        (2, "t", "b", time(14, 30), "x", "a note beside the table"),
        (3, "t", True, None, None),
        (4, None, "CR_x000D_\nLF and _x0041_"),
        (None, "no id", "b"),
        (6, "t", "=1+1"),
    ]
    items, _ = read(book(tmp_path / "a.xlsx", {"A": rows}))
    assert [item for item in items if isinstance(item, Article)] == [
        Article("2", "b", "t", None, "x"),
        Article("4", "CR\r\nLF and A"),
    ]
    assert [(item.line, item.reason) for item in items if isinstance(item, Reject | Repair)] == [
        (2, "text is missing"),
        (3, "published_at must be a time, not time"),
        (4, "text must be a string, not bool"),
        (6, "source_id is missing"),
        (7, "text is missing"),
    ]


def test_a_text_that_fills_its_cell_is_counted_as_cut(tmp_path: Path) -> None:
    rows = [HEADER, (1, "t", "x" * 32_767, None, None), (2, "t", "x" * 32_766, None, None)]
    assert read(book(tmp_path / "a.xlsx", {"A": rows}))[1].understood.cut == 1


def test_a_sheet_that_says_a_wrong_size_is_read_whole(tmp_path: Path) -> None:
    rows = [HEADER, *((number, "t", "b", None, None) for number in range(200))]
    path = book(tmp_path / "a.xlsx", {"A": rows})
    changed(path, "xl/worksheets/sheet1.xml", r'<dimension ref="[^"]*"', '<dimension ref="A1"')
    assert len(read(path)[0]) == 200


def test_a_date_that_is_none_is_lost_and_its_article_is_not(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", {"A": [HEADER, (1, "t", "b", datetime(2018, 5, 3), None)]})
    changed(path, "xl/worksheets/sheet1.xml", "<v>43223</v>", "<v>99999999999</v>")
    repair, article = read(path)[0]
    assert isinstance(repair, Repair)
    assert article == Article("1", "b", "t")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"id,text\n1,b\n", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    assert "cannot be read as Excel" in refuse(tmp_path / "a.xlsx")


def test_workbooks_of_older_programs_and_of_libreoffice_are_read(tmp_path: Path) -> None:
    day = "2003-05-03"
    assert read(Path(__file__).with_name("old.xls"))[0] == [
        Article("1", "The ferry was late.", "Ferry", published_at=day),
        Article("n-2", "Ärger über die Fähre"),
    ]
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    row = f"<table:table-row>{''.join(map(cell.format, HEADER[:3]))}</table:table-row>"
    uses = (f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in PARTS)
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as made:
        made.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        made.writestr("META-INF/manifest.xml", "<manifest/>")
        made.writestr(
            "content.xml",
            f"<office:document-content {' '.join(uses)}><office:body><office:spreadsheet>"
            f'<table:table table:name="A">{row * 2}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    assert read(tmp_path / "a.ods")[0] == [Article("ID", "Text", "Headline")]


def test_a_pipe_and_a_file_that_only_looks_like_an_old_workbook_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 100)
    assert "cannot be read as Excel" in refuse(tmp_path / "a.xls")
    assert "save it to a file" in refuse(Path("-"), format="xlsx")


def test_without_calamine_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "a.xlsx", {"A": [HEADER]})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert installing("xlsx") in refuse(path)


def test_a_sheet_without_rows_is_refused_and_one_with_a_header_is_empty(tmp_path: Path) -> None:
    assert "the sheet 'A' has no header" in refuse(book(tmp_path / "a.xlsx", {"A": []}))
    assert read(book(tmp_path / "a.xlsx", {"A": [HEADER]}))[0] == []


def test_a_sheet_that_breaks_off_is_refused(tmp_path: Path) -> None:
    rows = [HEADER, *((number, "t", f"b{number}", None, None) for number in range(500))]
    path = book(tmp_path / "a.xlsx", {"A": rows})
    changed(path, "xl/worksheets/sheet1.xml", r'(<row r="402".*)', "<row r=")
    assert "cannot be read as Excel; check that it is complete" in refuse(path)


def test_rows_that_end_too_early_are_told_from_the_end_of_the_sheet(tmp_path: Path) -> None:
    rows = [HEADER, *((number, "t", "b" * 1_000, None, None) for number in range(1_500))]
    with read_articles(book(tmp_path / "a.xlsx", {"A": rows})) as reader:
        assert next(reader) == Article("0", "b" * 1_000, "t")
        reader._opened.source._process.kill()  # type: ignore[union-attr]
        *articles, last = reader
        assert isinstance(last, Reject)
        assert (last.line, last.reason) == (len(articles) + 3, excel.ENDS_EARLY)
        assert reader.truncated


def test_a_row_that_is_too_long_is_refused_and_no_other(tmp_path: Path) -> None:
    rows = [HEADER, (1, "t", "b" * 3_000, None, None), (2, "t", "b", None, None)]
    refused, article = read(book(tmp_path / "a.xlsx", {"A": rows}), max_record_bytes=2_000)[0]
    assert article == Article("2", "b", "t")
    assert isinstance(refused, Reject)
    assert (refused.line, refused.reason) == (2, "the record has 3,001 bytes, the limit is 2,000")


@pytest.mark.parametrize(
    ("part", "pattern", "bomb"),
    [
        (
            "xl/worksheets/sheet1.xml",
            "</row>",
            f'<c r="Z1" t="inlineStr"><is><t>{"x" * 200_000_000}</t></is></c></row>',
        ),
        ("xl/worksheets/sheet1.xml", "</row>", '</row><row><c r="XFD1048576"><v>1</v></c></row>'),
        ("xl/worksheets/sheet1.xml", "</row>", '</row><row><c r="A99999999999"><v>1</v></c></row>'),
        (
            "xl/worksheets/sheet1.xml",
            "</row>",
            f'{"<c/>" * 15_000}<c t="inlineStr"><is><t>x</t></is></c></row>'
            + '<row r="20000"><c r="A20000"><v>1</v></c></row>',
        ),
        (TEXTS, "</sst>", "<si><t>a</t></si>" * 4_100_000 + "</sst>"),
    ],
    ids=["long cell", "corners", "row beyond the last", "many cells", "many texts"],
)
@pytest.mark.long("dedup/files")
def test_a_workbook_is_no_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, pattern: str, bomb: str
) -> None:
    monkeypatch.setattr(excel, "MEMORY_BYTES", 150_000_000)
    path = with_shared_texts(book(tmp_path / "a.xlsx", {"A": [HEADER]}))
    assert read(path)[0] == []
    changed(path, part, pattern, bomb)
    assert path.stat().st_size < 2_000_000
    assert "takes too much memory as Excel; save it as CSV in UTF-8" in refuse(path)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the environment of a process in /proc")
def test_the_process_that_reads_a_workbook_gets_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDUP_DATABASE_URL", "postgresql://user:secret@host/news")
    rows = [(str(number), "x" * 30_000) for number in range(20)]
    source = excel.ExcelSource(str(book(tmp_path / "a.xlsx", {"News": [("id", "text"), *rows]})))
    try:
        # The rows do not fit into the pipe, so the process still runs until they are read.
        passed = Path(f"/proc/{source._process.pid}/environ").read_text().split("\0")
    finally:
        source.close()
    names = {name.partition("=")[0] for name in passed} - {""}
    assert "PATH" in names
    assert names <= {*excel.PASSED_ON}


def test_entities_are_no_bomb(tmp_path: Path) -> None:
    path = with_shared_texts(book(tmp_path / "a.xlsx", {"A": [HEADER, (1, "t", "b")]}))
    entities = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]><sst"
    changed(changed(path, TEXTS, "<sst", entities), TEXTS, "<t>b</t>", "<t>b&b;</t>")
    assert "cannot be read as Excel" in refuse(path)


CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufffe\uffff"), max_size=20
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.text("abc", min_size=1, max_size=3),
            CELLS,
            CELLS.filter(lambda cell: not cell.startswith("=") and "_x" not in cell),
            st.sampled_from(["2018-05-03", "03.05.2018", "soon", ""]),
        ),
        max_size=4,
    )
)
def test_a_workbook_reads_as_the_same_table_in_csv_does(tmp_path: Path, rows: list[tuple[str, ...]]) -> None:
    rows = [row for row in rows if not any(cell.startswith("=") or "_x" in cell for cell in row)]
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER[:4], *rows])
    path = book(tmp_path / "a.xlsx", {"A": [HEADER[:4], *([cell or None for cell in row] for row in rows)]})
    wanted = [item for item in read(tmp_path / "a.csv")[0] if isinstance(item, Article)]
    assert [item for item in read(path)[0] if isinstance(item, Article)] == [a for a in wanted if a.text]
