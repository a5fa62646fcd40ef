"""`dedup pin`: what people say two articles are to each other. It holds whatever the scores say."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from dedup.cli import output
from dedup.cli.shared import JsonOption, corpus
from dedup.rules.relation import Relation

pin_app = typer.Typer(
    no_args_is_help=True,
    help="""
Say what two articles are to each other, whatever the scores say: duplicate, similar or unrelated.

A pin is kept under your own ids, with who, when and why; it outlives a delete and a fresh load. Taking it
back restores the rules.

    dedup pin set A B unrelated --why "two matches, one report template"
""",
)

First = Annotated[str, Argument(metavar="A", help="One article's own id.")]
Second = Annotated[str, Argument(metavar="B", help="The other's.")]


@pin_app.command("set")
def pin_set(
    a: First,
    b: Second,
    relation: Annotated[Relation, Argument(metavar="RELATION", help="duplicate, similar or unrelated.")],
    who: Annotated[
        str | None, Option("--as", metavar="NAME", help="Who says so; default: the database user.")
    ] = None,
    why: Annotated[str | None, Option(help="A word for those who come after you.")] = None,
) -> None:
    """Pin a pair; both articles are settled again by the next backfill."""
    with corpus() as found:
        unknown = found.pins.set(a, b, relation, by=who, reason=why)
    output.say(f"pinned as {relation.value}; next: dedup backfill")
    for name in unknown:
        output.say(f"there is no article {name} yet: the pin waits for it")


@pin_app.command("remove")
def pin_remove(a: First, b: Second) -> None:
    """Take a pin back, which restores the rules. Exit code 1 if there is none."""
    with corpus() as found:
        removed = found.pins.remove(a, b)
    if not removed:
        output.say("that pair is not pinned; `dedup pin list` shows the pins")
        raise typer.Exit(1)
    output.say("the rules decide again; next: dedup backfill")


@pin_app.command("list")
def pin_list(json: JsonOption = False) -> None:
    """List the pinned pairs, the newest first."""
    with corpus() as dd:
        found = dd.pins.list()
    if json:
        output.write_json([pin.as_dict() for pin in found])
        return
    output.table(
        "pinned pairs",
        ("a", "b", "relation", "who", "when", "why"),
        ((p.id, p.other_id, p.relation, p.pinned_by, p.pinned_at, p.reason) for p in found),
        ("when",),
    )
