"""Values of the named columns are kept with the articles, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.progress import SilentProgress
from dedup.files.readers import Repair, read_articles, read_file
from dedup.files.reading import Reading
from dedup.files.report import LoadReport
from tests.files import exports

ROWS: list[dict[str, Any]] = [
    {"id": "1", "text": "a", "topic": "weather", "Desk": "city", "byline": "Ada Roe"},
    {"id": "2", "text": "b", "topic": "", "Desk": None, "byline": "Bo Day"},
    {"id": "3", "text": "c", "topic": "sport", "Desk": "", "byline": ""},
]


def articles(path: Path, keep: list[str]) -> list[Any]:
    with read_articles(path, keep=keep) as reader:
        return list(reader)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet", "xlsx"])
def test_columns_are_kept_in_every_format(tmp_path: Path, suffix: str) -> None:
    if suffix == "xlsx":
        pytest.importorskip("python_calamine")
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in ([*ROWS[0]], *([*row.values()] for row in ROWS)):
            book.active.append(row)
        path = tmp_path / "a.xlsx"
        book.save(path)
    else:
        pytest.importorskip("pyarrow")
        path = exports.write(tmp_path / f"a.{suffix}", ROWS, "\t" if suffix == "tsv" else ",")
    assert articles(path, ["topic", "desk", "byline"]) == [
        Article("1", "a", byline="Ada Roe", kept={"topic": "weather", "desk": "city", "byline": "Ada Roe"}),
        Article("2", "b", byline="Bo Day", kept={"byline": "Bo Day"}),
        Article("3", "c", kept={"topic": "sport"}),
    ]
    assert all(article.kept is None for article in articles(path, []))


def test_values_of_json_keep_their_types_and_may_be_within_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = {"id": 1, "text": "a", "tags": ["x", "y"], "meta": {"page": 3, "lead": True}, "kept": {"own": 1}}
    path.write_text(json.dumps(row) + "\n")
    (found,) = articles(path, ["tags", "meta.page"])
    assert found.kept == {"own": 1, "tags": ["x", "y"], "meta.page": 3}
    (found,) = articles(path, ["meta"])
    assert found.kept == {"own": 1, "meta": {"page": 3, "lead": True}}


def test_a_list_of_texts_in_parquet_is_one_text(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = [{"id": "1", "text": "a", "tags": ["x", "y"], "meta": {"page": 3}}]
    (found,) = articles(exports.write(tmp_path / "a.parquet", rows), ["tags", "meta", "meta.page"])
    assert found.kept == {"tags": "x, y", "meta.page": 3}


def test_what_cannot_be_kept_is_lost_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "a", "title": "t", "kept": "yes"}\n')
    repair, article = articles(path, [])
    assert isinstance(repair, Repair)
    assert (repair.field, repair.reason) == ("kept", "kept must be an object of names and values, not str")
    assert article == Article("1", "a", "t")


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_name_that_the_file_does_not_have_is_an_error_with_the_way_out(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pyarrow")
    path = exports.write(tmp_path / f"a.{suffix}", ROWS)
    found = read_file(
        *(path, Reading(keep=["topic", "section"]), LoadReport()),
        rejects=None,
        progress=SilentProgress(),
        stop=bool,
    )
    with pytest.raises(InputError, match=r"'section'.* to be kept.*topic.*; correct --keep"):
        list(found)
