"""Every section of docs/load.md is typed into a shell, on a fresh corpus, with files made by this module."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from dedup.cli import main
from dedup.db.database import URL_VARIABLE
from tests.files.feed_files import KEEPER, STORM, TRAMS, blocks, post, wordpress

PAGE = Path(__file__).parents[2] / "docs" / "load.md"
SECTIONS = dict(
    re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
)
MOST_COMMANDS = 5

STURM = (
    "Der Sturm hat am Donnerstag zwei Seile von der Hafenbrücke gerissen. Die Polizei hat sie für den Verkehr"
    " gesperrt. Die Reparatur dauert mindestens neun Tage, sagte die Bürgermeisterin."
)
BAHNEN = (
    "Die Straßenbahnen fahren ab Mai die ganze Nacht, hat der Stadtrat am Donnerstag beschlossen. Die"
    " Fahrkarten kosten so viel wie am Tag. Ein Zuschlag wurde mit drei Stimmen abgelehnt."
)
FERRY = (
    "The night ferry will stop at Port Marlow again from June, its owners said on Monday. It last did so"
    " eight years ago. Cabins can be booked from next week."
)


def exports_of_wordpress(folder: Path) -> None:
    courier = wordpress(
        post(1, blocks(STORM)),
        post(2, blocks(TRAMS), title="Council votes for night trams"),
        post(3, "", kind="attachment", status="inherit", title="bridge.jpg"),
        post(4, STORM, status="draft"),
    )
    site = "https://mercury.example"
    mercury = wordpress(
        post(2, f"{STORM}\n\nWhat do you think?", title="Nine days without a bridge", site=site),
        post(5, KEEPER, title="Last keeper leaves the lighthouse", site=site),
        title="Mercury",
        site=site,
    )
    (folder / "courier.xml").write_text(courier, "utf-8")
    (folder / "mercury.xml").write_text(mercury, "utf-8")


def excel(folder: Path) -> None:
    """Write an Excel export of a CMS as an editor saves it: a title above the table, and some dates as
    text."""
    pytest.importorskip("python_calamine")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Artikel"
    for row in (
        ["Export vom 14.03.2026"],
        [],
        ["Nr.", "Titel", "Zeitung", "Datum", "Ressort", "Volltext"],
        [
            4711,
            "Hafenbrücke nach Sturm gesperrt",
            "Nordkurier",
            datetime(2026, 3, 12, 6, 10),
            "Lokales",
            STURM,
        ],
        [4712, "Sturm sperrt Brücke", "Stadtbote", "12.03.2026 07:30", "Lokales", STURM],
        [4713, "Neun Tage ohne Brücke", "Abendpost", "12.03.2026 08:05 Uhr", "Panorama", f"(nk) {STURM}"],
        [4714, "Nachttram kommt", "Nordkurier", "12. März 2026", "Politik", BAHNEN],
        [4715, "Tram fährt die ganze Nacht", "Stadtbote", "13.03.2026", "Politik", BAHNEN],
    ):
        sheet.append(row)
    book.create_sheet("Auswertung")
    book.save(folder / "archiv.xlsx")


def newsapi(folder: Path) -> None:
    """Write an answer of a news service over several lines: without ids, one text cut and one text
    missing."""
    articles = [
        ("Courier", "Last keeper leaves the lighthouse", 1, "2026-03-13T09:00:00Z", KEEPER),
        ("Mercury", "A lighthouse without its keeper", 2, "2026-03-13T11:20:00Z", KEEPER),
        (
            "Evening Post",
            "Keeper leaves the northern light",
            3,
            "2026-03-13T17:45:00Z",
            f"{KEEPER} [+2105 chars]",
        ),
        ("Courier", "Night ferry to stop at Port Marlow", 4, "2026-03-16T08:00:00Z", FERRY),
        ("Mercury", "Ferry is back", 5, "2026-03-16T10:30:00Z", None),
    ]
    found = [
        {
            "source": {"id": None, "name": outlet},
            "author": None,
            "title": title,
            "description": FERRY if text is None else text[:60],
            "url": f"https://news.example/{number}",
            "urlToImage": None,
            "publishedAt": time,
            "content": text,
        }
        for outlet, title, number, time, text in articles
    ]
    answer = {"status": "ok", "totalResults": len(found), "articles": found}
    (folder / "everything.json").write_text(json.dumps(answer, indent=2), "utf-8")


FILES: dict[str, Callable[[Path], None]] = {
    "An Excel export with German dates": excel,
    "An answer of NewsAPI": newsapi,
    "WordPress": exports_of_wordpress,
}
"""Section of docs/load.md -> function that makes its files."""


def typed(section: str) -> list[tuple[str, str]]:
    """Return the commands of a section, each with the output that the section shows."""
    [transcript] = re.findall(r"^```console\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    return re.findall(r"^\$ ([^\n]+)\n(.*?)(?=^\$ |\Z)", transcript, re.MULTILINE | re.DOTALL)


def test_every_transcript_has_its_files_and_five_commands_at_most() -> None:
    assert {name for name, text in SECTIONS.items() if "```console" in text} == set(FILES)
    assert all(len(typed(name)) <= MOST_COMMANDS for name in FILES)


@pytest.mark.long("dedup", "migrations", "docs/load.md")
@pytest.mark.parametrize("section", FILES)
def test_what_the_page_types_answers_what_the_page_shows(
    section: str, database: object, corpus_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("trafilatura")
    FILES[section](tmp_path)
    for command, answer in typed(section):
        done = subprocess.run(
            [sys.executable, "-m", main.__name__, *command.split()[1:]],
            env={**os.environ, URL_VARIABLE: corpus_url, "COLUMNS": "200"},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert command.startswith("dedup ")
        assert (done.returncode, done.stdout) == (0, answer), command
