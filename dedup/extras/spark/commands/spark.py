"""Commands `dedup spark run`, which computes marks without a database, and `dedup spark estimate`."""

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

SPARK_PACKAGES = ("pyspark", "pandas", "pyarrow")  # packages of the extra `spark`

# If Spark runs on one machine, it accepts connections only from this machine, and serves no web page.
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}

QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}

PARTITIONS_PER_CORE = 2  # on one machine; with Spark's default of 200 partitions, each would have few rows

spark_app = typer.Typer(
    no_args_is_help=True,
    help="""
Compute the same marks as in Postgres on a Spark cluster, for a corpus that is too large for one machine.

The commands need no database; `dedup import` imports the result into Postgres. See docs/spark.md for
Databricks, EMR and other clusters. The commands need the extra `spark` and Java 17.
""",
)

InputOption = Annotated[
    str, Option("--input", metavar="PATH", help="Table of articles, at any address that Spark reads.")
]
TableFormatOption = Annotated[
    str, Option("--format", help="parquet, delta, iceberg or orc; table: --input is the name of a table.")
]
CorpusOption = Annotated[
    str | None,
    Option("--corpus", metavar="DIR", help="Folder of `dedup export corpus`, with settings and pins."),
]
SetOption = Annotated[
    list[str] | None, Option("--set", metavar="NAME=VALUE", help="Setting (not with --corpus); repeatable.")
]
HashKeyOption = Annotated[
    str | None, Option("--hash-key", help="Secret key of the corpus; `-` reads the key from stdin.")
]
AddedOption = Annotated[
    str | None,
    Option("--added-at", help="Time for articles without added_at, such as 2026-11-20; default: now."),
]
MasterOption = Annotated[
    str | None, Option("--master", help="Master URL of Spark; default: from spark-submit, or else local[*].")
]
RemoteOption = Annotated[
    str | None, Option("--remote", metavar="URL", help="Server of Spark Connect, such as sc://host.")
]
MemoryOption = Annotated[str, Option("--memory", help="Memory for Java, if Spark runs only on this machine.")]
PartitionsOption = Annotated[
    int | None, Option("--partitions", min=1, help="Partitions of shuffled data; default: Spark's.")
]


@spark_app.command()
def run(
    input_: InputOption,
    out: Annotated[str, Option("--output", metavar="DIR", help="Folder for the tables of the result.")],
    work: Annotated[
        str | None,
        Option(metavar="DIR", help="Folder for finished steps; default: the name of --output plus `.work`."),
    ] = None,
    format_: TableFormatOption = "parquet",
    map_: MapOption = None,
    corpus: CorpusOption = None,
    set_: SetOption = None,
    hash_key_: HashKeyOption = None,
    added_at: AddedOption = None,
    allow_pairs: Annotated[
        int | None, Option(min=0, help="Stop before a round with more pairs; show the keys with most pairs.")
    ] = None,
    partitions: PartitionsOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    memory: MemoryOption = "4g",
    json: JsonOption = False,
) -> None:
    """Compute the mark of every article of a table: the same mark as in Postgres.

    Columns are recognized as in `dedup load`. Rows that cannot be read are refused, and fields that cannot be
    read are left out. Both are counted by reason; the refused rows become a table of the result.

    The output has the tables `mark`, `match`, `common_sentence`, `fingerprint` and `refused`, and `run.json`
    with settings, versions and costs. If you run a stopped command again, it continues with the first
    unfinished step. Remove the folder of steps (`--work`) at the end.

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
    sample: Annotated[float, Option(help="Share of the articles to read, such as 0.01.")] = 1.0,
    work: Annotated[
        str | None, Option(metavar="DIR", help="Folder for finished steps; default: dedup-estimate.")
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
    """Estimate the cost of a run: number of texts, pairs and bytes, and the keys with most pairs.

    Two texts that share a key (a sentence or a hash) are a pair. The estimate groups texts by key, without
    comparing pairs. With `--sample` it reads a share of the articles, and misses keys that few texts share.

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
        output.say(f"from a sample of {found.sample:.3g}: the figures are estimates for the whole table")
    facts = [
        ("articles", f"{found.articles:,}"),
        ("different texts", f"{found.texts:,}"),
        ("common sentences", f"{found.common:,}"),
        ("keys that several texts share", f"{found.keys:,}"),
        ("pairs, if all were compared", f"{found.pairs:,}"),
        ("pairs of the first round", f"{found.first_round:,} (head {found.head:,})"),
        ("disk space before the rounds", output.size(found.step_bytes)),
        ("pairs of the first round, bytes", output.size(found.pair_bytes)),
    ]
    output.table("", ("", ""), facts)
    rows = [(key.kind, str(key.key), key.texts, key.pairs, key.source_id) for key in found.worst]
    output.table(
        "keys with most pairs",
        ("kind", "key", "texts", "pairs", "id"),
        rows,
        ("texts", "pairs"),
        ids=("key",),
    )


def _tell(name: str, seconds: float, rows: int) -> None:
    output.say(f"{name}: {counted(rows, 'row')}, {seconds:,.1f} s")


@contextmanager
def _session(master: str | None, remote: str | None, memory: str, partitions: int | None) -> Iterator[Any]:
    """Yield a Spark session: from the options, spark-submit or the environment, or else a local session."""
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
        # Without this variable, Spark starts the python3 of the system, which may lack this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings |= {**LOCAL, "spark.driver.memory": memory}
        settings[SHUFFLE_PARTITIONS] = partitions or PARTITIONS_PER_CORE * cores()
    for name, value in settings.items():
        if not given and not remote:
            builder = builder.config(name, value)
    output.say("starting Spark" if not given else "using the running Spark session")
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
        raise InputError("--corpus excludes --set: change the settings in Postgres, and export again")
    found: dict[str, Any] = {}
    for pair in values or ():
        name, equals, value = pair.partition("=")
        if not equals or name == "hash_key":
            raise InputError(f"--set needs NAME=VALUE, not {name!r}; for the hash key, use --hash-key")
        found[name] = value
    if key == "random":
        raise InputError("fingerprints made with a random key fit no corpus: pass the key of the corpus")
    return Settings().with_values({**found, "hash_key": hash_key(key) if key else ""})


def _corpus(spark: Any, folder: str | None, settings: Settings) -> CorpusState:
    from dedup.extras.spark.options import CorpusState

    return CorpusState.read(spark, folder, settings.hash_key) if folder else CorpusState(settings=settings)


def _say_input(report: Mapping[str, Any]) -> None:
    rows = counted(report["articles"], "row")
    reused = f", {report['reused']:,} with known fingerprints" if report["reused"] else ""
    output.say(f"read {rows}{reused}; {counted(report['failed'], 'text has', 'texts have')} no fingerprint")
    for what in ("refused", "repaired"):
        for reason, count in report[what].items():
            output.say(f"  {what}: {count:,} for: {reason}")
