"""Command `dedup judge` of the extra `judging`, and options of commands that use a truth file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

TruthOption = Annotated[
    Path | None,
    Option(
        "--truth",
        help="JSONL file of known duplicates. Each line has `a`, `b` and `label`; or `a`, `b` and `jaccard5`;"
        " or `cluster` and `ids`.",
    ),
]
MinJaccardOption = Annotated[
    float,
    Option(
        min=0,
        max=1,
        help="In a truth file, pairs with at least this `jaccard5` are duplicates; other pairs are unclear.",
    ),
]
NewestOption = Annotated[int, Option("--newest", min=2, help="Compare at most this many newest articles.")]
