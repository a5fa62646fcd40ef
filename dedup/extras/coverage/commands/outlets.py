"""Commands `dedup outlets`: list and change owners and other names of outlets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from dedup.base.errors import InputError
from dedup.base.later import Later
from dedup.base.words import line, some
from dedup.cli import output
from dedup.cli.read import OutputFile, RawOption, opened
from dedup.cli.shared import JsonOption, corpus, counted

if TYPE_CHECKING:
    from dedup.extras.coverage import outlets as stating
else:
    stating = Later("dedup.extras.coverage.outlets")  # Imported later: help must not wait for the database

SHOWN_UNKNOWN = 10  # Outlets without articles that a note names

outlets_app = typer.Typer(invoke_without_command=True)

NameArgument = Annotated[str, Argument(metavar="NAME", help="Outlet, as in the publication of articles.")]


@outlets_app.callback()
def outlets(
    context: typer.Context,
    limit: Annotated[int, Option(min=1, help="Maximum number of outlets to list.")] = 100,
    json: JsonOption = False,
) -> None:
    """List the outlets with their owners and other names; change them.

    `dedup origins` counts outlets of one family as one origin, and an alias as the outlet of which it is
    another name. An outlet that is an agency is counted as that agency; an outlet with the name of a listed
    agency needs no statement. Nothing is assumed from similar names: `dedup outlets propose` lists outlets
    that may belong together.

    The statements are the table `dedup.outlet`, which you may also change in SQL.
    """
    if context.invoked_subcommand:
        return
    with corpus() as dd:
        found = dd.outlets.counted()
    shown = found[:limit]
    output.listed(
        shown,
        counted(len(found), "outlet"),
        ("articles", "name", "family", "alias of", "agency"),
        ((one.articles, *map(_cut, (one.name, one.family, one.alias_of, one.agency))) for one in shown),
        ("articles",),
        json=json,
    )
    if len(found) > limit and not json:
        output.say(f"and {len(found) - limit:,} more; --limit lists more")


def _cut(name: str | None) -> str | None:
    return None if name is None else line(name)


@outlets_app.command("set")
def outlets_set(
    name: NameArgument,
    family: Annotated[str | None, Option(help="Owner of the outlet; an empty text removes it.")] = None,
    alias_of: Annotated[
        str | None, Option("--alias-of", metavar="OUTLET", help="Outlet of which NAME is another name.")
    ] = None,
    agency: Annotated[str | None, Option(help="Agency that the outlet is, as in `dedup agencies`.")] = None,
) -> None:
    """State the owner of an outlet, or that the outlet is an agency or only another name of an outlet.

    Statements that you do not give stay; an empty text removes one. An alias has family and agency of its
    outlet, and there is no alias of an alias. A note says so if no article has the outlet NAME yet.

        dedup outlets set startribune.com --family "Glen Taylor"

        dedup outlets set "RSS Star Tribune" --alias-of startribune.com

        dedup outlets set apnews.com --agency AP
    """
    if family is alias_of is agency is None:
        raise InputError("give --family, --alias-of or --agency")
    with corpus(make=True) as dd:
        after = dd.outlets.set(name, family=family, alias_of=alias_of, agency=agency)
        unknown = dd.outlets.without_articles([after.name])
    stated = {"family": after.family, "alias of": after.alias_of, "agency": after.agency}
    told = ", ".join(f"{what} {value}" for what, value in stated.items() if value)
    output.say(f"{after.name}: {told or 'nothing is stated'}")
    _tell_unknown(unknown)


@outlets_app.command("unset")
def outlets_unset(name: NameArgument) -> None:
    """Remove all statements about an outlet: family, agency and alias."""
    with corpus() as dd:
        dd.outlets.remove(name)
    output.say(f"{name}: nothing is stated any more")


@outlets_app.command("propose")
def outlets_propose(to: OutputFile = None, raw: RawOption = False) -> None:
    """Propose aliases and families from the names of outlets, as CSV to review and import.

    Names that differ only by a service or a section are proposed as aliases (`www.`, `feeds.`, "RSS …",
    "… - Opinion"), subdomains of one domain as a family. A proposal is a guess: delete wrong lines first.

        dedup outlets propose -o outlets.csv

        dedup outlets import outlets.csv
    """
    with corpus() as dd:
        _write(dd.outlets.proposals(), to, raw, "proposals")


@outlets_app.command("export")
def outlets_export(to: OutputFile = None, raw: RawOption = False) -> None:
    """Write all statements as CSV: name, family, alias_of, agency.

    An apostrophe stands before a cell that a spreadsheet would run as a formula; `import` removes it.
    """
    with corpus() as dd:
        _write(dd.outlets.stated(), to, raw, "outlets")


def _write(rows: Iterable[stating.Outlet], to: OutputFile, raw: bool, what: str) -> None:
    with opened(to) as file:
        count = output.write_csv((one.as_dict() for one in rows), stating.COLUMNS, file, raw=raw)
    if to:
        output.say(f"wrote {count:,} {what} to {to}")


@outlets_app.command("import")
def outlets_import(
    file: Annotated[str, Argument(metavar="FILE", help="CSV file; `-` for stdin.")], raw: RawOption = False
) -> None:
    """Store the statements of a CSV file, in place of earlier statements about the same outlets.

    The first line names columns: name, and any of family, alias_of and agency. Outlets that the file does not
    name keep their statements. After an error nothing is stored. A note names outlets without articles.
    """
    try:
        if file == "-":
            rows = stating.read_csv(sys.stdin, raw=raw)
        else:
            with Path(file).open(encoding="utf-8-sig", newline="") as source:
                rows = stating.read_csv(source, raw=raw)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    with corpus(make=True) as dd:
        count = dd.outlets.write(rows)
        unknown = dd.outlets.without_articles([row.name for row in rows])
    output.say(f"stored {counted(count, 'outlet')}")
    _tell_unknown(unknown)


def _tell_unknown(names: Sequence[str]) -> None:
    """Name outlets that no article has yet: their articles may come later, or the names are misspelled."""
    if names:
        what = "the outlet" if len(names) == 1 else "the outlets"
        shown = some([repr(name) for name in names], SHOWN_UNKNOWN)
        output.say(f"note: no article has {what} {shown} yet; `dedup outlets` lists the outlets")
