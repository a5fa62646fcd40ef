"""Commands of the corpus' owner: grant, uninstall."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.shared import JsonOption, counted, say_if_started

MEGABYTE = 1_000_000

_NOUNS = {
    "article": ("article", "articles"),
    "deferred_article": ("article deferred", "articles deferred"),
    "sentence_pin": ("pin of a sentence", "pins of sentences"),
    "pair_pin": ("pin of a pair", "pins of pairs"),
    "setting": ("setting", "settings"),
    "sentence_model": ("trained language", "trained languages"),
    "judgement": ("judgement", "judgements"),
    "review_pair": ("pair to judge", "pairs to judge"),
    "attachment": ("attached table", "attached tables"),
}


def _role(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = Option(name, metavar="ROLE", help=f"{what} May be repeated.")
    return option


def grant(
    worker: Annotated[
        list[str] | None, _role("--worker", "A role that settles: backfill, load, retry, check, verify.")
    ] = None,
    scraper: Annotated[
        list[str] | None,
        _role("--scraper", "A role that stores articles and asks: check, and new ones by load."),
    ] = None,
    analyst: Annotated[
        list[str] | None,
        _role("--analyst", "A role that reads views: marks, matches, stories, common, pin list."),
    ] = None,
    reader: Annotated[
        list[str] | None, _role("--reader", "A role that reads everything, texts included: dedup browse.")
    ] = None,
    revoke: Annotated[bool, Option("--revoke", help="Take all rights in the schema from them.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the statements; run nothing.")] = False,
) -> None:
    """Give roles of the database the rights that they need, and take away all others in the schema.

    Connect as the owner of the schema. The roles must exist; their rights elsewhere stay as they are. Run it
    again after `dedup init` has upgraded the schema.

    A scraper's article is stored at once, and its verdict is provisional: the next backfill marks it.

    **Example**

        dedup grant --worker night --scraper crawl --analyst ann --reader web
    """
    from dedup.api.operation import Operation

    say_if_started()
    with Operation() as owner:
        done = owner.grant(
            worker=worker or (),
            scraper=scraper or (),
            analyst=analyst or (),
            reader=reader or (),
            revoke=revoke,
            dry_run=dry_run,
        )
    if dry_run:
        for statement in done:
            output.write_text(statement)
        return
    names = [*(worker or ()), *(scraper or ()), *(analyst or ()), *(reader or ())]
    roles = counted(len(set(names)), "role has", "roles have")
    output.say(
        f"{roles} no rights in the schema any more" if revoke else f"{roles} these rights and no others"
    )


def uninstall(
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False, json: JsonOption = False
) -> None:
    """Remove the schema with all articles, marks, pins and judgements; nothing else in the database changes.

    Says what will go, and asks; without a terminal it needs `--yes`. There is no way back but a backup.
    Attached tables are detached before, and are then as they were found.
    If a view of yours, or anything else outside of the schema, rests on it, it is named and nothing is done.
    """
    from dedup.api.operation import Operation

    say_if_started()
    with Operation() as owner:
        found = owner.contents()
        listed = [counted(count, *_NOUNS[table]) for table, count in found.rows.items()]
        size = f"{found.bytes / MEGABYTE:,.0f} MB"
        output.say(
            f"{owner.location}: the schema {owner.schema} with"
            f" {', '.join(listed) or 'nothing in it'} ({size})"
        )
        if found.attached:
            output.say(f"{', '.join(found.attached)}: to be detached, and left as found, with all rows")
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise InputError("this removes all of it for good: add --yes")
            typer.confirm("remove all of it for good?", abort=True, err=True)
        owner.uninstall()
    if json:
        output.write_json(found.as_dict())
    else:
        output.say("removed")
