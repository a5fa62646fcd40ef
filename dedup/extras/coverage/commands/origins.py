"""Command `dedup origins`: the independent origins of a set of articles."""

from __future__ import annotations

from typing import Annotated

from rich.text import Text
from typer import Argument, Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.shared import JsonOption, corpus


def origins(
    source_ids: Annotated[
        list[str] | None, Argument(metavar="SOURCE_ID", help="Your ids of articles.")
    ] = None,
    words: Annotated[str | None, Option(help="Only articles with all these words.")] = None,
    publication: Annotated[str | None, Option(help="Only articles of this publication.")] = None,
    language: Annotated[str | None, Option(help="Only articles in this language.")] = None,
    credit: Annotated[str | None, Option(help="Only articles that credit this agency.")] = None,
    day: Annotated[str | None, Option(metavar="DAY", help="Only articles of this day (UTC).")] = None,
    first: Annotated[str | None, Option(metavar="DAY", help="Only articles from this day on.")] = None,
    last: Annotated[str | None, Option(metavar="DAY", help="Only articles up to this day.")] = None,
    limit: Annotated[int, Option(min=1, help="Maximum number of origins to list.")] = 20,
    json: JsonOption = False,
) -> None:
    """Count the independent origins of articles, and list the origins.

    Copies count once. A text that credits an agency belongs to the agency, also if no article of the agency
    is stored. Other texts belong to the outlet that printed the original; `dedup outlets` joins outlets of
    one owner. All unknown outlets count as one origin. Pending and failed articles are counted separately,
    and have no origin.

    Without options and ids the command counts the whole corpus. Words need the index of
    `dedup init --search`. In SQL, `dedup.origins(ids)` does the same.

    **Examples**

        dedup origins --day 2026-03-12 --words "harbour storm"

        dedup origins a1 a2 a3
    """
    if day is not None:
        if first is not None or last is not None:
            raise InputError("give --day, or --first and --last")
        first = last = day
    with corpus() as dd:
        found = dd.origins(
            source_ids or None,
            words=words,
            publication=publication,
            language=language,
            credit=credit,
            first=first,
            last=last,
            limit=limit,
        )
    if json:
        output.write_json(found.as_dict())
        return
    output.console().print(Text(output.printable(str(found))), soft_wrap=True)
    if found.origins:
        output.table(
            "",
            ("origin", "kind", "texts", "articles", "outlets"),
            (
                (one.name or "unknown", one.kind, one.stories, one.articles, one.outlets)
                for one in found.origins
            ),
            ("texts", "articles", "outlets"),
        )
    if found.independent > len(found.origins):
        output.say(f"and {found.independent - len(found.origins):,} more; --limit lists more")
