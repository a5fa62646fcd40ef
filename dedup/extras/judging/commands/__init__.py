"""Command `dedup judge` of the extra `judging`, and options of commands that use a truth file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

TruthOption = Annotated[
    Path | None,
    Option(
        "--truth",
        help="JSONL file of known duplicates; each line has `a`, `b`, `label`, or `a`, `b`, `jaccard5`,"
        " or `cluster`, `ids`.",
    ),
]
MinJaccardOption = Annotated[
    float,
    Option(
        min=0,
        max=1,
        help="In a truth with `jaccard5`, pairs with at least this value are duplicates, lower are unclear.",
    ),
]
NewestOption = Annotated[int, Option("--newest", min=2, help="Maximum number of newest articles.")]
