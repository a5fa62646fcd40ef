"""Reports are single files without links to other files, and are made of the same parts as pages."""

from __future__ import annotations

import base64
import re
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest

from dedup import Deduplicator
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.cli.main import run
from dedup.db.database import URL_VARIABLE, Database
from dedup.extras.browse import report
from tests.extras.browse.conftest import Document

DAM = "vantage-0311-tarnhollow"


@pytest.fixture
def corpus(newsroom_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the newsroom, set as the corpus of the command line."""
    monkeypatch.setenv(URL_VARIABLE, newsroom_url)
    return newsroom_url


def stands_alone(page: str) -> str:
    """Check that a page loads nothing and that its policy allows its style only; return its text."""
    document = Document(page)
    assert document.unclosed == []
    for tag, attrs in document.tags:
        assert tag not in ("script", "link", "img", "form", "iframe")
        assert not {"style", "src"} & set(attrs)
        if "href" in attrs:  # links to the published article are allowed
            assert (tag, attrs["rel"]) == ("a", "noopener noreferrer")
            assert (attrs["href"] or "").startswith("https://")
    ids = [attrs["id"] for _, attrs in document.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    assert policy == f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;"
    return " ".join(document.words.split())


def test_a_day(corpus: str) -> None:
    with Deduplicator(corpus) as dd:
        page = report.of_day(dd, date(2026, 3, 11))
    words = stands_alone(page)
    assert "Wednesday 11 March 2026" in words
    assert words.count("Thousands leave homes below Tarn Hollow dam") > 3
    assert page.count('class="timeline"') == report.STORIES


def test_several_days_without_an_article(corpus: str) -> None:
    with Deduplicator(corpus) as dd:
        words = stands_alone(report.of_day(dd, date(2020, 1, 1), date(2020, 1, 5)))
    assert "Wednesday 1 January 2020 to Sunday 5 January 2020" in words
    assert "Nothing was copied." in words


def test_a_story_with_the_versions_that_differ_most(corpus: str) -> None:
    with Deduplicator(corpus) as dd:
        page = report.of_story(dd, "newsbasket-0311-tarnhollow-a")
    words = stands_alone(page)
    assert page.count('class="comparison"') == report.VERSIONS
    assert "<ins>" in page
    assert "Versions of one outlet" in words
    assert 'href="https://vantagewire.example/' in page


def test_a_search(corpus: str) -> None:
    with Deduplicator(corpus) as dd:
        words = stands_alone(report.of_search(dd, "spillway"))
        assert "Thousands leave homes below Tarn Hollow dam" in words
        assert "Nothing found." in stands_alone(report.of_search(dd, "nosuchwordanywhere"))


def test_a_search_needs_the_index(database: Database, corpus_url: str) -> None:
    with Deduplicator(corpus_url) as dd, pytest.raises(InputError, match="dedup init --search"):
        report.of_search(dd, "storm")


@pytest.mark.long("dedup", "migrations")
def test_the_command_writes_a_file_and_takes_nobodys_place(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "day.html"
    assert run(["report", "--day", "2026-03-11", "--last", "2026-03-12", "-o", str(out)]) == 0
    first = out.read_text("utf-8")
    assert "to Thursday 12 March 2026" in stands_alone(first)
    assert run(["report", "--story", DAM, "-o", str(out)]) == 2
    assert out.read_text("utf-8") == first
    assert run(["report", "--story", DAM, "-o", str(out), "--force"]) == 0
    assert "Thousands leave" in stands_alone(out.read_text("utf-8"))
    assert [path.name for path in tmp_path.iterdir()] == ["day.html"]


def test_without_a_day_it_is_the_newest(corpus: str, tmp_path: Path) -> None:
    out = tmp_path / "day.html"
    assert run(["report", "-o", str(out)]) == 0
    assert "Friday 13 March 2026" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--day", "yesterday"], 2, "like 2026-11-20"),
        (["--day", "2026-03-11", "--story", DAM], 2, "give only one of"),
        (["--last", "2026-03-11"], 2, "give --last only with --day"),
        (["--day", "2026-03-12", "--last", "2026-03-11"], 2, "before"),
        (["--story", "nobody"], 1, "nobody"),
    ],
)
def test_what_cannot_be_reported_is_said_and_nothing_is_written(
    corpus: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    assert run(["report", *arguments, "-o", str(tmp_path / "x.html")]) == code
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_it_is_named(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.extras.browse.commands.browse.REPORT_PACKAGES", ("no_such_package",))
    assert run(["report", "-o", str(tmp_path / "x.html")]) == 2
    assert installing("browse") in capsys.readouterr().err
