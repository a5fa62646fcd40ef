"""Commands that read the corpus: marks, matches, show, stories, explain, verify."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import typer
from rich.text import Text
from typer import Argument, Option

from dedup.base.errors import InputError, NotFoundError
from dedup.base.verdict import Representative, StatusName
from dedup.base.words import first_words, heading
from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.shared import FirstArgument, JsonOption, SecondArgument, corpus, counted, moment

DIFFERENT = 3  # Exit code if a check finds differences

MARK_COLUMNS = ("id", "status", "duplicate_of", "score", "reason", "stale")
MATCH_SCORES = ("score", "sentence_jaccard", "signature_jaccard", "containment")
MATCH_COLUMNS = ("a", "b", "relation", "rule", *MATCH_SCORES, "times_known")

Format = Annotated[
    Literal["jsonl", "csv", "table"], Option("--format", "-f", help="jsonl, csv, or a table for people.")
]
SinceOption = Annotated[
    str | None,
    Option("--since", metavar="TIME", help="Only articles published since TIME: 2026-11-20, 24h, 7d."),
]
RepresentativeOption = Annotated[
    Representative,
    Option(
        help="Article that represents a story: the first, the latest (the last correction) or the fullest."
    ),
]
ScopeOption = Annotated[
    str | None, Option("--scope", help="Only articles of this scope; of a story the original counts.")
]
OutputFile = Annotated[Path | None, Option("--output", "-o", help="Write to this file instead of stdout.")]
RawOption = Annotated[
    bool, Option("--raw", help="Do not escape texts. A hostile text may control a terminal or a spreadsheet.")
]


def marks(
    status: Annotated[StatusName | None, Option(help="Only articles of this status.")] = None,
    since: SinceOption = None,
    marked_since: Annotated[str | None, Option(metavar="TIME", help="Only marks since TIME.")] = None,
    publication: Annotated[str | None, Option(help="Only articles of this publication.")] = None,
    scope: ScopeOption = None,
    limit: Annotated[int | None, Option(min=0, help="Maximum number of articles.")] = None,
    kept: Annotated[bool, Option("--kept", help="Add a column `kept`: kept values as JSON.")] = False,
    format_: Format = "jsonl",
    to: OutputFile = None,
    raw: RawOption = False,
) -> None:
    """Export the marks of articles for other programs: id, status, duplicate_of, score, reason, stale.

    `id` and `duplicate_of` are your own ids of the articles. Rows are sorted by id. A stale mark may be out
    of date: the next backfill settles the article again.

    JSONL writes control and invisible characters as `\\uXXXX`, which changes no value. CSV and tables replace
    these characters. CSV has an apostrophe before a cell that a spreadsheet would run as a formula (it begins
    with `=`, `+`, `-`, `@`, tab or CR).

    **Examples**

        dedup marks > marks.jsonl

        dedup marks --status duplicate --since 24h --publication Courier --format table
    """
    first, marked_first = (moment(given) if given is not None else None for given in (since, marked_since))
    with corpus() as dd:
        rows: Iterable[Any] = dd.marks(
            status=status,
            since=first,
            marked_since=marked_first,
            publication=publication,
            scope=scope,
            limit=limit,
            kept=kept,
        )
        if kept and format_ != "jsonl":
            rows = ({**row, "kept": row["kept"] and dumps(row["kept"])} for row in rows)
        columns = (*MARK_COLUMNS, "kept") if kept else MARK_COLUMNS
        _export(rows, columns, ("score",), format_, to, "marks", raw)


def matches(format_: Format = "jsonl", to: OutputFile = None, raw: RawOption = False) -> None:
    """Export every scored pair of articles: a (the later article), b, relation, rule and scores.

    If `times_known` is false, times do not tell which article was first: `a` is the later one in canonical
    order only.

    Control characters, and cells that a spreadsheet would run, are written as in `dedup marks`.
    """
    with corpus() as dd:
        _export(dd.matches(), MATCH_COLUMNS, MATCH_SCORES, format_, to, "matches", raw)


def _export(
    rows: Iterable[Any],
    columns: tuple[str, ...],
    numbers: tuple[str, ...],
    format_: str,
    to: Path | None,
    what: str,
    raw: bool,
) -> None:
    if format_ == "table":
        if to:
            raise InputError("--output cannot write a table; add --format jsonl or csv")
        output.table(what, columns, ([row[c] for c in columns] for row in rows), numbers, raw=raw)
        return
    with opened(to) as file:
        if format_ == "csv":
            count = output.write_csv(rows, columns, file, raw=raw)
        else:
            count = output.write_jsonl(rows, file, raw=raw)
    if to:
        output.say(f"wrote {count:,} {what} to {to}")


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --output") from None
    with file:
        yield file


def show(
    source_id: Annotated[str, Argument(metavar="SOURCE_ID", help="Your id of the article.")],
    json: JsonOption = False,
    raw: RawOption = False,
) -> None:
    """Show an article with its mark, its story and similar articles."""
    with corpus() as dd:
        found = dd.get(source_id)
        if found is None:
            raise NotFoundError.of(source_id)
        story = dd.story(source_id)
    if json:
        output.write_json(
            {
                **found.as_dict(),
                "story": [member.as_dict() for member in story.articles],
                "outlets": story.outlets,
                "origin": story.origin.as_dict(),
            }
        )
        return
    article, verdict, console = found.article, found.verdict, output.console(raw=raw)
    shown = str if raw else output.printable
    mark = str(found)
    if story.copies and story.original.id == source_id:
        rest = mark.removeprefix(f"{source_id}: ")
        rest = rest.removeprefix("unique") if verdict.status == "unique" else f"; {rest}"
        mark = f"{source_id}: original, {counted(len(story.copies), 'copy', 'copies')}{rest}"
    console.print(Text(shown(mark), style="bold"), soft_wrap=True)
    console.print()
    console.print(Text(shown(article.title or first_words(article.text))), soft_wrap=True)
    kept = article.kept or {}
    time = next(member.time for member in story.articles if member.id == source_id)
    named = ", ".join(f"{one.agency} ({one.place})" for one in found.credits)
    facts = [
        article.publication,
        article.byline,
        named and f"credit: {named}",
        found.correction and f"correction: {found.correction}",
        time and f"{output.cell(time)} UTC",
        article.language,
        article.scope and f"scope: {article.scope}",
        article.url,
        *(f"{name}: {value if isinstance(value, str) else dumps(value)}" for name, value in kept.items()),
    ]
    console.print(Text(" · ".join(shown(fact) for fact in facts if fact), style="dim"), soft_wrap=True)
    console.print()
    # Without a terminal each paragraph is one line, because programs read it.
    for line in article.text.splitlines():
        console.print(Text(shown(line)), soft_wrap=not console.is_terminal)
    console.print()
    if story.copies or story.origin.kind == "agency":
        console.print(Text(shown(story.origin.printed_by(story.outlets))), soft_wrap=True)
        console.print()
    if story.copies:
        members = [("original", story.original), *((copy.status, copy) for copy in story.copies)]
        members = [(f"{status}, correction" if m.correction else status, m) for status, m in members]
        output.table(
            f"its story: {counted(len(story.articles), 'article')}, the original first",
            ("id", "publication", "published", "status", "score", "reason"),
            ((m.id, m.publication, m.time or "unknown", status, m.score, m.reason) for status, m in members),
            ("score", "published"),
            raw=raw,
        )
        if story.latest != source_id:
            output.say(f"the latest article of the story: dedup show {story.latest}")
    similar = [match for match in verdict.matches if match.relation == "similar"]
    if similar:
        output.table(
            "similar to",
            ("id", "sentences", "signature"),
            ((match.id, match.sentence_jaccard, match.signature_jaccard) for match in similar),
            ("sentences", "signature"),
            raw=raw,
        )
    if verdict.matches:
        output.say(f"next: dedup explain {source_id} {verdict.matches[0].id}")


def stories(
    limit: Annotated[int, Option(min=1, help="Maximum number of stories.")] = 20,
    representative: RepresentativeOption = "first",
    since: SinceOption = None,
    scope: ScopeOption = None,
    json: JsonOption = False,
) -> None:
    """List the stories with the most copies. Show the first outlet of each story, and who copied it.

    With `--representative latest` or `fullest`, title and outlet are from that article, whose id is in the
    column `shown`. `--since` selects stories with any article since then; all copies of these stories count.
    """
    first = moment(since) if since is not None else None
    with corpus() as dd:
        found = dd.stories(limit, representative, since=first, scope=scope)
        credits = dd.credits.of_stories([story.id for story in found])
    if json:
        output.write_json([{**story.as_dict(), "credits": credits.get(story.id, {})} for story in found])
        return
    # Copies without a publication time have a separate column, because their order is unknown.
    lists = ("copied by", "also in, time unknown") if any(s.also_in for s in found) else ("copied by",)
    credit = ("credit",) if credits else ()
    shown = ("shown",) if representative != "first" else ()
    output.table(
        "stories with the most copies",
        ("copies", "id", *shown, "title", "publication", *credit, "published", *lists),
        (
            (
                *(s.copies, s.id, *(s.representative for _ in shown), heading(s), s.publication),
                *(", ".join(credits.get(s.id, ())) for _ in credit),
                s.first_at or "unknown",
                *(", ".join(names) for names in (s.copied_by, s.also_in)[: len(lists)]),
            )
            for s in found
        ),
        ("copies", "published"),
    )
    if found:
        output.say(f"next: dedup show {found[0].representative}")


def explain(a: FirstArgument, b: SecondArgument, json: JsonOption = False) -> None:
    """Explain why two articles are related or unrelated: sentences, scores, and the rule that decided."""
    from dedup.cli.side_by_side import print_explanation

    with corpus() as dd:
        found = dd.explain(a, b)
    if json:
        output.write_json(found.as_dict())
        return
    print_explanation(found)


def verify(
    sample: Annotated[int | None, Option(min=1, help="Check only this number of random articles.")] = None,
    repair: Annotated[bool, Option("--repair", help="Let the next backfill repair differences.")] = False,
    json: JsonOption = False,
) -> None:
    """Check the corpus: compute marks, pairs, fingerprints, common sentences and credits again, and compare.

    The internal counts and flags on which later marks depend are checked in full, even with `--sample`. The
    exit code is 3 if a difference remains. If `--repair` cannot repair a difference, the output names the
    command that can. Without `--repair` the command only reads. Other commands may run meanwhile.

    Next, if anything differs: `dedup verify --repair`, then `dedup backfill`.
    """
    with corpus() as dd:
        with progress_bar() as bar:
            found = dd.verify(sample=sample, progress=bar)
        repaired = dd.repair(found) if repair and not found.right else None
    left = repaired is None or bool(found.by_hand)
    if json:
        output.write_json({**found.as_dict(), "repaired": not left})
    else:
        for line in found.differences:
            output.console().print(Text(output.printable(line)))
        if found.found > len(found.differences):
            output.say(f"and {found.found - len(found.differences):,} more")
        for line in found.skipped:
            output.say(f"not checked: {line}")
        output.say(str(found))
        if repaired is not None and len(found.by_hand) < found.found:
            output.say(
                f"repaired; {counted(repaired, 'article')} must be settled again: run `dedup backfill`"
            )
        elif repaired is None and len(found.by_hand) < found.found:
            output.say("next: dedup verify --repair, then dedup backfill")
        for line in found.by_hand if repaired is not None else ():
            output.say(f"not repaired: {line}")
    if found.found and left:
        raise typer.Exit(DIFFERENT)
