"""An invented newsroom, written for this project: 82 articles whose marks are known.

Every line of `newsroom.jsonl` says in `kind` what the article is and in `expect` what its mark must be,
so the demonstration is also a test.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def newsroom() -> list[dict[str, Any]]:
    """The articles of the demonstration, in the order of the file."""
    lines = (resources.files("dedup.cli.newsroom") / "newsroom.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
