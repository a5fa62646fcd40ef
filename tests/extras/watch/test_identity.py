"""Ids of polled entries lie within their feed's site, whatever ids the entries claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.article import Article
from dedup.extras.watch.identity import ids_of, site_of
from dedup.files.feeds import resolve_address
from tests.loops import each

pytest.importorskip("tld")


@each(
    ("address", "site"),
    [
        ("https://www.courier.co.uk/feed", "courier.co.uk"),
        ("http://RSS.Courier.co.uk:8080/", "courier.co.uk"),
        ("https://news.courier.example/", "courier.example"),
        ("https://alice.github.io/feed", "alice.github.io"),  # other sites of github.io belong to strangers
        ("https://courier.example@evil.example/", "evil.example"),
        ("http://127.0.0.1:8000/feed", "127.0.0.1:8000"),
        ("http://[::1]:8000/feed", "::1:8000"),
        ("http://localhost/feed", "localhost"),
        ("urn:uuid:1", None),
        ("http://[", None),
        ("http://a\u2100b/", None),
        ("http://a.example:99999/", None),
    ],
)
def test_a_site_is_a_registrable_domain(address: str, site: str | None) -> None:
    assert site_of(address) == site


def test_an_address_that_cannot_be_read_is_joined_to_none() -> None:
    assert resolve_address("https://courier.example/", "/story") == "https://courier.example/story"
    assert [
        resolve_address("https://courier.example/", link) for link in ("http://[", "//[x", "http://a\u2100b/")
    ] == [None] * 3
    assert resolve_address("http://[", "/story") is None


@each(
    ("claimed", "link", "shared", "own"),
    [
        (
            "https://www.courier.example/a",
            "https://www.courier.example/a",
            "https://www.courier.example/a",
            True,
        ),
        ("www.courier.example/8812", "https://courier.example/8812", "www.courier.example/8812", True),
        ("urn:1", "https://courier.example/1", "courier.example/urn:1", True),
        (
            "https://old.example/?p=1",
            "https://courier.example/1",
            "courier.example/https://old.example/?p=1",
            True,
        ),
        ("https://courier.example/a", "https://evil.example/a", None, True),
        ("w1", None, None, True),
        ("x" * 1_025, "https://courier.example/1", None, False),
        ("a\0b", "https://courier.example/1", None, False),
        ("a\ud83d", "https://courier.example/1", None, False),
    ],
)
def test_an_entry_goes_by_ids_of_the_site_of_its_feed(
    claimed: str, link: str | None, shared: str | None, own: bool
) -> None:
    feed = "https://rss.courier.example/feed"
    ids = ids_of(feed, claimed, link)
    assert ids.shared == shared
    assert (ids.own == f"{feed}#{claimed}") == own
    assert Article(ids.own, "").source_id == ids.own
    assert ids_of(feed, claimed, link) == ids
    assert ids_of(f"{feed}2", claimed, link).own != ids.own


HOSTS = st.sampled_from(
    ["courier.example", "www.courier.example", "127.0.0.1:80", "[::1]", "[", "x\u2100y", ""]
)
CLAIMS = st.text(max_size=12) | st.builds(
    "{}{}{}".format, st.sampled_from(["http://", "https:", "", "//"]), HOSTS, st.text(max_size=5)
)


@given(CLAIMS, CLAIMS | st.none())
def test_no_entry_of_a_stranger_goes_by_an_id_of_another_site(claimed: str, link: str | None) -> None:
    ids = ids_of("https://evil.example/feed", claimed, link)
    for made in (ids.shared, ids.own):
        if made is not None:
            assert made.startswith(("https://evil.example/", "http://evil.example/", "evil.example/"))
