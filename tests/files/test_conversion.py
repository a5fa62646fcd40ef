"""JSON that is not one object per line is told with the command that makes it so; lines are not mistaken."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.files import jsonl
from dedup.files.jsonl import why_not_one
from dedup.files.readers import Reject, read_articles

STORY = {"source": {"id": None, "name": "Post"}, "title": "Late", "url": "u", "content": 'The "ferry" [+9 {c'}
NEWSAPI = {"status": "ok", "totalResults": 2, "articles": [STORY, STORY]}
GUARDIAN = {"response": {"status": "ok", "tags": ["a", {"items": [{"b": 1}]}], "results": [STORY]}}
FEED = {"version": "https://jsonfeed.org/version/1.1", "title": "One, two: [three]", "items": [STORY]}


def why_not_lines(name: str, start: bytes) -> str | None:
    return jsonl.why_not_lines(name, start, packed=False, is_pipe=False)


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_articles(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("answer", "filter"),
    [
        (NEWSAPI, ".articles[]"),
        (GUARDIAN, ".response.results[]"),
        (FEED, ".items[]"),
        ({"meta": {"items": 2}, "data": [STORY]}, ".data[]"),
        ({"my key": {"items": [STORY]}}, "."),
        ({"id": "1", "text": "b", "items": ["a"], "data": []}, "."),
        ({"rows": [{"items": [STORY]}]}, "."),
        ([STORY], ".[]"),
    ],
)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "A.JSON.gz"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_an_answer_of_a_service_is_told_with_the_command_that_unpacks_it(
    tmp_path: Path, answer: Any, filter: str, name: str, line_end: str
) -> None:
    content = ("\ufeff\n" + json.dumps(answer, indent=2).replace("\n", line_end)).encode()
    packed = name.endswith("gz")
    message = refused(tmp_path / name, gzip.compress(content) if packed else content)
    file = "FILE (unpacked)" if packed else "FILE"
    assert f"; convert it: jq -c '{filter}' {file} > FILE.jsonl" in message
    assert "ferry" not in message


@pytest.mark.parametrize("piece", ['"', '\\"', "[", '{"a":', '"items":[', "\\"])
def test_the_look_at_the_beginning_is_a_short_one(piece: str) -> None:
    began = time.process_time()
    assert "jq -c '.'" in (why_not_lines("a.json", b'{\n"a": ' + piece.encode() * 1_000_000) or "")
    assert time.process_time() - began < 2


@pytest.mark.skipif(which("jq") is None, reason="needs jq")
@pytest.mark.parametrize("answer", [NEWSAPI, GUARDIAN, FEED, [STORY], STORY])
def test_the_command_makes_lines_of_it(tmp_path: Path, answer: Any) -> None:
    path = tmp_path / "a.json"
    command = refused(path, json.dumps(answer, indent=1).encode()).rpartition("convert it: ")[2]
    subprocess.run(command.replace("FILE", str(path)), shell=True, check=True)
    articles = list(read_articles(f"{path}.jsonl", fields={"source_id": "url"}))
    assert articles
    assert set(articles) == {Article("u", STORY["content"], "Late", "u", "Post")}  # type: ignore[arg-type]


def test_a_json_array_is_told_however_it_is_written(tmp_path: Path) -> None:
    for content in (b' [\n {"id": "1"}]', b'[{"id": "1"}]', b"[\n"):
        assert "jq -c '.[]' FILE > FILE.jsonl" in refused(tmp_path / "a.json", content)


@pytest.mark.parametrize(
    "first", [b'{"status": "ok",', b'{"articles": [', b'{"articles":', b'{"a": [1, 2], "b": {']
)
def test_an_object_that_goes_on_in_the_next_line_is_told_in_a_json_file(tmp_path: Path, first: bytes) -> None:
    assert "jq -c" in refused(tmp_path / "a.json", first + b"\n  1\n")


@pytest.mark.parametrize(
    "first",
    [
        b'{"id": "1", "text": "torn off',
        b'{"id": 1, "text": ',
        b"{",
        b"{what}",
        b"{} {}",
        b"\xff{",
        b'{"\xff":',
        b'{"x": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        b'{"text": "' + b"x" * 100_000,
    ],
)
def test_a_bad_first_line_does_not_cost_the_others(tmp_path: Path, first: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(first + b'\n{"id": "2", "text": "b"}\n')
    reject, article = read_articles(path)
    assert isinstance(reject, Reject)
    assert article == Article("2", "b")
    if first != b'{"id": 1, "text": ':  # in a .json file this may be an object over several lines
        path = path.rename(tmp_path / "a.json")
        assert len(list(read_articles(path))) == 2


@pytest.mark.parametrize("bracket", [b"{", b"[", b" {\t\r"])
def test_a_bracket_alone_is_told_on_standard_input_once_its_line_is_there(
    monkeypatch: pytest.MonkeyPatch, bracket: bytes
) -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stdin}))
        # The line comes in two pieces and the pipe stays open: nothing behind the line may be waited for.
        os.write(write, b"\n \n" + bracket)
        later = threading.Timer(0.05, os.write, (write, b"\n"))
        later.start()
        try:
            with pytest.raises(InputError, match=r"^<stdin> holds .* jq -c '"):
                read_articles("-")
        finally:
            later.join()
            os.close(write)


@pytest.mark.parametrize("content", [b"{", b"[", b" {  ", b"{ \r"])
def test_a_bracket_that_is_all_there_is_is_a_bad_line(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(content)}))
    (reject,) = read_articles("-")
    assert isinstance(reject, Reject)
    assert reject.raw == content


@pytest.mark.parametrize(
    ("answer", "filter"),
    [(NEWSAPI, ".articles[]"), (GUARDIAN, ".response.results[]"), (FEED, ".items[]")],
)
def test_an_answer_on_one_line_is_refused_with_the_command(tmp_path: Path, answer: Any, filter: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(answer))
    (reject,) = read_articles(path)
    assert isinstance(reject, Reject)
    assert reject.reason == (
        f"the line is no article but holds some; convert it: jq -c '{filter}' FILE > FILE.jsonl"
    )


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"articles": []},
        {"articles": ["a"]},
        {"articles": {"a": 1}},
        {"my key": {"items": [{}]}},
        {"x": [{}]},
        {"a": {"b": {"items": [{}]}}},
    ],
)
def test_a_record_that_holds_no_articles_is_said_to_lack_its_fields(record: dict[str, Any]) -> None:
    assert why_not_one(record) is None


RECORDS = st.dictionaries(
    st.text(max_size=5) | st.sampled_from(["id", "text", "articles", "items"]),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(st.lists(RECORDS, min_size=1, max_size=4), st.booleans())
def test_lines_of_json_are_never_taken_for_something_else(records: list[Any], is_ascii: bool) -> None:
    lines = "\n".join(json.dumps(record, ensure_ascii=is_ascii) for record in records)
    assert why_not_lines("a.json", lines.encode("utf-8", "surrogatepass")) is None


@given(RECORDS.filter(bool), st.sampled_from([0, 2, "\t"]))
def test_an_object_over_several_lines_is_always_told(record: Any, indent: Any) -> None:
    for name in ("a.json", "<stdin>"):
        assert "jq -c '" in (why_not_lines(name, json.dumps(record, indent=indent).encode()) or "")
