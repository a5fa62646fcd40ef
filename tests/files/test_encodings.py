"""Files that are not UTF-8: the named encoding, the suggested encoding, and the byte order mark."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.files.readers import Reject
from dedup.files.source import check_encoding, guess_encoding
from tests.files.items import read

GERMAN = "Die Fähre nach Köln kam „zu spät“, sagte der Bürgermeister – größer als üblich"
TEXTS = {
    "cp1252": GERMAN,
    "mac_roman": GERMAN,
    "cp1251": "Паром опоздал, и никто на причале не удивился этому",
    "shift_jis": "フェリーが遅れたと市長は述べた",
    "gb18030": "市长星期一表示渡轮晚点码头上没有人感到惊讶",
    "utf-16-le": GERMAN,
    "utf-16-be": GERMAN,
}


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_in_the_encoding_that_is_said(tmp_path: Path, encoding: str, packed: bool) -> None:
    text = TEXTS[encoding]
    csv, jsonl = f'id,Title,text\n1,x,"{text}"\n', f'{{"id": 1, "title": "x", "text": "{text}"}}\n'
    for name, whole in (("a.csv", csv), ("a.jsonl", jsonl), ("a.json", f"[{jsonl}]")):
        content = whole.encode(encoding)
        items, reader = read(
            tmp_path / name, gzip.compress(content) if packed else content, encoding=encoding
        )
        assert items == [Article("1", text, "x")]
        assert reader.understood.encoding == encoding


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_encoding_to_try_is_told(encoding: str) -> None:
    assert guess_encoding(TEXTS[encoding].encode(encoding)) == encoding


def test_it_is_told_where_a_header_or_a_line_is_not_utf_8(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the header is not UTF-8; try --encoding cp1252$"):
        read(tmp_path / "a.csv", "id,text,Größe\n1,x,y\n".encode("cp1252"))
    items, reader = read(tmp_path / "a.csv", f'id,text\n1,plain\n2,"{GERMAN}"\n'.encode("cp1252"))
    assert items[0] == Article("1", "plain")
    assert [item.reason for item in items if isinstance(item, Reject)] == ["line is not UTF-8"]
    assert reader.understood.likely_encoding == "cp1252"
    assert "sagte" not in str(reader.understood)


def test_what_is_no_character_costs_its_line_and_no_other(tmp_path: Path) -> None:
    content = b"id,text\n1,caf\xe9\n2,none \x81\n3,\x93quoted\x94\n"
    items, _ = read(tmp_path / "a.csv", content, encoding="cp1252")
    assert [item for item in items if isinstance(item, Article)] == [
        Article("1", "café"),
        Article("3", "“quoted”"),
    ]
    assert [(i.line, i.reason) for i in items if isinstance(i, Reject)] == [(3, "line is not cp1252")]
    lone = "\ufeff" + '{"id": 1, "text": "a"}\n{"id": 2, "text": "\ud800"}\n'
    items, _ = read(tmp_path / "a.jsonl", lone.encode("utf-16-le", "surrogatepass") + b"\0")
    assert items[0] == Article("1", "a")
    assert {item.reason for item in items if isinstance(item, Reject)} == {"line is not UTF-16"}


def test_a_byte_order_mark_overrules_what_is_said(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        content = f"\ufeffid,text\n1,{'é'}\n".encode(encoding)
        assert read(tmp_path / "a.csv", content, encoding="cp1252")[0] == [Article("1", "é")]


@pytest.mark.parametrize("name", ["klingon", "base64", "zlib", "undefined", "idna", "punycode", ""])
def test_an_encoding_that_there_is_not_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"unknown encoding '.*'; usual ones are cp1252, utf-16"):
        check_encoding(name)
    with pytest.raises(InputError, match="unknown encoding"):
        read(tmp_path / "a.csv", b"id,text\n", encoding=name)


def test_utf_8_may_be_said(tmp_path: Path) -> None:
    items, reader = read(tmp_path / "a.csv", "id,text\n1,é\n".encode(), encoding="UTF8")
    assert (items, reader.understood.encoding) == ([Article("1", "é")], None)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(codec="cp1252", exclude_characters='"\r')), max_size=4),
    st.sampled_from(["cp1252", "utf-16", "utf-16-be", "utf-32", "utf-7", "gb18030"]),
)
def test_in_whatever_encoding_a_file_reads_the_same(tmp_path: Path, texts: list[str], encoding: str) -> None:
    whole = "id,text\n" + "".join(f'{number},"{text}"\n' for number, text in enumerate(texts))
    items, _ = read(tmp_path / "a.csv", whole.encode(encoding), encoding=encoding)
    assert items == [Article(str(number), text) for number, text in enumerate(texts)]
