"""Check the marks of the demonstration: `python -m dedup.cli.demo`. Exit code 3 if a mark is wrong."""

from __future__ import annotations

import sys

from dedup.cli import output
from dedup.cli.newsroom import newsroom
from dedup.cli.shared import corpus


def main() -> int:
    with corpus(make=True) as dd:
        marks: dict[str, tuple[str, str | None]] = {
            row["id"]: (row["status"], row["duplicate_of"]) for row in dd.marks()
        }
    articles = newsroom()
    wrong = []
    for article in articles:
        expected = (article["expect"]["status"], article["expect"]["duplicate_of"])
        found = marks.get(article["source_id"], ("missing", None))
        if found != expected:
            wrong.append((article["source_id"], article["kind"], *found, *expected))
    if wrong:
        columns = ("id", "kind", "status", "duplicate_of", "expected", "expected duplicate_of")
        output.table("marks that differ from the expected marks", columns, wrong)
    right = len(articles) - len(wrong)
    output.say("")
    output.say(f"{right} of {len(articles)} articles are marked as their authors meant")
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
