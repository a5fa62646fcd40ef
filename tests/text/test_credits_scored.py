"""Agency credits that people marked in newspapers of 1841 to 1999, in texts read by OCR."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import TextTask
from dedup.db.database import Database
from dedup.store import credits

# Agencies that the annotators name differently: their name, and the name in dedup's list.
NAMES = {
    "ATS/SDA": "Keystone-SDA",
    "UP/UPI": "UPI",
    "Extel": "Exchange Telegraph",
    "Europapress": "Europa Press",
}
UNLISTED = {"other", "unnamed"}


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize(("language", "least"), [("fr", 0.75), ("de", 0.72)])
def test_credits_that_people_marked_are_found(
    database: Database, shared_data: Path, language: str, least: float
) -> None:
    with database.transaction() as cursor:
        reader = credits.make_reader(cursor)
    texts = {article["id"]: article["text"] for article in lines(shared_data / "credits_ocr_a.jsonl.gz")}
    right = wrong = missed = 0
    for truth in lines(shared_data / "credits_ocr_a.truth.jsonl.gz"):
        if truth["language"] == language:
            marked = {NAMES.get(one, one) for one in truth["agencies"]} - UNLISTED
            overlooked = {NAMES.get(one, one) for one in truth.get("unmarked", ())}
            task = TextTask(1, 1, language, None, texts[truth["a"]])
            found = {reader.names[agency] for agency, _ in reader.read(task).credits} - overlooked
            right += len(found & marked)
            wrong += len(found - marked)
            missed += len(marked - found)
    assert right / (right + missed) >= least
    assert right / (right + wrong) >= 0.95
