"""Commands of the extra, `dedup judge`, and options of those that hold something against a truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

TruthOption = Annotated[
    Path | None,
    Option(
        "--truth",
        help="Known duplicates as JSONL, lines with the names `a`, `b`, `label`; `a`, `b`, `jaccard5`;"
        " or `cluster`, `ids`.",
    ),
]
MinJaccardOption = Annotated[
    float,
    Option(
        min=0,
        max=1,
        help="In a truth with `jaccard5`, pairs from this value on are duplicates; below, unclear.",
    ),
]
NewestOption = Annotated[int, Option("--newest", min=2, help="How many of the newest articles to take.")]
