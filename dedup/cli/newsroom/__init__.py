"""An invented newsroom: 82 articles with a description in `kind`, and the expected mark in `expect`."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def newsroom() -> list[dict[str, Any]]:
    """Return the articles of the demonstration, in the order of the file."""
    lines = (resources.files("dedup.cli.newsroom") / "newsroom.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
