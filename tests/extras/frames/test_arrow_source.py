"""`Deduplicator.load` takes tables of pandas, pyarrow, DuckDB and Polars, by the common Arrow protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Deduplicator
from dedup.base import plugins
from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.db.database import URL_VARIABLE, Database
from dedup.files.readers import ArticleReader, Item, Reject, Repair, read_articles
from dedup.files.reading import Reading
from dedup.files.rows import find_rows

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {
        "guid": "a",
        "body": "Words of a.",
        "headline": "A",
        "date": NOON,
        "author": ["Ann", "Bo"],
        "desk": "city",
    },
    {"guid": None, "body": "Words.", "headline": None, "date": None, "author": None, "desk": None},
    {"guid": "ü", "body": "Words of ü.", "headline": "", "date": NOON, "author": [], "desk": "city"},
]
ARTICLES = [
    Article("a", "Words of a.", "A", published_at=NOON, byline="Ann, Bo", kept={"desk": "city"}),
    Article("ü", "Words of ü.", published_at=NOON, kept={"desk": "city"}),
]


def read(given: object, bound: int = 100_000, **options: Any) -> list[Item]:
    rows = find_rows(given)
    assert callable(rows)
    with ArticleReader(rows, Reading(**options), bound) as reader:
        return list(reader)


def as_polars_gives_it(table: pa.Table) -> pa.Table:
    """Return a table with the Arrow types that Polars uses: string views, and large lists of string views."""
    kinds = {
        pa.string(): pa.string_view(),
        pa.list_(pa.string()): pa.large_list(pa.string_view()),
        pa.struct([("name", pa.string())]): pa.struct([("name", pa.string_view())]),
    }
    columns = {
        name: pa.array(table[name].to_pylist(), kinds.get(table[name].type, table[name].type))
        for name in table.column_names
    }
    if "desk" in columns:  # Polars gives a column of categories as an Arrow dictionary
        words = pa.array(["city"], pa.string_view())
        given = [None if one is None else 0 for one in table["desk"].to_pylist()]
        columns["desk"] = pa.DictionaryArray.from_arrays(pa.array(given, pa.uint32()), words)
    return pa.table(columns)


TABLE = pa.Table.from_pylist(ROWS)
GIVEN: dict[str, Callable[[], object]] = {
    "Table": lambda: TABLE,
    "batches of one row": lambda: pa.Table.from_batches(
        [b for i in range(3) for b in TABLE.slice(i, 1).to_batches()]
    ),
    "RecordBatchReader": lambda: TABLE.to_reader(),
    "RecordBatch": lambda: pa.RecordBatch.from_pylist(ROWS),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas with categories": lambda: pd.DataFrame(ROWS).astype({"desk": "category", "guid": "category"}),
    "DuckDB": lambda: duckdb.from_arrow(TABLE),
    "the types of Polars": lambda: as_polars_gives_it(TABLE),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_every_kind_of_table_is_read(kind: str) -> None:
    found = read(GIVEN[kind](), keep=["desk"])
    assert [item for item in found if isinstance(item, Article)] == ARTICLES
    (refused,) = (item for item in found if not isinstance(item, Article))
    assert isinstance(refused, Reject)
    assert (refused.file, refused.line, refused.reason) == ("<rows>", 2, "source_id is missing")


WORDS = st.none() | st.text(max_size=3) | st.sampled_from(["a", "2024-05-01", "1/2/2024"])
COLUMNS = st.fixed_dictionaries(
    {"id": WORDS, "text": WORDS},
    optional={"title": WORDS, "date": WORDS | st.datetimes(), "n": st.none() | st.integers(0, 9)},
)


def outcome(item: Item) -> object:
    return (type(item), item.line, item.reason) if isinstance(item, Reject | Repair) else item


@pytest.mark.long("dedup", "migrations", "docs/load.md")
@given(rows=st.lists(COLUMNS, min_size=1, max_size=4))
def test_a_table_is_read_as_its_parquet_file_is(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table(
        {
            name: pa.array([row.get(name) for row in rows], from_pandas=True)
            for name in names
            if name != "date"
        }
    )
    path = tmp_path_factory.mktemp("arrow") / "a.parquet"
    pa.parquet.write_table(table, path)
    with read_articles(path, lose_dates=True) as reader:
        assert [*map(outcome, read(table, lose_dates=True))] == [*map(outcome, reader)]


def test_only_rows_that_are_too_long_are_refused() -> None:
    """The limit holds for each row, even if a dictionary or a buffer of string views is longer."""
    rows = [
        {
            "id": str(n),
            "text": "x" * (3_000 if n == 70 else 100),
            "source": {"name": "P" * 20},
            "by": ["x" * 20],
        }
        for n in range(90)
    ]
    table = pa.Table.from_pylist(rows)
    kinds = [
        table.set_column(1, "text", table["text"].dictionary_encode()),
        as_polars_gives_it(table),
        table,
    ]
    for one in kinds:
        found = read(one, bound=2_000)
        refused = [item for item in found if isinstance(item, Reject)]
        assert [item.line for item in refused] == [71]
        assert "the limit is 2,000" in refused[0].reason
        assert len(found) == 90


def test_a_table_needs_its_columns() -> None:
    with pytest.raises(
        InputError, match=r"<rows> has no column for text .*; its columns are id, words; name the"
    ):
        read(pd.DataFrame({"id": ["a"], "words": ["b"]}))
    assert read(pd.DataFrame({"id": ["a"], "words": ["b"]}), fields={"text": "words"}) == [Article("a", "b")]


def test_a_table_that_arrow_cannot_read_is_an_error_without_its_texts() -> None:
    mixed = pd.DataFrame({"id": ["a", 5], "text": [b"secret", {"secret": 1}]})
    with pytest.raises(
        InputError, match=r"<rows> cannot be read as Arrow \(Arrow\w+\); give each column"
    ) as caught:
        read(mixed)
    assert "secret" not in str(caught.value)


def test_a_stream_that_fails_loses_nothing_before(database: Database, tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([{"id": "a", "text": "b"}])
        raise RuntimeError("secret")

    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    stream = pa.RecordBatchReader.from_batches(schema, batches())
    with Deduplicator(database.url) as dd:
        with pytest.raises(InputError, match=r"<rows>: reading failed after 1 rows \(\w+\)"):
            dd.load(stream, rejects=tmp_path / "rejects.jsonl")
        assert dd.get("a") is not None


def test_tables_and_dicts_are_loaded(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Deduplicator(database.url) as dd:
        report = dd.load(pd.DataFrame(ROWS))
        assert (report.new, report.refused, report.file) == (2, 1, "<rows>")
        assert report.understood is not None
        assert report.understood.ignored == {"desk": 3}
        (line,) = Path("rows.rejects.jsonl").read_text("utf-8").splitlines()
        assert json.loads(line)["raw"] == '{"text": "Words."}'
        again = dd.load([{"id": one.source_id, **row} for one, row in zip(ARTICLES, ROWS[::2], strict=True)])
        assert (again.same, again.refused) == (2, 0)


def test_ids_that_a_missing_one_made_floats_are_whole_numbers(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"id": [1, None, 3], "text": ["One text.", "Two texts.", "Three texts."]})
    assert str(table["id"].dtype) == "float64"
    with Deduplicator(database.url) as dd:
        report = dd.load(table)
        assert [row["id"] for row in dd.marks()] == ["1", "3"]
        assert (report.new, [*report.reasons]) == (2, ["source_id is missing"])
        assert dd.load(table.dropna().astype({"id": "int64"})).same == 2


def test_without_pyarrow_a_table_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(plugins.declared("inputs")["arrow"].__class__, "load", missing)
    with pytest.raises(InputError) as caught:
        find_rows(TABLE)
    assert str(caught.value) == f"arrow needs pyarrow: run `{installing('frames')}`"


def test_the_page_about_loading_gives_rows_that_work(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "load.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(URL_VARIABLE, database.url)
    exec(code, {})
    counts, reason, file = capsys.readouterr().out.splitlines()
    assert counts == "read 2 lines: 1 new, 0 changed, 0 same, 0 superseded, 1 refused"
    assert "source_id is missing (line 2)" in reason
    assert file.endswith("see rows.rejects.jsonl")
    assert Path("rows.rejects.jsonl").exists()
