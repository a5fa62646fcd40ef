"""Hard cases: seeded corpora of invented news with known truth, by kind of difficulty.

    generate("wire-300", seed=1, folder="cases")     # wire-300.jsonl.gz, wire-300.truth.jsonl.gz

`dedup load` reads the articles, `extras/judging/truth.py` the truth. Equal seeds give equal articles.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from dedup.base.errors import InputError
from dedup.extras.lab.hard_cases import ocr, parts, repeated, spelling, wire
from dedup.extras.lab.hard_cases.case import Case

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("wire-300", "one wire story in 300 papers, among 900 other articles", wire.make),
        Case("wire-300-rewritten", "the same, with stronger cuts and edits", partial(wire.make, least=0.0)),
        Case(
            "boilerplate-10000",
            "10,000 articles with one boilerplate, 100 of them twice",
            repeated.make_boilerplate,
        ),
        Case(
            "templates",
            "items by bots that differ only in numbers and places; 50 sent twice",
            repeated.make_templates,
        ),
        Case("live-blogs", "pages that grow, version by version", parts.make_live_blogs),
        Case("spelling", "the same articles in other spelling and punctuation", spelling.make),
        Case("ocr", "the same articles with 0 to 20 % of characters misread", ocr.make),
        Case("excerpts", "10 to 90 % of an article, from the top or the middle", parts.make_excerpts),
        Case("digest", "pages that hold six articles", parts.make_digests),
    )
}

FIELDS = ("source_id", "title", "publication", "published_at", "language", "text")  # in the order in the file


def generate(name: str, seed: int, folder: str | Path, **sizes: int) -> tuple[Path, Path]:
    """Write a case, with `sizes` instead of its default sizes; returns the paths of articles and truth."""
    if name not in CASES:
        raise InputError(f"no hard case is called {name!r}; there are {', '.join(CASES)}")
    made = CASES[name].make(seed, **sizes)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    articles, truth = home / f"{name}.jsonl.gz", home / f"{name}.truth.jsonl.gz"
    _write(articles, ({name: getattr(article, name) for name in FIELDS} for article in made.articles))
    _write(truth, map(asdict, made.truth))
    return articles, truth


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    fresh = path.with_name(f"{path.name}.new")
    try:
        # The header has no name and no time, so that equal records give equal bytes.
        with fresh.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            for record in records:
                known = {key: value for key, value in record.items() if value is not None}
                line = json.dumps(known, ensure_ascii=False, default=datetime.isoformat)
                file.write(line.encode() + b"\n")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
