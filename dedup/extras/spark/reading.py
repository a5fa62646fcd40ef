"""Find the fields of articles among the columns of a DataFrame, and read tables of articles.

Names of columns, also nested ones, are matched as by the file readers (`dedup.files.naming`). Errors that the
schema shows are raised here, before Spark reads any row. Executors convert the values, in `rows.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as fn

from dedup.base.article import ARTICLE_FIELDS
from dedup.base.errors import InputError
from dedup.extras.spark import failures, rows
from dedup.extras.spark.rows import SIZE, Layout
from dedup.files.dates import TIMES
from dedup.files.naming import DEFAULT_FIELDS, RecordShape, find_columns, flatten, fold
from dedup.files.record import REQUIRED_FIELDS
from dedup.files.report import Understanding

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

INPUT = "the input"  # the name of the DataFrame in messages
INTEGERS = frozenset(("tinyint", "smallint", "int", "bigint"))
TEXTS = frozenset(("string",))
NUMBERS = INTEGERS | {"float", "double", "decimal"}
TIMESTAMPS = frozenset(("timestamp", "timestamp_ntz", "date"))
PLAIN = TEXTS | NUMBERS | TIMESTAMPS | {"boolean", "binary"}
"""Types whose values are passed to Python. For other types Python learns only whether there is a value."""

USABLE: dict[str, frozenset[str]] = {
    "source_id": TEXTS | INTEGERS,
    "text": TEXTS,
    **{field: TEXTS | NUMBERS | TIMESTAMPS | {"void"} for field in TIMES},
}
"""Types of columns that a field can be read from. A field not named here may have a column of any type."""

# Formats that Spark reads and dedup refuses, because Spark silently changes values: its JSON reader replaces
# lone surrogates by `?`.
NOT_TABLES = {"json": "JSON", "csv": "CSV", "text": "text", "xml": "XML"}

FILES_ASKED = 100  # maximum number of files read to find out whether a column of integers holds times

# Settings while the schema is inferred: nanoseconds raise no error, and a time without a zone is in UTC.
_READER = {
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
}


def arranged(df: DataFrame, mapping: Mapping[str, str] | None, record_bytes: int) -> tuple[DataFrame, Layout]:
    """Select the columns that hold fields of articles. Return the selected table and its layout.

    The selected columns are named c0, c1, …; a column `size` is added. `mapping` maps fields to columns;
    `publisher.name` means a column within a struct. A row with more bytes of text than `record_bytes` keeps
    only its source_id. Raises InputError: a required or mapped column is missing, repeated or of an
    impossible type.
    """
    mapping = mapping or {}
    for field in mapping:
        if field not in ARTICLE_FIELDS:
            raise InputError(f"unknown field '{field}'; the fields are {', '.join(ARTICLE_FIELDS)}")
    plan = {
        field: (mapping[field],) if field in mapping else names
        for field, names in DEFAULT_FIELDS.items()
        if field != "kept"  # marks do not depend on this field
    }
    names = df.columns
    types = [field.dataType for field in df.schema.fields]
    understood = Understanding(INPUT, "parquet")

    def within(name: str, rest: str) -> tuple[str, ...] | None:
        return _path(types[names.index(name)], rest)

    shape = find_columns(INPUT, names, plan, {*REQUIRED_FIELDS, *mapping}, within, understood)
    columns, flat = flatten(shape, names)
    # Columns are named by number, because names may differ in case alone, which Spark ignores.
    numbered = df.toDF(*(f"n{number}" for number in range(len(names))))
    kinds: list[str] = []
    cells: list[Column] = []
    for name, *rest in columns:
        number = names.index(name)
        kind, cell = types[number], numbered[f"n{number}"]
        for inner in rest:
            kind, cell = _inner(kind, inner), cell.getField(inner)
        kinds.append(kind_of(kind))
        cells.append(cell)
    _refuse_types(flat, kinds)
    made = Layout(
        flat,
        len(cells),
        frozenset(i for i, kind in enumerate(kinds) if kind == "struct"),
        frozenset(i for i, kind in enumerate(kinds) if kind not in PLAIN and kind != "struct"),
    )
    return numbered.select(*_bounded(cells, kinds, made, record_bytes)), made


def read_table(
    spark: SparkSession, path: str, format: str = "parquet", mapping: Mapping[str, str] | None = None
) -> DataFrame:
    """Read a table of articles: Parquet, or another format that the session reads, such as delta or iceberg.

    Args:
        path: a file or folder at any address that Spark reads; with the format `table` the name of a table.
        mapping: names of columns by field. Times may be in nanoseconds, which Spark by itself refuses.

    Raises:
        InputError: the table is missing or unreadable, or its files do not agree with each other.
    """
    if format in NOT_TABLES:
        raise InputError(
            f"{NOT_TABLES[format]} is refused, because Spark silently changes some of its values;"
            " convert the table to Parquet first"
        )
    try:
        if format == "table":
            return spark.table(path)
        if format == "parquet":
            return _parquet(spark, path, mapping or {})
        return spark.read.format(format).load(path)
    except failures.kinds() as error:
        raise InputError(
            f"{path} cannot be read as {format} ({failures.named(error)}); check that it is there, that it is"
            " whole, and that its files have the same columns with the same types"
        ) from None


def kind_of(kind: DataType) -> str:
    """Return the name of a type without its parameters: `decimal` for `decimal(10,2)`."""
    name = kind.simpleString().partition("(")[0].partition("<")[0].partition(" ")[0]
    return "string" if name in ("varchar", "char") else name


def _path(kind: DataType, rest: str) -> tuple[str, ...] | None:
    """Return the path to a column within structs, in the spelling of the schema; None if it is missing."""
    path: list[str] = []
    within: Any = kind
    for wanted in rest.split("."):
        if kind_of(within) != "struct":
            return None
        inner = [field.name for field in within.fields]
        found = [*(n for n in inner if n == wanted), *(n for n in inner if fold(n) == fold(wanted))]
        if not found:
            return None
        path.append(found[0])
        within = _inner(within, found[0])
    return tuple(path)


def _inner(kind: Any, name: str) -> DataType:
    found: DataType = next(field.dataType for field in kind.fields if field.name == name)
    return found


def _refuse_types(shape: RecordShape, kinds: Sequence[str]) -> None:
    """Raise an InputError if no column of a field has a usable type."""
    for field, options in shape.fields:
        usable = USABLE.get(field)
        if usable is None or any(kinds[option.key] in usable for option in options):
            continue
        option, better = options[0], "timestamp" if field in TIMES else "string"
        raise InputError(
            f"{INPUT}: column '{option.label}' is of type {kinds[option.key]}, which cannot be a {field};"
            f" name another column with --map {field}=COLUMN, or cast it to {better}"
        )


def _bounded(
    cells: Sequence[Column], kinds: Sequence[str], layout: Layout, record_bytes: int
) -> list[Column]:
    """Return the columns that are passed to Python. Rows with too many bytes of text lose their texts."""
    sizes = [
        fn.coalesce(fn.octet_length(cell), fn.lit(0)).cast("bigint")
        for cell, kind in zip(cells, kinds, strict=True)
        if kind in ("string", "binary")
    ]
    size = sum(sizes[1:], sizes[0])
    ids = layout.places("source_id")
    made = []
    for number, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        if kind not in PLAIN:
            cell = cell.isNotNull()
        elif kind in ("string", "binary"):
            cell = cell.cast(kind)  # removes a collation
            bound = fn.octet_length(cell) <= record_bytes if number in ids else size <= record_bytes
            cell = fn.when(bound, cell)
        made.append(cell.alias(f"c{number}"))
    return [*made, size.alias(SIZE)]


def _parquet(spark: SparkSession, path: str, mapping: Mapping[str, str]) -> DataFrame:
    # The schemas of all footers are merged, because files may come from several programs. The rebase modes
    # suit files that Spark did not write, whose old dates are in the Gregorian calendar.
    options = {"mergeSchema": "true", "datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
    with configured(spark, _READER):
        found = spark.read.options(**options).parquet(path)
    candidates = {
        fold(name)
        for field in TIMES
        for name in ([mapping[field]] if field in mapping else DEFAULT_FIELDS[field])
    }
    whole = {
        field.name
        for field in found.schema.fields
        if kind_of(field.dataType) == "bigint" and fold(field.name) in candidates
    }
    times = _nanoseconds(spark, path, whole)
    if not times:
        return found
    # Digits below a microsecond are cut off, as the file readers do.
    return found.select(
        *(
            fn.timestamp_micros(fn.expr(f"{_quoted(name)} div 1000")).alias(name)
            if name in times
            else fn.col(_quoted(name))
            for name in found.columns
        )
    )


def _nanoseconds(spark: SparkSession, path: str, names: Collection[str]) -> set[str]:
    """Return the columns among `names` that hold times in nanoseconds, though Spark shows integers."""
    unknown = set(names)
    found: set[str] = set()
    if not unknown:
        return found
    # With `nanosAsLong` Spark shows integers and nanoseconds as bigint; only the footer of a file tells them
    # apart. To get the footer, the whole file must be read, so the smallest files are read first.
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    for row in files.load(path).select("path", "length").orderBy("length").limit(FILES_ASKED).collect():
        kinds = (
            files.load(row.path).select("content").mapInArrow(rows.columns_of_files, rows.COLUMN).collect()
        )
        found |= {kind.name for kind in kinds if kind.name in unknown and kind.nanoseconds}
        unknown -= {kind.name for kind in kinds}
        if not unknown:
            break
    return found


@contextmanager
def configured(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
