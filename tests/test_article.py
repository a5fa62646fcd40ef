"""Articles: what a caller may give, what is made of it, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.article import (
    ARTICLE_FIELDS,
    MAX_FIELD_BYTES,
    MAX_SOURCE_ID_BYTES,
    MAX_TEXT_CHARACTERS,
    Article,
    parse_time,
    storable,
    stored_size,
)
from dedup.errors import InputError, SettingError
from dedup.settings import Settings

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MOSCOW = timezone(timedelta(hours=3))


def refused(**values: Any) -> str:
    with pytest.raises(InputError) as caught:
        Article(**{"source_id": "a", "text": "b", **values})
    return str(caught.value)


def test_an_article_needs_a_key_and_a_text_only() -> None:
    article = Article("a", "")
    assert (article.source_id, article.text) == ("a", "")
    assert all(getattr(article, name) is None for name in ARTICLE_FIELDS if name not in ("source_id", "text"))


@pytest.mark.parametrize("value", [None, 7, b"bytes", ["a"]])
@pytest.mark.parametrize("name", ["source_id", "text"])
def test_key_and_text_are_strings(name: str, value: Any) -> None:
    assert refused(**{name: value}) == f"{name} must be a string, not {type(value).__name__}"


@pytest.mark.parametrize("name", ["title", "url", "publication", "language"])
def test_the_other_texts_are_strings_or_missing(name: str) -> None:
    assert refused(**{name: 7}) == f"{name} must be a string, not int"
    assert getattr(Article("a", "b", **{name: None}), name) is None
    given_texts: dict[str, Any] = {name: "x\0y\ud800z\tä"}
    assert getattr(Article("a", "b", **given_texts), name) == "xyz\tä"


@pytest.mark.parametrize("key", ["", " ", "\t\n", "\u00a0\u3000"])
def test_an_empty_key_is_refused(key: str) -> None:
    assert refused(source_id=key) == "source_id is empty"


@pytest.mark.parametrize("key", ["\0", "a\0b", "\ud800", "ä\udfff"])
def test_a_key_is_refused_rather_than_changed(key: str) -> None:
    assert "which Postgres cannot store" in refused(source_id=key)


@pytest.mark.parametrize("letter", ["a", "ä", "他", "🙂"])
def test_the_length_of_a_key_is_counted_in_bytes(letter: str) -> None:
    most = MAX_SOURCE_ID_BYTES // len(letter.encode())
    assert Article(letter * most, "b").source_id == letter * most
    assert refused(source_id=letter * (most + 1)) == f"source_id is longer than {MAX_SOURCE_ID_BYTES} bytes"


@pytest.mark.parametrize("name", MAX_FIELD_BYTES)
@pytest.mark.parametrize("letter", ["a", "ä", "🙂"])
def test_no_field_is_longer_than_its_bound(name: str, letter: str) -> None:
    most = MAX_FIELD_BYTES[name] // len(letter.encode())
    values: dict[str, Any] = {"source_id": "a", "text": "b", name: letter * most}
    assert getattr(Article(**values), name) == letter * most
    assert refused(**{name: letter * (most + 1)}) == f"{name} is longer than {MAX_FIELD_BYTES[name]} bytes"


def test_a_text_is_no_longer_than_any_corpus_can_read() -> None:
    assert Settings(text_max_characters=MAX_TEXT_CHARACTERS)
    with pytest.raises(SettingError):
        Settings(text_max_characters=MAX_TEXT_CHARACTERS + 1)
    text = "a" * MAX_TEXT_CHARACTERS
    assert Article("a", text).text is text
    assert refused(text=text + "a") == "text is longer than 50,000,000 characters"


@given(st.text(st.characters()), st.none() | st.text(st.characters()))
def test_the_size_of_an_article_is_that_of_its_texts(text: str, title: str | None) -> None:
    size = stored_size(Article("ä", text, title=title, published_at=NOON))
    assert size == 2 + len((text + storable(title or "")).encode("utf-8", "surrogatepass"))


def test_a_key_keeps_its_spaces_and_its_case() -> None:
    assert Article(" A b ", "").source_id == " A b "


def test_an_error_does_not_show_the_text() -> None:
    assert "secret" not in refused(text="secret", source_id="secret\0")


@pytest.mark.parametrize("name", ["published_at", "added_at"])
def test_times_are_utc(name: str) -> None:
    for given_time in (NOON, NOON.astimezone(MOSCOW), NOON.replace(tzinfo=None)):
        times: dict[str, Any] = {name: given_time}
        made = getattr(Article("a", "b", **times), name)
        assert made == NOON
        assert made.tzinfo is UTC
    assert refused(**{name: "2024-05-01"}) == f"{name} must be a datetime, not str"
    assert refused(**{name: date(2024, 5, 1)}) == f"{name} must be a datetime, not date"
    beyond = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    assert refused(**{name: beyond}) == f"{name} is outside the years 1 to 9999"
    before = datetime.min.replace(tzinfo=MOSCOW)
    assert refused(**{name: before}) == f"{name} is outside the years 1 to 9999"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-01T12:00:00Z ", NOON),
        ("2024-05-01 12:00", NOON),
        ("2024-05-01T15:00:00+03:00", NOON),
        ("20240501T120000Z", NOON),
        (NOON.astimezone(MOSCOW), NOON),
        (NOON.replace(tzinfo=None), NOON),
    ],
)
def test_times_that_can_be_read(value: Any, expected: datetime | None) -> None:
    assert parse_time(value, "published_at") == expected


@pytest.mark.parametrize("value", ["yesterday", "2024-13-01", "01/05/2024", "2024-05-01T25:00", "\0", " "])
def test_texts_that_are_no_time(value: str) -> None:
    with pytest.raises(InputError, match="published_at is not an ISO 8601 time"):
        parse_time(value, "published_at")


@pytest.mark.parametrize("value", [0, 1714564800, 1.5, True, ["2024"], {}])
def test_types_that_are_no_time(value: Any) -> None:
    with pytest.raises(InputError, match=f"added_at must be an ISO 8601 string, not {type(value).__name__}"):
        parse_time(value, "added_at")


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_time_beyond_the_calendar_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="outside the years 1 to 9999"):
        parse_time(value, "published_at")


TIMES = st.datetimes(timezones=st.one_of(st.none(), st.timezones(), st.just(UTC)))


@given(TIMES)
def test_a_time_comes_back_from_its_text(value: datetime) -> None:
    try:
        made = Article("a", "b", published_at=value).published_at
    except InputError as error:
        assert "outside the years" in str(error)  # noqa: PT017
        return
    assert made is not None
    assert parse_time(made.isoformat(), "published_at") == made
    if value.utcoffset() is None:
        assert made.replace(tzinfo=None) == value
    else:
        assert made == value.astimezone(UTC)


@given(st.text(st.characters(), max_size=30))
def test_storable_drops_what_utf8_and_postgres_cannot_hold_and_nothing_else(text: str) -> None:
    expected = "".join(c for c in text if c != "\0" and not 0xD800 <= ord(c) <= 0xDFFF)
    assert storable(text) == expected
    assert storable(text).encode().decode() == expected


@given(st.text(st.characters(), max_size=30))
def test_any_key_makes_an_article_or_a_clear_error(key: str) -> None:
    try:
        assert Article(key, "").source_id == key
    except InputError as error:
        assert str(error).startswith("source_id")  # noqa: PT017
