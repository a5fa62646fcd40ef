"""Articles: accepted input, its canonical form, and refusals."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.article import (
    ARTICLE_FIELDS,
    MAX_FIELD_BYTES,
    MAX_SOURCE_ID_BYTES,
    MAX_TEXT_CHARACTERS,
    Article,
    storable,
    stored_size,
)
from dedup.base.errors import InputError, SettingError
from dedup.base.settings import Settings

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


@pytest.mark.parametrize("value", [7, b"bytes", ["a"]])
@pytest.mark.parametrize("name", ["source_id", "text"])
def test_key_and_text_are_strings(name: str, value: Any) -> None:
    assert refused(**{name: value}) == f"{name} must be a string, not {type(value).__name__}"


def test_an_article_without_a_text_is_refused() -> None:
    assert refused(text=None) == "an article needs its text: give text or html"
    assert refused(source_id=None) == "source_id must be a string, not NoneType"


def test_an_article_of_html_has_its_text() -> None:
    pytest.importorskip("trafilatura")
    page = "<html><body><h1>Ferry</h1><p>The ferry was late.</p></body></html>"
    article = Article("a", html=page, title="Ferry")
    assert "The ferry was late." in article.text
    assert "<" not in article.text
    assert article == Article("a", article.text, "Ferry")
    assert refused(html=page) == "an article has a text or its html: give one of the two"
    assert refused(text=None, html=7) == "html must be a string, not int"
    assert refused(text=None, html="<p> </p>") == "the HTML has no text"


def test_what_is_shown_of_an_article_is_not_its_text() -> None:
    article = Article("a", "secret " * 200, "Ferry", published_at=NOON)
    assert "secret" not in repr(article) + str(article) + f"{[article]}"
    assert repr(article) == (
        "Article(source_id='a', text=<1,400 characters>, title='Ferry', published_at="
        "datetime.datetime(2024, 5, 1, 12, 0, tzinfo=datetime.timezone.utc))"
    )


def test_an_article_is_a_value() -> None:
    article = Article("a", "b", title="c", published_at=NOON)
    assert replace(article, text="d") == Article("a", "d", "c", published_at=NOON)
    assert replace(article, added_at=NOON.isoformat()).added_at == NOON  # type: ignore[arg-type]
    assert len({article, Article("a", "b", "c", published_at=NOON)}) == 1
    assert pickle.loads(pickle.dumps(article)) == copy(article) == article
    assert article != replace(article, source_id="b")
    with pytest.raises(FrozenInstanceError):
        article.text = "d"  # type: ignore[misc]
    assert not hasattr(article, "__dict__")
    with pytest.raises(InputError):
        replace(article, title=7)  # type: ignore[arg-type]


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
    midnight = datetime(2024, 5, 1, tzinfo=UTC)
    given_days: list[Any] = [date(2024, 5, 1), "2024-05-01", 20240501, 1714521600, 1714521600000, midnight]
    for day in given_days:
        days: dict[str, Any] = {name: day}
        assert getattr(Article("a", "b", **days), name) == midnight
    assert refused(**{name: "yesterday"}) == f"{name} is not a time; write it like 2024-05-01T12:00:00Z"
    assert refused(**{name: True}) == f"{name} must be a time, not bool"
    beyond = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    assert refused(**{name: beyond}) == f"{name} is outside the years 1 to 9999"
    before = datetime.min.replace(tzinfo=MOSCOW)
    assert refused(**{name: before}) == f"{name} is outside the years 1 to 9999"


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
