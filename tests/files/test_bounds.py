"""Bounds of input: values beyond a bound are reported, and no record takes more memory than allowed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import KEPT_NAMES, Article
from dedup.files import naming, parquet
from dedup.files.parquet_pages import find_largest_page
from dedup.files.readers import Reject, read_articles
from dedup.files.record import MAX_RECORD_BYTES, MAX_RECORD_KEYS

BOUND = 24
PIECES = st.sampled_from([b" ", b"\t", b"\r", b" " * 9, b",", b"x", b'{"id":1,"text":""}', b"[", b'"'])
LINES = st.lists(st.lists(PIECES, max_size=4).map(b"".join), max_size=6)


def test_a_line_of_17_mb_of_spaces_is_refused_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1, "text": "a"}\n' + b" " * 17_000_000 + b'\n{"id": 2, "text": "b"}\n')
    first, blank, last = read_articles(path)
    assert (first, last) == (Article("1", "a"), Article("2", "b"))
    assert isinstance(blank, Reject)
    assert (blank.line, blank.length) == (2, 17_000_000)
    assert blank.reason == f"the record has 17,000,000 bytes, the limit is {MAX_RECORD_BYTES:,}"


@pytest.mark.long("dedup", "migrations")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(LINES)
def test_every_line_that_is_not_blank_or_beyond_the_bound_is_counted(
    tmp_path: Path, lines: list[bytes]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1, "text": ""}\n' + b"\n".join(lines))
    counted = Counter(
        item.line for item in read_articles(path, max_record_bytes=BOUND) if isinstance(item, Reject)
    )
    with read_articles(path, max_record_bytes=BOUND) as reader:
        articles = sum(isinstance(item, Article) for item in reader)
        assert sum(counted.values()) + articles == reader.understood.records
    beyond = {number for number, line in enumerate(lines, 2) if len(line) > BOUND}
    assert {number for number in counted if counted[number] == 1} >= beyond
    filled = [line for line in lines if line.strip() or len(line) > BOUND]
    assert reader.understood.records == 1 + len(filled)


def test_text_between_two_articles_of_an_array_is_refused_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"id": 1, "text": "a"},' + b" " * 17_000_000 + b'lost, {"id": 2, "text": "b"}]')
    first, between, last = read_articles(path)
    assert (first, last) == (Article("1", "a"), Article("2", "b"))
    assert isinstance(between, Reject)
    assert between.length == 17_000_007


def keys(count: int, name: str = "key") -> str:
    return ",".join(f'"{name} {n}":0' for n in range(count))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("serve")
def test_an_article_of_very_many_keys_is_refused() -> None:
    from dedup.extras.serve.body import RefusedError, read_article

    most = f'{{"source_id":"a","text":"b",{keys(MAX_RECORD_KEYS - 2)}}}'.encode()
    assert read_article(most)[0] == Article("a", "b")
    with pytest.raises(RefusedError, match="the record has 500,002 keys, the limit is 1,000"):
        read_article(f'{{"source_id":"a","text":"b",{keys(500_000)}}}'.encode())
    found = f'{{"_source":{{"source_id":"a","text":"b",{keys(1_000)}}}}}'.encode()
    with pytest.raises(RefusedError, match="the record has 1,002 keys, the limit is 1,000"):
        read_article(found)


@pytest.mark.extra("serve")
def test_an_article_keeps_so_many_values_and_passes_on_without_more() -> None:
    from dedup.extras.serve.body import read_article

    article, flaws = read_article(f'{{"source_id":"a","text":"b","kept":{{{keys(KEPT_NAMES)}}}}}'.encode())
    assert (len(article.kept or ()), list(flaws)) == (KEPT_NAMES, [])
    article, flaws = read_article(
        f'{{"source_id":"a","text":"b","kept":{{{keys(KEPT_NAMES + 1)}}}}}'.encode()
    )
    assert article == Article("a", "b")
    assert [reason for _, reason, _ in flaws] == ["kept has 1,001 names, the limit is 1,000"]


def test_names_that_differ_in_spaces_only_are_not_all_tried() -> None:
    names = ["id", *(f"text{' ' * n}" for n in range(1_000))]
    shape = naming.make_shape(naming.DEFAULT_FIELDS, names, lambda *_: None)
    options = dict(shape.fields)["text"]
    assert len(options) == naming.MAX_OPTIONS
    assert len(shape.ignored) == 1_000 - naming.MAX_OPTIONS, "the other names are reported"


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path, **options)
    return path


def test_rows_of_parquet_in_a_page_that_would_fill_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "PARQUET_PAGE_BYTES", 4_000_000)
    texts = [f"{n} " + "words " * 5_000 for n in range(200)]
    columns = {"id": [str(n) for n in range(200)], "text": texts}
    path = write(tmp_path / "a.parquet", columns, row_group_size=100)  # a page has 100 texts: 3 MB
    assert list(read_articles(path)) == [Article(str(n), text) for n, text in enumerate(texts)]
    path = write(path, columns, row_group_size=150)  # a page has 150 texts: 4.5 MB
    with read_articles(path) as reader:
        items = list(reader)
    rejects = [item for item in items if isinstance(item, Reject)]
    assert [item.line for item in rejects] == list(range(1, 151)), "the rows of the other group are read"
    assert "the row is in a page of 4," in rejects[0].reason
    assert "the limit is 4,000,000: write the file again with smaller pages" in rejects[0].reason
    assert items[150:] == [Article(str(n), texts[n]) for n in range(150, 200)]
    # With smaller pages, as the reason advises, all articles are read.
    path = write(path, columns, row_group_size=150, write_batch_size=16)
    assert len([item for item in read_articles(path) if isinstance(item, Article)]) == 200


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.none() | st.integers(0, 9_000), min_size=1, max_size=30),
    st.sampled_from(["none", "snappy", "zstd", "gzip"]),
    st.sampled_from(["1.0", "2.0"]),
    st.booleans(),
    st.booleans(),
)
def test_the_size_of_a_page_is_known_before_it_is_read(
    tmp_path: Path, sizes: list[int | None], compression: str, version: str, dictionary: bool, checksum: bool
) -> None:
    path = write(
        tmp_path / "a.parquet",
        {"text": [None if size is None else "x" * size for size in sizes]},
        compression=compression,
        data_page_version=version,
        use_dictionary=dictionary,
        write_page_checksum=checksum,
        write_batch_size=1,  # one page per value
        data_page_size=1,
    )
    pq = pytest.importorskip("pyarrow.parquet")
    with path.open("rb", buffering=0) as raw:
        chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
        found = find_largest_page(raw, chunk)
    largest = max(size or 0 for size in sizes)
    if dictionary:
        distinct = {size for size in sizes if size is not None}
        assert largest <= found <= chunk.total_uncompressed_size
        assert found <= max(sum(distinct) + 4 * len(distinct), 64)
    else:
        assert largest <= found <= largest + 64, "the size is of one page, not of all pages"
