"""Addresses are distinguished from paths, and are shown without their secrets."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files.packed import Address, find_address
from dedup.files.readers import read_articles, rejects_path


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("s3://bucket/a/news.jsonl.gz", "s3://bucket/a/news.jsonl.gz"),
        ("HTTPS://x.example/news.jsonl?sig=secret#secret", "https://x.example/news.jsonl"),
        ("https://user:secret@x.example:8443/a@b.csv", "https://x.example:8443/a@b.csv"),
        ("https://user:secret/secret@x.example/a.csv", "https://…/a.csv"),
        ("https://user:secret?@x.example/a.csv", "https://…/a.csv"),
        ("https://x.example?sig=secret", "https://x.example"),
        ("s3://bucket/a#1?.csv", "s3://bucket/a#1?.csv"),
        ("http://[::1]:80/a.csv", "http://[::1]:80/a.csv"),
    ],
)
def test_an_address_is_shown_without_login_and_query(given: str, shown: str) -> None:
    found = find_address(given)
    assert isinstance(found, Address)
    assert (found, found.url) == (shown, given)


@pytest.mark.parametrize("path", ["-", "news.jsonl", "/a/b:c.csv", "a:b", "C:/news.csv", "://x", "s3:/x"])
def test_a_path_stays_a_path(path: str) -> None:
    assert type(find_address(path)) is str
    assert find_address(path) == path


def test_the_file_of_refused_records_has_no_secret_in_its_name() -> None:
    assert str(rejects_path("https://x.example/a/news.csv?sig=secret")) == "news.csv.rejects.jsonl"
    assert str(rejects_path("s3://bucket/")) == "bucket.rejects.jsonl"


def test_without_its_package_an_address_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: EntryPoint) -> None:
        raise ModuleNotFoundError("No module named 'fsspec'", name="fsspec")

    monkeypatch.setattr(EntryPoint, "load", missing)
    with pytest.raises(InputError) as caught:
        read_articles("s3://bucket/news.csv")
    assert str(caught.value) == f"address needs fsspec: run `{installing('fsspec')}`"
