"""Commands that change the corpus: init, backfill, retry, check, delete; and load, in `load.py`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Argument, Option

from dedup.base.errors import InputError
from dedup.base.machine import ENGINE_NAMES, MAX_WORKERS
from dedup.cli import output, shared
from dedup.cli.signals import unfinished

if TYPE_CHECKING:
    from dedup import BackfillReport, Reprints
    from dedup.base.machine import EngineName


def init(
    key: Annotated[
        str | None,
        Option(
            "--hash-key",
            metavar="random|-",
            help="Seed every hash with a secret, for a corpus that strangers write into: `random` makes one,"
            " `-` reads one from stdin.",
        ),
    ] = None,
    sql: Annotated[
        bool,
        Option("--sql", help="Print the statements as one transaction for psql; run nothing. See below."),
    ] = False,
    search: Annotated[
        bool | None,
        Option(
            "--search/--no-search",
            help="Make the index by which words are searched, or drop it. See below.",
            show_default=False,
        ),
    ] = None,
    json: shared.JsonOption = False,
) -> None:
    """Create the schema in the database, or upgrade it.

    Safe to run again, and at the same time from several places. The embedded server needs no `init`.

    With `--sql` nothing is changed. With `DEDUP_DATABASE_URL` it prints what upgrades that database; without,
    what makes the schema from nothing, and then it needs no database.

    A hash key keeps strangers from crafting words that make unrelated articles duplicates. It is stored with
    the corpus and is part of its backups. `random` leaves the corpus a key that it has; `-` ends with an
    error if that is another one.

    `--search` makes the index of the words of titles and texts, while others work. It stays up to date by
    itself, which takes about 0.6 ms of the server for an article that is loaded and 1.3 ms for one that a
    backfill marks. A first backfill takes nearly three times as long with it: make it after that. Of attached
    tables only the titles are searched, since the texts stay where they are. `--no-search` drops it.

    **Examples**

        dedup init --hash-key random

        dedup init --search

        dedup init --sql | psql -v ON_ERROR_STOP=1 news

        dedup settings --show-secrets --json | jq -r .hash_key    # for a corpus with equal hashes elsewhere
    """
    from dedup import Deduplicator
    from dedup.base.settings import masked

    if key not in (None, "random", "-"):
        raise InputError("--hash-key takes random, or - to read the key from stdin")
    if sql:
        if key or json or search is not None:
            raise InputError("--sql prints statements only: leave out --hash-key, --search and --json")
        _print_schema()
        return
    wanted = shared.hash_key(key) if key else None
    shared.say_if_started()
    made = Deduplicator.initialize()
    with Deduplicator() as dd:
        new = bool(wanted) and dd.settings.give_hash_key(wanted or "", keep=key == "random")
        present = dd.settings.wanted().hash_key
        found = dd.preview() if new else None
        if new:
            shared.say_pins_left_behind(dd.settings.pins_left_behind())
    done = _search(search) if search is not None else None
    if json:
        output.write_json({"before": made.before, "after": made.after, "hash_key": masked(present)})
        return
    already = made.before == made.after
    has = "has the schema" if already else "now has the schema"
    output.say(f"{made.location} {has} {made.after}{' already' if already else ''}")
    if made.before and not already:
        output.say("if roles have rights from `dedup grant`: run it again, for what is new")
    if wanted:
        output.say(f"hash key: {masked(present)}{'' if new else ', as before'}; it is part of every backup")
    if done:
        output.say(done)
    if found and found.adoption:
        output.say(f"next: dedup backfill, which reads every text again ({shared.previewed(found)})")


def _search(wanted: bool) -> str:
    from dedup.api.operation import Operation

    with Operation() as owner:
        done = owner.make_searchable(wanted)
    if wanted:
        return "words can be searched" + ("" if done else ", as before")
    return "the index of words is dropped" if done else "there is no index of words"


def _print_schema() -> None:
    from dedup.api.operation import printed_schema

    script = printed_schema()
    if script:
        output.write_text(script)
    else:
        output.say("nothing to do: the schema is up to date")


def backfill(
    batch: Annotated[
        int, Option(min=1, max=100_000, help="Articles per transaction; the marks do not depend on it.")
    ] = 1_000,
    workers: Annotated[
        int | None,
        Option(min=0, max=MAX_WORKERS, help="Threads that fingerprint texts; default: one more than cores."),
    ] = None,
    engine: Annotated[
        str,
        Option(
            metavar="|".join(ENGINE_NAMES),
            help="What settles: `postgres` a batch at a time, `memory` everything at once, `auto` whichever"
            " is quicker. The marks do not depend on it.",
        ),
    ] = "auto",
    memory: Annotated[
        int | None,
        Option(
            min=16,
            metavar="MB",
            help="Megabytes that the memory engine may use, more or less; default: a quarter of all.",
        ),
    ] = None,
    json: shared.JsonOption = False,
) -> None:
    """Give every pending or stale article its mark; the nightly run.

    Puts changed settings in force, fingerprints texts on all cores, brings the common sentences up to date,
    settles. Where much is unsettled, as after a first load or a changed setting, everything is settled at
    once in memory; a few articles are looked up through the indexes of Postgres. May be stopped at any
    moment and is resumed by the next run. Marks stay readable all the while.

    If another backfill is at work, this one says who runs it, since when and how far it is, and ends. One
    that was killed is taken over at once. `dedup status` shows the one at work.

    A text that cannot be read fails alone, with its reason; see `dedup retry`. Where the machine has no
    memory or threads to spare, no article is to blame: the backfill ends with exit code 1, and the next one
    goes on.

    Next: `dedup stories`, `dedup marks`.
    """
    with shared.corpus() as dd, shared.stopping() as stop, output.progress_bar() as bar:
        if dd.settings.adoption():
            output.say(f"new settings or a new program come into force: {shared.previewed(dd.preview())}")
        report = dd.backfill(
            batch=batch,
            workers=workers,
            engine=cast("EngineName", engine),
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


def _say_done(report: BackfillReport) -> None:
    if report.taken_over:
        output.say(f"took over from {report.taken_over.kind} that is gone: {report.taken_over}")
    if report.running:
        output.say(f"{report.running.kind} is running already, {report.running}; this one has nothing to do")
    elif report.superseded:
        output.say("another backfill took this one for gone and goes on in its place; this one ended")
    elif not report.settled and not report.failed and not report.stopped:
        output.say("everything was settled already")
    else:
        failed = f", {report.failed:,} cannot have one (dedup marks --status failed)" if report.failed else ""
        texts = shared.counted(report.fingerprinted, "text", "texts")
        output.say(f"fingerprinted {texts}{failed}; wrote {shared.counted(report.settled, 'mark', 'marks')}")
        if report.stopped:
            output.say("stopped as asked; run `dedup backfill` again to go on")
        else:
            if report.reprints:
                output.say(_found(report.reprints))
            output.say("next: dedup stories, dedup marks, dedup status")
    for line in report.problems:
        output.say(line)
    if report.deferred:
        output.say(
            f"{report.deferred:,} articles are held by others' transactions (`dedup status`): run it again"
        )


def _found(reprints: Reprints) -> str:
    if not reprints.duplicates:
        return "no article is a duplicate of another"
    most = ", ".join(
        f'"{shared.shortened(story.title)}" ({story.id}, {shared.counted(story.copies, "copy", "copies")})'
        if story.title
        else f"{story.id} ({shared.counted(story.copies, 'copy', 'copies')})"
        for story in reprints.most
    )
    return (
        f"{shared.counted(reprints.duplicates, 'duplicate', 'duplicates')} in"
        f" {shared.counted(reprints.stories, 'story', 'stories')}; the most reprinted: {most}"
    )


def retry(
    failed: Annotated[
        str,
        Option(
            metavar="REASON",
            help="How the reason begins: `unreadable`, `empty`, `too long`; `dedup status` lists them.",
        ),
    ] = "unreadable",
    json: shared.JsonOption = False,
) -> None:
    """Make failed articles pending again, so that the next backfill reads them once more.

    By default, those that could not be read, as an error of the program stopped them. Do it when the cause is
    gone: an older dedup.
    An article whose text is empty or too long fails again until it is edited or the setting changed.

    **Examples**

        dedup retry

        dedup retry --failed "too long"
    """
    with shared.corpus() as dd, shared.stopping() as stop:
        total = dd.retry(failed, stop=stop.is_set)
    if json:
        output.write_json({"pending": total})
    elif not total:
        output.say(f"no article failed with a reason that begins {output.printable(failed)!r}: dedup status")
    else:
        output.say(f"{total:,} failed articles are pending again; next: dedup backfill")
    if stop.is_set():
        unfinished()


def check(
    file: Annotated[str, Argument(metavar="FILE", help="JSONL by default; `-` is stdin.")] = "-",
    dry_run: Annotated[bool, Option("--dry-run", help="Answer only; store nothing.")] = False,
    map_: shared.MapOption = None,
    format_: shared.FormatOption = None,
    publication: shared.PublicationOption = None,
    language: shared.LanguageOption = None,
    html: shared.HtmlOption = False,
    date_format: shared.DateFormatOption = None,
    day_first: shared.DayFirstOption = None,
) -> None:
    """Store and settle articles one by one: JSON articles in, JSON verdicts out.

    One line for every line read, at once, so it can serve as a co-process of a scraper. What cannot be
    read, a blank line included, gets a verdict too, with the status `refused` and its id where it has one;
    `repairs` names fields that were not taken as they were. Names and bounds are those of `load`. Exit code 1
    if not one line is an article.

    **Example**

        echo '{"id": "a1", "text": "..."}' | dedup check
    """
    from dedup.base.verdict import Verdict
    from dedup.files.readers import Reject, Repair
    from dedup.files.reading import Reading

    reading = Reading(shared.field_map(map_), format_, publication, language, html, date_format, day_first)
    with ExitStack() as stack:
        stop = stack.enter_context(shared.stopping())
        reading.try_out(file, every_line=True)  # a typo starts no server
        dd = stack.enter_context(shared.corpus())
        bound = dd.settings.max_record_bytes()
        reader = stack.enter_context(reading.open(file, bound, every_line=True))
        repairs: list[Repair] = []
        answered = refused = 0
        for item in reader:
            if isinstance(item, Repair):  # its article comes next
                repairs.append(item)
                continue
            if isinstance(item, Reject):
                verdict = Verdict(item.source_id, "refused", None, None, f"line {item.line}: {item.reason}")
                refused += 1
            else:
                article = reading.completed(item)
                verdict = dd.lookup(article) if dry_run else dd.submit(article)
            noted = [{"field": r.field, "reason": r.reason, "value": r.value} for r in repairs]
            output.write_json({**verdict.as_dict(), "repairs": noted}, indent=None)
            sys.stdout.flush()
            repairs.clear()
            answered += 1
            if stop.is_set():
                unfinished()
        if reader.truncated:
            raise InputError(f"{file} is damaged and ends early: check it again when it is whole")
    if answered and answered == refused:
        output.say("not one line is an article")
        raise typer.Exit(1)


def delete(
    source_ids: Annotated[list[str], Argument(metavar="SOURCE_ID", help="The articles' own ids.")],
    json: shared.JsonOption = False,
) -> None:
    """Delete articles; their duplicates and partners are judged again.

    Exit code 1 if one of them is unknown; the others are deleted all the same.
    """
    with shared.corpus() as dd:
        deleted = dd.delete_many(source_ids)
    unknown = [source_id for source_id in source_ids if source_id not in set(deleted)]
    if json:
        output.write_json({"deleted": deleted, "unknown": unknown})
    else:
        output.say(f"deleted {len(deleted):,} articles")
        for source_id in unknown:
            output.say(f"unknown: {source_id}")
    if unknown:
        raise typer.Exit(1)
