"""Commands that exchange data with a cluster: `dedup export corpus` and `dedup import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.read import DIFFERENT
from dedup.cli.shared import JsonOption, corpus, counted, needs, stopping
from dedup.cli.signals import unfinished


def export_corpus(
    folder: Annotated[Path, Argument(metavar="DIR", help="New or empty folder.")],
    include_hash_key: Annotated[
        bool,
        Option("--include-hash-key", help="Put the secret hash key into the folder, if the corpus has one."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Export a corpus for a cluster: fingerprints, pins, settings, sentence parameters and the horizon.

    With the export, the Spark engine reads only texts that are new or changed. The export shows the corpus at
    one moment; other commands can run meanwhile. The folder contains no texts, and only you can read it. If
    you stop an export, no folder is left. The export leaves out articles without a current fingerprint, and
    prints the source_ids of some of them. Needs the extra `parquet`.

    A person with the hash key can write texts whose hashes collide. If you leave the key out of the folder,
    give the key to the cluster yourself.

    **Example**

        dedup export corpus known
    """
    needs("dedup export corpus", "parquet", ("pyarrow",))
    with corpus() as dd, stopping() as stop, progress_bar() as bar:
        report = dd.export_corpus(folder, hash_key=include_hash_key, progress=bar, stop=stop.is_set)
    if report.stopped:
        output.say(f"stopped as asked; the folder {folder} was not written")
        unfinished()
    if json:
        output.write_json(report.as_dict())
        return
    failed = f", {counted(report.failed, 'failed article')}" if report.failed else ""
    pins = counted(report.pair_pins + report.sentence_pins, "pin")
    output.say(f"{folder}: {counted(report.fingerprints, 'fingerprint')}{failed}, {pins}")
    if report.left_out:
        named = ", ".join(report.left_out_ids[:3]) + (" …" if report.left_out > 3 else "")
        articles = counted(report.left_out, "article")
        output.say(f"left out {articles} without a current fingerprint; the cluster reads them: {named}")
    if report.keyed:
        output.say(
            "the folder contains the secret hash key: keep others from reading it"
            if report.with_key
            else "the corpus has a hash key, which is not in the folder: give the key to the cluster"
        )


def import_(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder that the Spark engine wrote.")],
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only compare and list differences; exit code 3 if there are any.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Import the marks that the Spark engine made: all marks in one transaction, or none.

    The articles must be in the corpus already (by `dedup load`, or in attached tables): the import adds their
    fingerprints, marks and pairs. First the command compares the result with the corpus: articles, texts,
    times, settings, pins and the horizon. If anything differs, it imports nothing and names the next step. An
    import has the same effect as a backfill. Articles that change meanwhile wait for the next backfill.

    You may stop the import at any moment, because one transaction at its end writes all marks. Needs the
    extra `parquet`.

    **Example**

        dedup import result --dry-run
    """
    needs("dedup import", "parquet", ("pyarrow",))
    with corpus(make=True) as dd, stopping() as stop, progress_bar("rows") as bar:
        report = dd.import_corpus(folder, dry_run=dry_run, progress=bar, stop=stop.is_set)
    if json:
        output.write_json(report.as_dict())
    elif report.stopped:
        output.say("stopped as asked; no mark was changed: run the import again")
    elif report.problems:
        for problem in report.problems:
            output.say(str(problem))
    elif dry_run:
        new = counted(report.fingerprints, "new fingerprint")
        output.say(f"the result fits: {counted(report.articles, 'article')}, {new}; nothing was changed")
    else:
        marks, pairs = counted(report.marks, "mark"), counted(report.pairs, "pair")
        new = counted(report.fingerprints, "fingerprint")
        output.say(f"wrote {marks}, {pairs} and {new} of {counted(report.articles, 'article')}")
        if report.left:
            articles = counted(report.left, "article")
            output.say(f"{articles} changed meanwhile; next: dedup backfill")
    if report.stopped:
        unfinished()
    if report.problems:
        raise typer.Exit(DIFFERENT)
