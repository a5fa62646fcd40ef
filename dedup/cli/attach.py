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
PublicationOption = Annotated[
    str | None, Option(metavar="COLUMN", help="Column of the publication's name, or `feed_id=feeds.title`.")
]
LanguageOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the language.")]
PublishedOption = Annotated[
    str | None, Option(metavar="COLUMN", help="Column of the publication time, a date or timestamp.")
]

BylineOption = Annotated[str | None, Option(metavar="COLUMN", help="Column of the author.")]
WithinOption = Annotated[
    str | None,
    Option("--within", metavar="COLUMN", help="Compare rows only with rows of the same value here."),
]
ChangedOption = Annotated[
    str | None, Option(metavar="COLUMN", help="Column of a row's last change, for tables without triggers.")
]
EveryOption = Annotated[
    int | None, Option(metavar="MINUTES", help="Minutes between comparisons; 0: never. Default of views: 15.")
]
WatchOption = Annotated[
    list[str] | None,
    Option(metavar="TABLES", help="Tables that a view reads: `id=entries.id,feeds`. May be repeated."),
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
    within: WithinOption = None,
    where: Annotated[str | None, Option(metavar="SQL", help="Condition on rows: \"lang = 'en'\".")] = None,
    name: Annotated[
        str | None, Option(metavar="NAME", help="Prefix of the articles' ids; default: the table's name.")
    ] = None,
    mark_columns: Annotated[
        bool, Option("--mark-columns", help="Add columns to the table, and write the marks there.")
    ] = False,
    triggers: Annotated[
        bool | None,
        Option("--triggers/--no-triggers", help="Make triggers to note changes, or not.", show_default=False),
    ] = None,
    changed: ChangedOption = None,
    every: EveryOption = None,
    keep: KeepOption = None,
    watch: WatchOption = None,
    html: Annotated[
        bool | None,
        Option("--html/--no-html", help="Extract texts from HTML, or keep the tags.", show_default=False),
    ] = None,
    dry_run: DryRunOption = False,
) -> None:
    """Attach a table or view of your own, so that its rows are articles; the texts are not copied.

    Triggers note which rows change, and the next `dedup backfill` reads these rows. The view
    `dedup.NAME_marks` shows the marks with the keys of your table.

    If the outlet is only a key of another table, name the column of the key, and the table and column of the
    name: `--publication feed_id=feeds.title`. If the text is in several tables, attach a view that joins the
    tables, with one row for each article. With `--watch`, triggers note changes of the tables that the view
    reads: `id=entries.id` if the view's key `id` is the key of `entries`, `entries.feed_id=feeds.id` for a
    table to which `entries` refers, or only the name of a table, after whose changes all rows are compared.

    A backfill and `dedup worker` compare a view every `--every` minutes, and `dedup sync` compares it at
    once. With `--changed`, a comparison reads only rows that changed since an hour before the last
    comparison, because transactions may commit late. Once a day a comparison reads all rows, to find deleted
    rows.

    If the bodies look like HTML, add `--html`, which needs the extra `html`, or `--no-html`, which keeps the
    tags; otherwise the table is refused.

    If each reader has rows of their own, `--within` compares rows of the same reader only.

        dedup attach public.articles --id id --text body --title headline --published pub_date
        dedup attach public.entries --id id --text content --html --within user_id
        dedup attach reader.entries --id id --text content --publication feed_id=feeds.title
        dedup attach cms.posts_read --id id --text body --publication outlet --html --changed updated_at
        dedup attach cms.posts_read --id id --text body --watch id=posts.id,posts.outlet_id=outlets.id
    """
    columns = _columns(text, title, url, publication, language, published, byline)
    with corpus(make=True) as dd:
        done = dd.attachments.attach(
            table,
            keys=keys,
            columns=columns,
            name=name,
            within=within,
            where=where,
            mark_columns=mark_columns,
            triggers=triggers,
            html=html,
            changed=changed,
            every=every,
            keep=names(keep) or (),
            watch=names(watch) or (),
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
        way = f"a backfill and `dedup worker` look for changes every {done.every} minutes"
    if done.watched:
        also = f", and all rows are compared every {done.every} minutes" if done.every is not None else ""
        output.say(f"triggers note changes of {', '.join(done.watched)}{also}")
        return
    output.say(f"the table has no triggers of dedup: {way}")


def remap(
    name: Annotated[str, Argument(metavar="NAME", help="Name that `dedup attachments` shows.")],
    table: Annotated[str | None, Option(metavar="TABLE", help="Table that replaces the old table.")] = None,
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
    within: WithinOption = None,
    where: Annotated[str | None, Option(metavar="SQL", help='Condition on rows; "": all rows.')] = None,
    changed: ChangedOption = None,
    every: EveryOption = None,
    keep: KeepOption = None,
    watch: WatchOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Map an attached table again after its owner changed or replaced it.

    The articles keep their marks. Renamed columns and a new table of the same name are recognized. Give
    other changes as options. `dedup status --check` and `dedup backfill` tell you when to run this command.

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
            within=within,
            where=where,
            changed=changed,
            every=every,
            keep=names(keep),
            watch=names(watch),
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
    """List attached tables, the number of changes that wait, and problems that you must solve."""
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
    full: Annotated[bool, Option("--full", help="Compare all rows, not only changed rows.")] = False,
    allow_deletes: Annotated[
        bool, Option("--allow-deletes", help="Compare all rows; delete articles even if most rows are gone.")
    ] = False,
) -> None:
    """Compare attached tables with their articles, to find new, changed and deleted rows.

    Run this for views and tables without triggers, and after triggers were disabled. The next backfill reads
    the differing rows. If the table has a column for the time of changes, only changed rows are compared, and
    `--full` finds deleted rows. The next backfill deletes the articles of deleted rows. If these are over
    20 articles, and more than half of a table's articles, the command refuses without `--allow-deletes`.

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
    name: Annotated[str, Argument(metavar="NAME", help="Name from `dedup attachments`, or the table.")],
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Detach a table: remove what dedup added to the table, and delete its articles from the corpus.

    Triggers, views and columns of marks are removed first, then the articles in batches. If you stop the
    command, run it again to continue. The command shows the number of articles that it will delete, and
    asks; without a terminal it needs `--yes`.
    """
    with stopping() as stop, corpus() as dd:
        # Count the articles first, because the question to the user gives their number.
        done = dd.attachments.detach(name, dry_run=True)
        if not dry_run:
            if done.articles:
                what = counted(done.articles, "article")
                agree(f"{name}: {what} will be deleted from the corpus, with the marks", yes=yes)
            done = dd.attachments.detach(name, stop=stop.is_set)
    if dry_run:
        _show(done.statements)
        output.say(f"{counted(done.articles, 'article')} of the table would be deleted from the corpus")
        return
    if stop.is_set():
        unfinished()
    output.say(f"detached; {counted(done.articles, 'article was', 'articles were')} deleted from the corpus")


def _show(statements: list[str]) -> None:
    # A Rich console would alter the statements, and they must be printed exactly as they run.
    sys.stdout.write("\n".join(("BEGIN;", *statements, "COMMIT;", "")))
