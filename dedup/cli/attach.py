"""Commands for attached tables: attach, remap, attachments, sync, detach."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Argument, Option

from dedup.cli import output
from dedup.cli.shared import JsonOption, KeepOption, YesOption, agree, corpus, counted, names, stopping
from dedup.cli.signals import unfinished

DryRunOption = Annotated[bool, Option("--dry-run", help="Print the SQL that would run; run nothing.")]
TitleOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the headline.")]
UrlOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the address.")]
PublicationOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the publication's name.")]
LanguageOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the language.")]
PublishedOption = Annotated[
    str | None, Option(metavar="COLUMN", help="Column of the publication time, a date or timestamp.")
]

BylineOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the author.")]
ChangedOption = Annotated[
    str | None, Option(metavar="COLUMN", help="Column of the time of a row's last change, without triggers.")
]
EveryOption = Annotated[
    int | None, Option(metavar="MINUTES", help="Pause between comparisons; 0: none. Default: 15 for a view.")
]


def attach(
    table: Annotated[str, Argument(metavar="TABLE", help="The table or view, such as public.articles.")],
    keys: Annotated[list[str], Option("--id", metavar="COLUMN", help="Column of the key; may be repeated.")],
    text: Annotated[str, Option(metavar="COLUMN", help="Column of the body.")],
    title: TitleOption = None,
    url: UrlOption = None,
    publication: PublicationOption = None,
    language: LanguageOption = None,
    published: PublishedOption = None,
    byline: BylineOption = None,
    where: Annotated[str | None, Option(metavar="SQL", help="Condition for rows: \"lang = 'en'\".")] = None,
    name: Annotated[
        str | None, Option(metavar="NAME", help="Prefix of the articles' ids; default: the table's name.")
    ] = None,
    mark_columns: Annotated[
        bool, Option("--mark-columns", help="Add columns for the marks to the table, and fill them.")
    ] = False,
    triggers: Annotated[
        bool | None,
        Option("--triggers/--no-triggers", help="Note changes by triggers, if possible.", show_default=False),
    ] = None,
    changed: ChangedOption = None,
    every: EveryOption = None,
    keep: KeepOption = None,
    html: Annotated[
        bool | None,
        Option("--html/--no-html", help="Extract articles from HTML, or keep tags.", show_default=False),
    ] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Attach a table or view of your own, so that its rows are articles; their texts are not copied.

    Triggers note which rows change, and the next `dedup backfill` reads them. The view `dedup.NAME_marks` has
    the marks, with the keys of your table.

    If the outlet is a number, or the text is in several tables, attach a view that joins them, one row for
    each article. A view has no triggers: a backfill and `dedup worker` compare it every `--every` minutes,
    and `dedup sync` does so at once. With `--changed` only rows that changed since the last comparison are
    read, with an hour of overlap for transactions that commit late, and all rows once a day, which finds
    deleted ones.

    A table whose bodies look like HTML is refused without `--html`, which needs the extra `html`, or
    `--no-html`.

        dedup attach public.articles --id id --text body --title headline --published pub_date
        dedup attach cms.posts_read --id id --text body --publication outlet --html --changed updated_at
    """
    columns = _columns(text, title, url, publication, language, published, byline)
    with corpus() as dd:
        done = dd.attachments.attach(
            table,
            keys=keys,
            columns=columns,
            name=name,
            where=where,
            mark_columns=mark_columns,
            triggers=triggers,
            html=html,
            changed=changed,
            every=every,
            keep=names(keep) or (),
            dry_run=dry_run,
        )
    for line in done.told:
        output.say(line)
    if dry_run:
        _show(done.statements)
        return
    output.say(f"attached as {done.name}; next: dedup backfill")
    if done.triggers:
        return
    way = f"run `dedup sync {done.name}` before each backfill"
    if done.every is not None:
        way = f"a backfill and `dedup worker` look for them every {done.every} minutes"
    output.say(f"no trigger notes its changes: {way}")


def remap(
    name: Annotated[str, Argument(metavar="NAME", help="As `dedup attachments` shows it.")],
    table: Annotated[str | None, Option(metavar="TABLE", help="Another table: public.articles.")] = None,
    keys: Annotated[
        list[str] | None, Option("--id", metavar="COLUMN", help="Column of the key; may be repeated.")
    ] = None,
    text: Annotated[str | None, Option(metavar="COLUMN", help="Column of the body.")] = None,
    title: TitleOption = None,
    url: UrlOption = None,
    publication: PublicationOption = None,
    language: LanguageOption = None,
    published: PublishedOption = None,
    byline: BylineOption = None,
    where: Annotated[str | None, Option(metavar="SQL", help='Condition for rows; "" for all.')] = None,
    changed: ChangedOption = None,
    every: EveryOption = None,
    keep: KeepOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Map an attached table again after its owner changed or replaced it.

    Its articles keep their marks. Renamed columns and a new table of the same name are found; name the rest
    by options. `dedup status --check` and `dedup backfill` say when this is needed.

        dedup remap articles
        dedup remap articles --text main_text
    """
    columns = _columns(text, title, url, publication, language, published, byline)
    with corpus() as dd:
        done = dd.attachments.remap(
            name,
            table=table,
            keys=keys or None,
            columns=columns or None,
            where=where,
            changed=changed,
            every=every,
            keep=names(keep),
            dry_run=dry_run,
        )
    if dry_run:
        _show(done.statements)
        return
    output.say("mapped again; next: dedup backfill, which compares the whole table")


def _columns(*given: str | None) -> dict[str, str]:
    fields = ("text", "title", "url", "publication", "language", "published_at", "byline")
    return {field: column for field, column in zip(fields, given, strict=True) if column is not None}


def attachments(json: JsonOption = False) -> None:
    """List the attached tables, the number of changes that wait, and problems that need a person."""
    with corpus() as dd:
        found, waiting, drift = dd.attachments.list(), dd.attachments.waiting(), dd.attachments.drift()
    if json:
        output.write_json(
            {"attachments": [item.as_dict() for item in found], "waiting": waiting, "drift": drift}
        )
        return
    output.table(
        "attached tables",
        ("name", "table", "key", "changes noted by", "marks in the table", "attached"),
        (
            (one.name, one.shown, ", ".join(one.keys), one.noted_by, one.mark_columns, one.attached_at)
            for one in found
        ),
        ("attached",),
    )
    output.say(f"{counted(waiting, 'change waits', 'changes wait')} to be read by the next backfill")
    for line in drift:
        output.say(line)


def sync(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="One attached table; default: all.")] = None,
    full: Annotated[bool, Option("--full", help="Compare all rows, not only the later ones.")] = False,
    allow_deletes: Annotated[
        bool, Option("--allow-deletes", help="Compare all rows; delete articles even if most have no row.")
    ] = False,
) -> None:
    """Compare attached tables with their articles, to find new, changed and deleted rows.

    Use it for views and tables without triggers, and after triggers were disabled. The next backfill reads
    the rows that it finds. With a column for the time of changes only later rows are compared, and `--full`
    finds deletions. If more than half of a table's articles have no row, and more than a few, nothing is
    deleted without `--allow-deletes`.

        dedup sync
        dedup sync posts --full
        dedup sync posts --allow-deletes
    """
    with stopping() as stop, corpus() as dd:
        noted = dd.attachments.sync(name, whole=full, allow_deletes=allow_deletes, stop=stop.is_set)
    if stop.is_set():
        unfinished()
    output.say(f"{counted(noted, 'row differs', 'rows differ')}; next: dedup backfill")


def detach(
    name: Annotated[str, Argument(metavar="NAME", help="As `dedup attachments` shows it, or the table.")],
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Detach a table: remove everything of dedup from it, and its articles from the corpus.

    Triggers, views and columns of marks are removed first, then the articles in batches. If you stop it, run
    it again to continue. It says how many articles it will delete, and asks; without a terminal it needs
    `--yes`.
    """
    with stopping() as stop, corpus() as dd:
        # The question names how many articles are lost.
        done = dd.attachments.detach(name, dry_run=True)
        if not dry_run:
            if done.articles:
                what = counted(done.articles, "article is", "articles are")
                agree(f"{name}: {what} deleted from the corpus, with the marks", yes=yes)
            done = dd.attachments.detach(name, stop=stop.is_set)
    if dry_run:
        _show(done.statements)
        output.say(f"{counted(done.articles, 'article')} of it would be deleted from the corpus")
        return
    if stop.is_set():
        unfinished()
    output.say(f"detached; {counted(done.articles, 'article was', 'articles were')} deleted from the corpus")


def _show(statements: list[str]) -> None:
    # Unchanged, also by a console: the statements can be run as printed.
    sys.stdout.write("\n".join(("BEGIN;", *statements, "COMMIT;", "")))
