"""Kept values: a value of any form becomes JSON within bounds, or is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup import Article
from dedup.base.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def kept(values: Any) -> Any:
    return Article("a", "words", kept=values).kept


def test_values_of_programs_become_values_of_json() -> None:
    given = {
        "topic": "weather",
        "page": 3,
        "price": Decimal("1.50"),
        "day": date(2026, 3, 1),
        "seen": datetime(2026, 3, 1, 8, tzinfo=UTC),
        "tags": ("a", "b"),
        "about": {"x": [1, None]},
        "nothing": None,
        "no number": float("nan"),
        "nul\0": "x\0y\ud800",
    }
    assert kept(given) == {
        "topic": "weather",
        "page": 3,
        "price": 1.5,
        "day": "2026-03-01",
        "seen": "2026-03-01T08:00:00+00:00",
        "tags": ["a", "b"],
        "about": {"x": [1, None]},
        "nul": "xy",
    }
    assert given["nothing"] is None, "the given values must not change"
    assert kept({}) is None
    assert kept({"a": None}) is None


def test_a_long_text_is_cut_and_another_long_value_left_out() -> None:
    assert kept({"text": "x" * 9_000, "list": ["x"] * 2_000, "short": ["x"]}) == {
        "text": "x" * 4_096,
        "short": ["x"],
    }


@pytest.mark.parametrize(
    "values", ["topic", ["topic"], {1: "x"}, {"a": b"x"}, {"a": object()}, {"a": {2: 1}}]
)
def test_what_is_no_object_of_json_is_refused(values: Any) -> None:
    with pytest.raises(InputError, match=r"^kept "):
        kept(values)


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deeply"):
        kept({"a": deep})


@pytest.mark.long("dedup/base")
@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_what_is_kept_is_json_for_postgres_and_is_kept_again_as_it_is(values: dict[str, Any]) -> None:
    found = kept(values)
    assert kept(found or {}) == found
    assert "\\u0000" not in json.dumps(found, allow_nan=False)


def test_articles_are_equal_by_what_they_keep_and_logs_have_names_only() -> None:
    one, other = (Article("a", "words", kept={"topic": topic}) for topic in ("secret", "public"))
    assert one != other
    assert hash(one) == hash(other)
    assert "kept=<topic>" in repr(one)
    assert "secret" not in repr(one)
