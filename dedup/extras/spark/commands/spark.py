"""`dedup spark`: marks made on a cluster, or on one machine without a database, and their cost."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from dedup.base.errors import InputError
from dedup.base.machine import cores
from dedup.base.settings import Settings
from dedup.cli import output
from dedup.cli.shared import JsonOption, MapOption, counted, field_map, hash_key, moment, needs
from dedup.extras.spark.failures import explained

if TYPE_CHECKING:
    from dedup.extras.spark.options import CorpusState

SPARK_PACKAGES = ("pyspark", "pandas", "pyarrow")  # of the extra `spark`

# Spark on one machine must accept no connections from other machines, and serves no web page.
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}

QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}

PARTITIONS_PER_CORE = 2  # of shuffled data on one machine; Spark's default of 200 makes tasks of a few rows

spark_app = typer.Typer(
    no_args_is_help=True,
    help="""
Make the same marks on Spark, for a corpus too large for one machine.

This needs no database; `dedup import` brings the result into Postgres. See docs/spark.md for Databricks, EMR
and other clusters. Needs the extra `spark` and Java 17.
""",
)

InputOption = Annotated[
    str, Option("--input", metavar="PATH", help="A table of articles, at any address that Spark reads.")
]
TableFormatOption = Annotated[
    str, Option("--format", help="parquet; delta, iceberg or orc, where Spark has it; or table, for a name.")
]
CorpusOption = Annotated[
    str | None,
    Option("--corpus", metavar="DIR", help="A folder of `dedup export corpus`, whose state counts."),
]
SetOption = Annotated[
    list[str] | None, Option("--set", metavar="NAME=VALUE", help="A setting, without --corpus; repeatable.")
]
HashKeyOption = Annotated[
    str | None, Option("--hash-key", help="The secret key of the corpus; `-` reads it from stdin.")
]
AddedOption = Annotated[
    str | None,
    Option("--added-at", help="For articles without an added_at, such as 2026-11-20. Default: now."),
]
MasterOption = Annotated[
    str | None, Option("--master", help="The master of Spark; default: of spark-submit, or else local[*].")
]
RemoteOption = Annotated[
    str | None, Option("--remote", metavar="URL", help="A server of Spark Connect, such as sc://host.")
]
MemoryOption = Annotated[str, Option("--memory", help="Memory of Java, if Spark runs on this machine alone.")]
PartitionsOption = Annotated[
    int | None, Option("--partitions", min=1, help="Partitions of shuffled data; default: the session's.")
]


@spark_app.command()
def run(
    input_: InputOption,
    out: Annotated[str, Option("--output", metavar="DIR", help="A folder for the tables of the result.")],
    work: Annotated[
        str | None,
        Option(metavar="DIR", help="A folder for the steps. Default: the output's name with `.work`."),
    ] = None,
    format_: TableFormatOption = "parquet",
    map_: MapOption = None,
    corpus: CorpusOption = None,
    set_: SetOption = None,
    hash_key_: HashKeyOption = None,
    added_at: AddedOption = None,
    allow_pairs: Annotated[
        int | None, Option(min=0, help="Stop before a round with more pairs, and show the worst keys.")
    ] = None,
    partitions: PartitionsOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    memory: MemoryOption = "4g",
    json: JsonOption = False,
) -> None:
    """Give every article of a table the mark that it would get in Postgres.

    Columns are found as by `dedup load`. Unreadable rows are refused and unreadable fields left out; both are
    counted by reason, and the refused rows are a table of the result.

    The output has the tables `mark`, `match`, `common_sentence`, `fingerprint` and `refused`, and `run.json`
    with settings, versions and costs. A stopped run continues from the folder of steps; remove it at the end.

    **Examples**

        dedup spark run --input articles.parquet --output marks

        dedup spark run --input new.parquet --corpus exported --output marks
    """
    mapping, settings, added = _given(map_, set_, hash_key_, corpus, added_at)
    with _session(master, remote, memory, partitions) as spark, explained("the run ended early"):
        from dedup.extras.spark.engine import deduplicate
        from dedup.extras.spark.options import Options
        from dedup.extras.spark.reading import read_table

        given = _corpus(spark, corpus, settings)
        result = deduplicate(
            read_table(spark, input_, format_, mapping),
            work=work or f"{out.rstrip('/')}.work",
            settings=given.settings,
            pins=given.pins,
            known=given.known,
            models=given.models,
            horizon=given.horizon,
            options=Options(partitions=partitions, allow_pairs=allow_pairs),
            mapping=mapping,
            added_at=added,
            told=_tell,
        )
        result.write(out)
        statuses = {row.status: row["count"] for row in result.marks.groupBy("status").count().collect()}
    if json:
        output.write_json({**result.report, "statuses": statuses, "output": out})
    else:
        _say_input(result.report["input"])
        counts = result.report["counts"]
        pairs, common = ("pairs", counts["match"]), ("common sentences", counts["common_sentence"])
        output.table("", ("what", "count"), [*sorted(statuses.items()), pairs, common], ("count",))
        output.say(f"wrote {out}; into Postgres: dedup import {out}")
    if result.report["input"]["articles"] and not statuses:
        raise typer.Exit(1)


@spark_app.command("estimate")
def estimate_(
    input_: InputOption,
    sample: Annotated[float, Option(help="The share of the articles to read, such as 0.01.")] = 1.0,
    work: Annotated[
        str | None, Option(metavar="DIR", help="A folder for the steps. Default: ./dedup-estimate")
    ] = None,
    format_: TableFormatOption = "parquet",
    map_: MapOption = None,
    corpus: CorpusOption = None,
    set_: SetOption = None,
    hash_key_: HashKeyOption = None,
    added_at: AddedOption = None,
    partitions: PartitionsOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    memory: MemoryOption = "4g",
    json: JsonOption = False,
) -> None:
    """Estimate the cost of a run: texts, pairs, bytes, and the keys with most pairs.

    The texts are read and grouped, and no pair is compared. With `--sample` the numbers for the whole are
    estimated from a share of the articles, which misses keys that few texts share.

    **Example**

        dedup spark estimate --input articles.parquet --sample 0.1
    """
    mapping, settings, added = _given(map_, set_, hash_key_, corpus, added_at)
    with _session(master, remote, memory, partitions) as spark, explained("the estimate ended early"):
        from dedup.extras.spark.estimate import estimate
        from dedup.extras.spark.options import Options
        from dedup.extras.spark.reading import read_table

        found = estimate(
            read_table(spark, input_, format_, mapping),
            work=work or "dedup-estimate",
            corpus=_corpus(spark, corpus, settings),
            options=Options(partitions=partitions),
            mapping=mapping,
            added_at=added,
            sample=sample,
            told=_tell,
        )
    if json:
        output.write_json(found.as_dict())
        return
    _say_input(found.report)
    if found.sample < 1:
        output.say(f"from a sample of {found.sample:.3g}: the numbers are estimates for the whole")
    facts = [
        ("articles", f"{found.articles:,}"),
        ("different texts", f"{found.texts:,}"),
        ("common sentences", f"{found.common:,}"),
        ("keys of several texts", f"{found.keys:,}"),
        ("pairs, if all were compared", f"{found.pairs:,}"),
        ("pairs of the first round", f"{found.first_round:,} (head {found.head:,})"),
        ("stored up to the groups", output.size(found.step_bytes)),
        ("pairs of the first round, bytes", output.size(found.pair_bytes)),
    ]
    output.table("", ("", ""), facts)
    rows = [(key.kind, str(key.key), key.texts, key.pairs, key.source_id) for key in found.worst]
    output.table(
        "the worst keys", ("kind", "key", "texts", "pairs", "id"), rows, ("texts", "pairs"), ids=("key",)
    )


def _tell(name: str, seconds: float, rows: int) -> None:
    output.say(f"{name}: {counted(rows, 'row')}, {seconds:,.1f} s")


@contextmanager
def _session(master: str | None, remote: str | None, memory: str, partitions: int | None) -> Iterator[Any]:
    """Open the session that options, spark-submit or the environment name, or else a local session."""
    if master and remote:
        raise InputError("--master and --remote exclude each other: give one of the two")
    given = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    local = not remote and (master or ("" if given else "local[*]"))
    is_local = bool(local) and str(local).startswith("local")
    if local and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise InputError("Spark needs Java 17: install it (Debian: apt install openjdk-17-jre-headless)")
    from pyspark.sql import SparkSession

    from dedup.extras.spark.options import SHUFFLE_PARTITIONS

    builder: Any = SparkSession.builder.appName("dedup")
    settings: dict[str, Any] = dict(QUIET)
    if remote:
        builder = builder.remote(remote)
    elif local:
        builder = builder.master(local)
    if is_local:
        # Without this variable Spark starts the python3 of the system, which may lack this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings |= {**LOCAL, "spark.driver.memory": memory}
        settings[SHUFFLE_PARTITIONS] = partitions or PARTITIONS_PER_CORE * cores()
    for name, value in settings.items():
        if not given and not remote:
            builder = builder.config(name, value)
    output.say("starting Spark" if not given else "using the session of Spark")
    with explained("Spark does not start"):
        spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _given(
    map_: list[str] | None, set_: list[str] | None, key: str | None, folder: str | None, added: str | None
) -> tuple[dict[str, str], Settings, datetime | None]:
    needs("dedup spark", "spark", SPARK_PACKAGES)
    return field_map(map_), _settings(set_, key, folder), None if added is None else moment(added)


def _settings(values: list[str] | None, key: str | None, folder: str | None) -> Settings:
    if folder and values:
        raise InputError("--corpus has its own settings: change them in Postgres, and export again")
    found: dict[str, Any] = {}
    for pair in values or ():
        name, equals, value = pair.partition("=")
        if not equals or name == "hash_key":
            raise InputError(f"--set wants NAME=VALUE, not {name!r}; the hash key has an option of its own")
        found[name] = value
    if key == "random":
        raise InputError("a random key makes fingerprints that no corpus has: give the key of the corpus")
    return Settings().with_values({**found, "hash_key": hash_key(key) if key else ""})


def _corpus(spark: Any, folder: str | None, settings: Settings) -> CorpusState:
    from dedup.extras.spark.options import CorpusState

    return CorpusState.read(spark, folder, settings.hash_key) if folder else CorpusState(settings=settings)


def _say_input(report: Mapping[str, Any]) -> None:
    rows = counted(report["articles"], "row")
    reused = f", {report['reused']:,} with the fingerprints that are known" if report["reused"] else ""
    output.say(f"read {rows}{reused}; {counted(report['failed'], 'text has', 'texts have')} no fingerprint")
    for what in ("refused", "repaired"):
        for reason, count in report[what].items():
            output.say(f"  {what}: {count:,} for: {reason}")
