"""Commands that change the corpus: backfill, retry, check, delete, prune."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Annotated

import typer
from typer import Argument, Option

import dedup
from dedup.base.errors import AttachedError, InputError
from dedup.base.machine import ENGINE_NAMES, MAX_WORKERS, EngineName
from dedup.base.words import line
from dedup.cli import output, shared
from dedup.cli.progress import progress_bar
from dedup.cli.signals import unfinished


def backfill(
    batch: Annotated[
        int, Option(min=1, max=100_000, help="Articles per transaction; marks do not depend on this number.")
    ] = 1_000,
    workers: Annotated[
        int | None, Option(min=0, max=MAX_WORKERS, help="Threads; default: the number of cores plus one.")
    ] = None,
    engine: Annotated[
        EngineName, Option(metavar="|".join(ENGINE_NAMES), help="Settling engine; auto: the faster engine.")
    ] = "auto",
    memory: Annotated[
        int | None,
        Option(min=16, metavar="MB", help="RAM for the memory engine's keys; default: 1/4 of RAM or cgroup."),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Say which marks changed settings or a new version would change.")
    ] = False,
    json: shared.JsonOption = False,
) -> None:
    """Settle every pending or stale article, as a nightly run or after a load.

    A backfill puts changed settings in force, fingerprints texts on all cores, counts common sentences, and
    settles. The memory engine settles many articles, as after a first load or a changed setting. The postgres
    engine settles a few articles in batches, with indexes. Both engines give the same marks. You may stop a
    backfill at any moment: the next run continues. Marks stay readable meanwhile.

    If another backfill is running, the command shows who runs it, since when and how far it is, and ends. The
    next run continues a killed backfill at once. `dedup status` shows a running backfill.

    If a text cannot be read, only that article fails, with a reason; see `dedup retry`. If the machine lacks
    memory or threads, no article fails: the backfill ends with exit code 1, and the next run continues.

    `--dry-run` decides the whole corpus by the wanted settings and this version, and writes nothing.

    Next: `dedup stories`, `dedup marks`.
    """
    if dry_run:
        with shared.corpus() as dd, progress_bar() as bar:
            tried = dd.dry_run(memory=None if memory is None else memory * 1_000_000, progress=bar)
        show_dry_run(tried, json, "dedup backfill")
        return
    with shared.corpus(make=True) as dd, shared.stopping() as stop, progress_bar() as bar:
        if dd.settings.adoption():
            output.say(f"the settings or the version of dedup changed: {shared.previewed(dd.preview())}")
        report = dd.backfill(
            batch=batch,
            workers=workers,
            engine=engine,
            memory=None if memory is None else memory * 1_000_000,
            progress=bar,
            stop=stop.is_set,
        )
    if json:
        output.write_json(report.as_dict())
    else:
        _say_done(report)
    if report.stopped:
        unfinished()
    if report.deferred or report.problems:
        raise typer.Exit(1)


DIFFERENCES_SHOWN = 20  # Maximum number of changed marks in the table; --json has 1,000


def show_dry_run(tried: dedup.DryRun, json: bool, then: str) -> None:
    """Print the marks that would change. `then`: the command to type next."""
    if json:
        output.write_json(tried.as_dict())
        return
    output.say(
        f"compared {shared.counted(tried.articles, 'article')}: "
        + ("no mark would change" if not tried.counts else "these marks would change")
    )
    if tried.counts:
        output.table("", ("change", "articles"), tried.counts.items(), ("articles",))
        rows = (
            (d.id, d.status, d.duplicate_of, d.new_status, d.new_duplicate_of, d.new_score, d.new_reason)
            for d in tried.differences[:DIFFERENCES_SHOWN]
        )
        columns = ("id", "now", "original", "then", "original then", "score", "reason")
        output.table("", columns, rows, ("score",))
    if tried.unread:
        texts = shared.counted(tried.unread, "text")
        output.say(f"{texts} will be read again first; that may change further marks")
    output.say(f"next: {then}")


def _say_done(report: dedup.BackfillReport) -> None:
    if report.taken_over:
        output.say(f"took over from {report.taken_over.kind} that is gone: {report.taken_over}")
    if report.running:
        output.say(f"{report.running.kind} is running already, {report.running}; this command did nothing")
    elif report.superseded:
        output.say("this backfill seemed dead: another backfill took over, and this one ended")
    elif not (report.settled or report.failed or report.archived or report.stopped):
        output.say("everything was settled already")
    else:
        failed = f", {report.failed:,} failed (dedup marks --status failed)" if report.failed else ""
        texts = shared.counted(report.fingerprinted, "text")
        gone = f"; archived {shared.counted(report.archived, 'article')}" if report.archived else ""
        output.say(f"fingerprinted {texts}{failed}; wrote {shared.counted(report.settled, 'mark')}{gone}")
        if report.stopped:
            output.say("stopped as asked; run `dedup backfill` again to continue")
        else:
            if report.reprints:
                output.say(_found(report.reprints))
            output.say("next: dedup stories, dedup marks, dedup status")
    for problem in report.problems:
        output.say(problem)
    if report.deferred:
        output.say(
            f"{shared.counted(report.deferred, 'article is', 'articles are')} locked by other transactions"
            " (`dedup status` shows them): run `dedup backfill` again"
        )


def _copies(story: dedup.StorySummary) -> str:
    return shared.counted(story.copies, "copy", "copies")


def _found(reprints: dedup.Reprints) -> str:
    if not reprints.duplicates:
        return "no article is a duplicate of another"
    # Show only titles, because logs keep this line and must not hold words of a text.
    most = ", ".join(
        f'"{line(story.title, most=shared.TITLE_CHARACTERS)}" ({story.id}, {_copies(story)})'
        if story.title
        else f"{story.id} ({_copies(story)})"
        for story in reprints.most
    )
    return (
        f"{shared.counted(reprints.duplicates, 'duplicate')} in"
        f" {shared.counted(reprints.stories, 'story', 'stories')}; the most reprinted: {most}"
    )


def retry(
    failed: Annotated[
        str, Option(metavar="REASON", help="Beginning of a reason that `dedup status` lists.")
    ] = "unreadable",
    json: shared.JsonOption = False,
) -> None:
    """Make failed articles pending again, so that the next backfill reads them.

    By default, the command chooses articles that dedup could not read because of an error in dedup: run the
    command after an upgrade of dedup. An article with an empty or too long text fails again until the text or
    the setting changes.

    **Examples**

        dedup retry

        dedup retry --failed "too long"
    """
    with shared.corpus() as dd, shared.stopping() as stop:
        total = dd.retry(failed, stop=stop.is_set)
    if json:
        output.write_json({"pending": total})
    elif not total:
        output.say(
            f"no failed article has a reason that begins with {output.printable(failed)!r}; see dedup status"
        )
    else:
        output.say(
            f"{shared.counted(total, 'failed article is', 'failed articles are')} pending again;"
            " next: dedup backfill"
        )
    if stop.is_set():
        unfinished()


def check(
    file: Annotated[str, Argument(metavar="FILE", help="JSONL by default; `-` is stdin.")] = "-",
    dry_run: Annotated[bool, Option("--dry-run", help="Answer without storing the articles.")] = False,
    map_: shared.MapOption = None,
    format_: shared.FormatOption = None,
    publication: shared.PublicationOption = None,
    language: shared.LanguageOption = None,
    html: shared.HtmlOption = False,
    date_format: shared.DateFormatOption = None,
    day_first: shared.DayFirstOption = None,
) -> None:
    """Store and settle articles one by one, for a scraper: read JSON articles, print JSON verdicts.

    Each line gets a verdict at once, so a scraper can run this command as a co-process. A line without an
    article, even a blank line, gets the status `refused`, with the id if there is one. `repairs` names fields
    that were changed or left out. Names and limits are as in `load`. Exit code 1 if no line is an article.

    **Example**

        echo '{"id": "a1", "text": "..."}' | dedup check
    """
    from dedup.base.verdict import Verdict
    from dedup.files.readers import ArticleReader, Reject, Repair, try_out
    from dedup.files.reading import Reading

    reading = Reading(shared.field_map(map_), format_, publication, language, html, date_format, day_first)
    with ExitStack() as stack:
        stop = stack.enter_context(shared.stopping())
        # The file is tried before the corpus is opened, because a mistyped name must not start a server.
        try_out(file, reading, every_line=True)
        dd = stack.enter_context(shared.corpus(make=True))
        bound = dd.settings.max_record_bytes()
        reader = stack.enter_context(ArticleReader(file, reading, bound, every_line=True))
        repairs: list[Repair] = []
        answered = refused = 0
        for item in reader:
            # The reader yields the repairs of an article before the article itself, so keep them until then.
            if isinstance(item, Repair):
                repairs.append(item)
                continue
            if isinstance(item, Reject):
                verdict = Verdict(item.source_id, "refused", None, None, f"line {item.line}: {item.reason}")
                refused += 1
            else:
                try:
                    verdict = dd.lookup(item) if dry_run else dd.submit(item)
                except AttachedError as error:
                    verdict = Verdict(item.source_id, "refused", None, None, str(error))
                    refused += 1
            noted = [{"field": r.field, "reason": r.reason, "value": r.value} for r in repairs]
            output.write_json({**verdict.as_dict(), "repairs": noted}, indent=None)
            # A scraper waits for this verdict before it writes the next line.
            sys.stdout.flush()
            repairs.clear()
            answered += 1
            if stop.is_set():
                unfinished()
        if reader.truncated:
            raise InputError(f"{file} is damaged and ends early: check a whole copy of it")
    if answered and answered == refused:
        output.say("no line is an article: see the reasons in the verdicts")
        raise typer.Exit(1)


def delete(
    source_ids: Annotated[list[str], Argument(metavar="SOURCE_ID", help="Your ids of the articles.")],
    json: shared.JsonOption = False,
) -> None:
    """Delete articles, and settle their duplicates and similar articles again.

    Texts, fingerprints, marks, pairs and stored sentences of the articles are deleted; pins and judgements
    stay. If an id is unknown, the exit code is 1; the other articles are deleted nevertheless.
    """
    with shared.corpus() as dd:
        deleted = dd.delete_many(source_ids)
    unknown = [source_id for source_id in source_ids if source_id not in set(deleted)]
    if json:
        output.write_json({"deleted": deleted, "unknown": unknown})
    else:
        output.say(f"deleted {shared.counted(len(deleted), 'article')}")
        for source_id in unknown:
            output.say(f"unknown: {source_id}")
    if unknown:
        raise typer.Exit(1)


def prune(
    older_than: Annotated[
        str, Option(metavar="AGE|DAY", help="Age before the newest article (`90d`, `12w`, `2y`) or a day.")
    ],
    dry_run: Annotated[
        bool, Option("--dry-run", help="Count what would be archived; change nothing.")
    ] = False,
    yes: shared.YesOption = False,
    json: shared.JsonOption = False,
) -> None:
    """Archive old articles to keep the corpus fast: they keep text and mark, but are never compared again.

    All articles are settled first, so that each archived article has a mark. Then the horizon moves. Articles
    before the horizon lose their fingerprints, and new articles use the space. A copy after the horizon whose
    original is archived is settled again: the earliest of these copies becomes the original. The horizon
    never moves back. New articles with a date before the horizon are archived at once, as `failed` with the
    reason `archived`.

    The command shows how many articles it would archive, and asks; without a terminal it needs `--yes`. You
    may stop it at any moment: the next backfill continues. To archive with every backfill:
    `dedup settings set keep_window=90d`.

    **Example**

        dedup prune --older-than 2y --dry-run
    """
    with shared.corpus() as dd, ExitStack() as stack:
        found = dd.preview_prune(older_than)
        if not dry_run:
            if found.articles:
                shared.agree(
                    f"{found.articles:,} of {shared.counted(found.of, 'article')} will be archived, and never"
                    " compared again",
                    yes=yes,
                )
            stop, bar = stack.enter_context(shared.stopping()), stack.enter_context(progress_bar())
            report = dd.prune(older_than, progress=bar, stop=stop.is_set)
    horizon = f"{found.horizon:%Y-%m-%d} UTC"
    if dry_run:
        if json:
            output.write_json(found.as_dict())
        else:
            articles = shared.counted(found.articles, "article")
            copies = shared.counted(found.settled_again, "copy", "copies")
            output.say(
                f"horizon {horizon}: would archive {articles} (already archived: {found.archived:,}),"
                f" and settle {copies} of archived originals again"
            )
        return
    if json:
        output.write_json({**report.as_dict(), "horizon": found.horizon.isoformat()})
    elif report.running:
        output.say(
            f"{report.running.kind} is running, {report.running}: at its end the horizon moves to {horizon}"
        )
    elif report.stopped:
        output.say("stopped as asked; run `dedup backfill` to continue")
    else:
        output.say(
            f"horizon {horizon}: archived {shared.counted(report.archived, 'article')};"
            f" wrote {shared.counted(report.settled, 'mark')}"
        )
    if report.stopped:
        unfinished()
