"""The commands `dedup judge`, and options of all commands that compare marks with a truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

TruthOption = Annotated[
    Path | None,
    Option(
        "--truth",
        help="Known duplicates as JSONL; each line has `a`, `b`, `label`, or `a`, `b`, `jaccard5`,"
        " or `cluster`, `ids`.",
    ),
]
MinJaccardOption = Annotated[
    float,
    Option(
        min=0,
        max=1,
        help="In a truth with `jaccard5`, pairs with at least this value are duplicates; others are unclear.",
    ),
]
NewestOption = Annotated[int, Option("--newest", min=2, help="How many of the newest articles to use.")]
