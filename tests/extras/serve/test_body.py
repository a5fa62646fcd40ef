"""The body of a request is read as an article, like a line of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.extras.serve.body import RefusedError, read_article
from dedup.files.readers import Reject, Repair, read_articles

VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just({"name": "x"})
)
NAMES = st.sampled_from(
    ["source_id", "SOURCE_ID", "text", "body", "title", "headline", "date", "publisher", "url", "x"]
)
LINES = (
    st.dictionaries(NAMES, VALUES, max_size=6).map(json.dumps).map(str.encode)
    | st.binary(min_size=1, max_size=20).filter(lambda line: b"\n" not in line and bool(line.strip()))
    | st.sampled_from(
        [
            b'{"source_id": "a", "source_id": "b", "text": "c"}',
            b"[1]",
            b'{"source_id": 7, "text": "a", "text": "b"}',
        ]
    )
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_it_is_the_article_that_a_line_of_a_file_would_be(tmp_path: Path, line: bytes) -> None:
    # Put another line before `line`, because a byte order mark or gzip at the start describes the whole file.
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"id": "before", "text": "a"}\n' + line)
    _, *items = list(read_articles(file, lose_dates=True, every_line=True))
    *repairs, last = items
    if isinstance(last, Reject):
        with pytest.raises(RefusedError) as caught:
            read_article(line, "line")
        assert (str(caught.value), caught.value.source_id, repairs) == (last.reason, last.source_id, [])
        return
    article, flaws = read_article(line, "line")
    assert isinstance(last, Article)
    assert last == article
    assert [(r.field, r.reason, r.value) for r in repairs if isinstance(r, Repair)] == list(flaws)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is empty"),
        (b" \n", "the body is empty"),
        (b"[]", "body is not a JSON object"),
        (b"\xff", "body is not UTF-8"),
    ],
)
def test_what_is_wrong_is_said_of_the_body(body: bytes, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_article(body)
    assert str(caught.value) == reason


def test_it_may_take_several_lines() -> None:
    given_: dict[str, Any] = {"source_id": 7, "headline": "T", "body": "a\nb"}
    article, flaws = read_article(json.dumps(given_, indent=2).encode())
    assert (article.source_id, article.title, article.text, list(flaws)) == ("7", "T", "a\nb", [])
