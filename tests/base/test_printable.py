"""Text of strangers is made harmless: no terminal or spreadsheet obeys it, and no value of JSON is
changed."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.base.printable import JOINERS, as_json, guarded, printable, printable_lines

ANY = st.text(
    st.characters() | st.sampled_from("\x1b\x07\x7f\x9b\x85\r\n\t\u202e\u2066\u2028\ufeff\ud800\u200d")
)
HARMFUL = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] in "CZ"]
HARMFUL = sorted(set(HARMFUL) - set(" " + JOINERS))


@pytest.mark.long("dedup", "migrations")
def test_every_harmful_character_is_replaced_and_no_other() -> None:
    assert {"\x00", "\x1b", "\x7f", "\x80", "\x9f", "\u061c", "\u200e", "\u200f", "\u2028"} <= set(HARMFUL)
    assert {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))} <= set(HARMFUL)
    assert set(printable("".join(HARMFUL))) == {" ", "\ufffd"}
    kept = "".join(sorted(set(map(chr, range(sys.maxunicode + 1))) - set(HARMFUL)))
    assert printable(kept) == kept


@given(ANY)
@example("می‌خواهم")
@example("👩‍👩‍👧")
def test_a_text_keeps_its_length_and_its_printable_characters(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert all(c.isprintable() or c in JOINERS for c in shown)
    assert all(a == b for a, b in zip(text, shown, strict=True) if a.isprintable() or a in JOINERS)
    assert printable(shown) == shown
    assert printable_lines(text).replace("\n", " ") == shown


@pytest.mark.long("dedup/base")
@given(
    st.recursive(
        ANY | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(ANY, x), max_leaves=5
    )
)
@example(["\x7f", "\ud800", "\U000e0041", "\u00a0", "\\u202e", '"\u2028'])
def test_json_is_harmless_and_the_same_value(value: object) -> None:
    for indent in (None, 2):
        text = as_json(value, indent=indent)
        assert json.loads(text) == json.loads(json.dumps(value))
        assert all(
            c.isprintable() or c in JOINERS or unicodedata.category(c) == "Zs" or c == "\n" for c in text
        )
    assert "\n" not in as_json(value)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "＝1", "=", "\t"]
)
def test_a_cell_that_a_spreadsheet_would_run_is_guarded(text: str) -> None:
    assert guarded(text) == f"'{printable(text)}"


@pytest.mark.parametrize("text", ["", " ", "a=1", "1-1", "'=1", "http://x.example/?a=b", "é@x"])
def test_other_cells_are_as_they_are(text: str) -> None:
    assert guarded(text) == text
