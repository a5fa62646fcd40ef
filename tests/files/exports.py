"""Exports of newsrooms: invented articles under various names and in every format."""

from __future__ import annotations

import csv
import io
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dedup.base.article import ARTICLE_FIELDS, Article, kept_json

FIRST = datetime(2020, 11, 10, 8, tzinfo=UTC)
WORDS = (
    "ferry", "pier", "mayor", "late", "Monday", "nobody", "café", "Überfahrt", "«гавань»", "港口", '"quoted"',
    "semi;colon", "a,b", "tab|bar",
)  # fmt: skip

ENGLISH: dict[str, str] = {name: name for name in ARTICLE_FIELDS}
NEWSROOM: dict[str, str] = {
    "source_id": "GUID",
    "text": "Article Body",
    "title": "Headline",
    "url": "Canonical-URL",
    "publication": " Site Name",
    "published_at": "pubDate",
    "added_at": "Added At",
    "language": "lang",
    "byline": "Author",
    "kept": "Kept",
    "scope": "Scope",
}
"""Field of an article -> name of its column."""


def articles(count: int, seed: int = 9) -> list[Article]:
    """Return invented articles; some optional fields are missing."""
    rng = random.Random(seed)

    def words(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    def maybe(value: Any) -> Any:
        return value if rng.random() < 0.9 else None

    return [
        Article(
            f"n-{number}",
            "\n".join(words(20) for _ in range(rng.randint(1, 5))),
            maybe(words(8)),
            maybe(f"https://news.example/{number}?a=1&b=2"),
            maybe(rng.choice(("Courier", "Пост", "The Late, Late Post"))),
            maybe(FIRST + timedelta(seconds=number * 61)),
            maybe(FIRST + timedelta(days=1, seconds=number)),
            maybe(rng.choice(("en", "ru", "zh"))),
            maybe(rng.choice(("Ada Roe", "Ana Día and Ждан Во", "By Vantage Wire"))),
            maybe({"desk": rng.choice(WORDS), "page": number, "tags": ["a", {"b": None}]}),
            "desk" if number % 3 else None,
        )
        for number in range(count)
    ]


def rows(found: list[Article], names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the articles as rows with these column names: times as datetimes, kept values as JSON, and a
    column that no test reads."""
    return [
        {names[name]: getattr(a, name) for name in names}
        | {names["kept"]: kept_json(a.kept), "Section": "Local"}
        for a in found
    ]


def write(path: Path, found: list[dict[str, Any]], delimiter: str = ",") -> Path:
    """Write rows into a file; its suffix decides the format."""
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(found), path, row_group_size=300)
        return path
    texts = [{name: str(v) if isinstance(v, datetime) else v for name, v in row.items()} for row in found]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in texts), "utf-8")
        return path
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(found[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(texts)
    path.write_text(file.getvalue(), "utf-8", newline="")
    return path
