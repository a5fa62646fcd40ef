"""Settings: defaults that fit together, values parsed from texts, and refusals of other values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.errors import SettingError
from dedup.base.settings import Settings
from tests.loops import each

NUMBERS = {item.name: item for item in fields(Settings) if item.metadata["low"] is not None}
WHOLE = sorted(name for name, item in NUMBERS.items() if isinstance(item.default, int))
REAL = sorted(name for name, item in NUMBERS.items() if isinstance(item.default, float))
TEXTS = sorted({item.name for item in fields(Settings)} - NUMBERS.keys())


def refused(**values: Any) -> str:
    """Return the message of the error that both `with_values` and `Settings` raise."""
    with pytest.raises(SettingError) as caught:
        Settings().with_values(values)
    with pytest.raises(SettingError) as again:
        Settings(**values)
    assert str(again.value) == str(caught.value)
    return str(caught.value)


def test_every_setting_says_what_it_is() -> None:
    for item in fields(Settings):
        assert item.metadata["kind"] in ("fingerprint", "rule", "window"), item.name
        assert item.metadata["about"], item.name
        assert type(item.default) in (int, float, str), item.name
    assert WHOLE
    assert REAL
    assert [
        *("canonical_order", "damaged_print", "default_language"),
        *("hash_key", "keep_window", "stop_words"),
    ] == TEXTS


@each("name", [*WHOLE, *REAL])
def test_values_out_of_range_are_refused(name: str) -> None:
    low, high = NUMBERS[name].metadata["low"], NUMBERS[name].metadata["high"]
    step = 1 if name in WHOLE else 0.001
    for value in (low - step, high + step, -1, str(high + step)):
        message = refused(**{name: value})
        assert name in message
        assert f"between {low:,} and {high:,}" in message


@each("name", WHOLE)
def test_the_ends_of_every_range_are_allowed(name: str) -> None:
    low, high = NUMBERS[name].metadata["low"], NUMBERS[name].metadata["high"]
    room = {"signature_size": 512, "bands": 1, "rows": 1}
    for value in (low, high):
        others = {other: number for other, number in room.items() if other != name}
        assert getattr(Settings(**{**others, name: value}), name) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7.5, "7.5"), ("7.5", "'7.5'"), ("many", "'many'"), ("", "''"), (float("nan"), "nan"),
        (float("inf"), "inf"), ("9" * 5_000, "'999"), (True, ""), (None, ""), ([64], ""),
    ],
)  # fmt: skip
@each("name", WHOLE)
def test_what_is_no_whole_number_is_refused(name: str, value: Any, shown: str) -> None:
    message = refused(**{name: value})
    assert message.startswith(f"{name} must be a whole number")
    assert shown in message


@each("value", ["many", "", True, None, [0.5], 10**400])
@each("name", REAL)
def test_what_is_no_number_is_refused(name: str, value: Any) -> None:
    assert refused(**{name: value}).startswith(f"{name} must be a number")


@each("value", ["nan", "inf", "-inf", float("nan"), float("inf")])
@each("name", REAL)
def test_a_threshold_is_finite(name: str, value: Any) -> None:
    assert refused(**{name: value}).startswith(f"{name} must be between 0 and 1")


@each("value", [True, None, ["a"], "NUL \0", "lone \ud800"])
@each("name", TEXTS)
def test_what_is_no_text_for_postgres_is_refused(name: str, value: Any) -> None:
    assert name in refused(**{name: value})


def test_a_choice_is_one_of_the_choices() -> None:
    assert refused(canonical_order="random") == "canonical_order must be one of published, added"
    assert Settings(canonical_order="added").canonical_order == "added"


@each("value", ["90", "d", "-1d", "0d", "1.5y", "2 years", "1000y", "9999999d", "forever"])
def test_what_is_no_window_is_refused(value: str) -> None:
    assert "keep_window must be a number of days, weeks or years such as 90d" in refused(keep_window=value)


@pytest.mark.parametrize(
    ("value", "days"), [("", None), ("90d", 90), ("12w", 84), ("2y", 730), ("999y", 364635)]
)
def test_a_window_is_so_many_days(value: str, days: int | None) -> None:
    assert Settings(keep_window=value).keep_days == days


def test_settings_that_contradict_each_other_are_refused() -> None:
    assert refused(signature_size=63) == "bands * rows is 64, more than signature_size 63"
    assert refused(bands=17, rows=16) == "bands * rows is 272, more than signature_size 256"
    assert Settings(bands=16, rows=16).signature_size == 256
    assert refused(similar_containment=0) == "similar_containment must be above 0"
    for channel in ("sentence", "signature"):
        low, high = f"similar_{channel}_jaccard", f"duplicate_{channel}_jaccard"
        for values in ({low: 0.9}, {high: 0.1}, {low: 0}, {low: 0.51, high: 0.5}):
            assert refused(**values) == f"{low} must be above 0 and at most {high}"
        assert getattr(Settings().with_values({low: 0.5, high: 0.5}), low) == 0.5


def test_texts_are_read_as_the_type_of_the_setting() -> None:
    read = Settings().with_values(
        {
            "bands": "8",
            "signature_size": 128.0,
            "similar_sentence_jaccard": "0.25",
            "duplicate_sentence_jaccard": 1,
            "stop_words": "der die das",
        }
    )
    assert read.bands == 8
    assert read.signature_size == 128
    assert read.similar_sentence_jaccard == 0.25
    assert read.duplicate_sentence_jaccard == 1.0
    assert read.stop_words == "der die das"
    for item in fields(Settings):
        assert type(getattr(read, item.name)) is type(item.default), item.name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SettingError, match="unknown setting 'band'"):
        Settings().with_values({"band": 4})
    with pytest.raises(SettingError, match="unknown setting ''"):
        Settings().with_values({"": 4, "bands": "not read"})


def test_settings_are_not_changed_but_replaced() -> None:
    settings = Settings()
    assert settings.with_values({"bands": 8}).bands == 8
    assert settings.bands == Settings().bands == 16
    assert settings.with_values({}) == settings
    with pytest.raises(FrozenInstanceError):
        settings.bands = 8  # type: ignore[misc]


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "text_min_words": st.integers(1, 1_000),
        "bands": st.integers(1, 16),
        "rows": st.integers(1, 4),
        "duplicate_sentence_jaccard": st.floats(0.3, 1),
        "similar_signature_jaccard": st.floats(0.01, 0.5),
        "similar_containment": st.floats(0.01, 1),
        "earliest_year": st.integers(1, 9999),
        "stop_words": st.text("ab ", max_size=5),
        "hash_key": st.text("ab ", max_size=5),
        "canonical_order": st.sampled_from(["published", "added"]),
        "keep_window": st.sampled_from(["", "90d", "12w", "2y"]),
    },
)


@given(VALUES)
def test_settings_survive_as_texts(values: dict[str, Any]) -> None:
    settings = Settings(**values)
    as_texts = {item.name: str(getattr(settings, item.name)) for item in fields(Settings)}
    assert Settings().with_values(as_texts) == settings


@given(VALUES, VALUES)
def test_digests_tell_settings_of_their_kind_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = Settings(**one), Settings(**other)
    for kind in ("fingerprint", "rule", "window"):
        same = all(
            getattr(first, item.name) == getattr(second, item.name)
            for item in fields(Settings)
            if item.metadata["kind"] == kind
        )
        assert (first.digest(kind) == second.digest(kind)) == same


def test_a_digest_does_not_depend_on_how_a_value_was_written() -> None:
    assert Settings(duplicate_sentence_jaccard=1).digest("rule") == (
        Settings(duplicate_sentence_jaccard="1.0").digest("rule")  # type: ignore[arg-type]
    )


def test_the_default_language_is_left_to_the_model() -> None:
    # The version of fingerprints depends on the sentence parameters, not on the language that chooses them.
    assert Settings(default_language="de").digest("fingerprint") == Settings().digest("fingerprint")
