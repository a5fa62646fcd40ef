"""Open a path as a source of records; the files in a zip archive are read like one file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dedup.base import plugins
from dedup.base.errors import InputError
from dedup.files.delimited import read_csv
from dedup.files.excel import ExcelSource
from dedup.files.jsonl import read_jsonl
from dedup.files.packed import PACKED_SUFFIXES, Archive, open_file
from dedup.files.parquet import ParquetSource
from dedup.files.reading import Reading
from dedup.files.record import Plan, Record
from dedup.files.report import Understanding
from dedup.files.rows import ROWS, GivenRows
from dedup.files.source import LineSource

# Importing the module for feeds takes 12 ms, other formats 2 ms. So `feeds` is imported only if needed.
if TYPE_CHECKING:
    from dedup.files.feeds import FeedSource

    Source: TypeAlias = "LineSource | ParquetSource | ExcelSource | FeedSource | PluginSource"


class PluginSource(Protocol):
    """Source that a plug-in (entry point group `dedup.formats`) makes from a path and a record size limit."""

    suffixes: tuple[str, ...]  # file suffixes that the class reads, such as `(".wire",)`
    file: str  # name of the file in messages
    bytes_read: int
    bytes_total: int | None  # size in bytes; None if unknown
    truncated: bool  # whether the end of the file is missing

    def records(self, plan: Plan, needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield the records. Raises InputError if the file cannot be used."""

    def close(self) -> None: ...


FORMATS = ("jsonl", "json", "csv", "tsv", "parquet", "xlsx", "xml")
SUFFIXES: dict[str, str] = {
    **dict.fromkeys((".jsonl", ".jsonlines", ".ndjson"), "jsonl"),
    **{".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"},
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "xlsx"),
    **dict.fromkeys((".xml", ".rss", ".atom", ".wxr"), "xml"),
}
SEEKING = ("parquet", "xlsx")  # Formats that need a file that can be read in any order
NAMES_SHOWN = 8  # Maximum number of files of an archive that an error lists


class OpenedFile:
    """Records of a file, of the files of an archive, or of a program. The records can be read once."""

    def __init__(self, path: str | GivenRows, reading: Reading, max_record_bytes: int) -> None:
        self._reading, self._bound = reading, max_record_bytes
        self._archive: Archive | None = None
        self.skipped: list[str] = []  # files of an archive that are not read
        self._truncated = False  # whether an earlier file of the archive was truncated
        self.source: Source  # source of the file being read
        if not isinstance(path, str):
            self.file, self.format = ROWS, "rows"
            self._names = [ROWS]
            self.source = path(max_record_bytes)
            return
        self.file = "<stdin>" if path == "-" else path
        self._names = [path]
        if path.lower().endswith(".zip"):
            self._archive = Archive(path)
        try:
            within, format = self._archive, reading.format
            self.format = self._choose_members(within, format) if within else _choose_format(path, format)
            if reading.sheet is not None and self.format != "xlsx":
                raise InputError(f"{path} is not an Excel file, and has no sheet: leave out --sheet")
            if reading.encoding is not None and (_needs_seeking(self.format) or self.format == "xml"):
                raise InputError(f"{path} names its own encoding: leave out --encoding")
            self.source = self._open(self._names[0])
        except BaseException:
            if self._archive:
                self._archive.close()
            raise

    @property
    def truncated(self) -> bool:
        return self._truncated or self.source.truncated

    @property
    def names(self) -> list[str]:
        """Names of the files that are read from an archive."""
        return self._names if self._archive else []

    def close(self) -> None:
        self.source.close()
        if self._archive:
            self._archive.close()

    def records(
        self, plan: Plan, needed: Collection[str], understood: Understanding, *, every_line: bool = False
    ) -> Iterator[Record]:
        """Return the records of all files. Raises InputError at once if a file is unusable."""

        def of(source: Source, understood: Understanding) -> Iterator[Record]:
            if not isinstance(source, LineSource) or hasattr(source, "records"):
                return source.records(plan, needed, understood)
            if self.format in ("jsonl", "json"):
                understood.format = self.format
                return read_jsonl(source, plan, understood, every_line=every_line)
            return read_csv(source, plan, needed, understood)

        def every() -> Iterator[Record]:
            yield from first
            for name in self._names[1:]:
                self._truncated = self.truncated
                self.source.close()
                self.source = self._open(name)
                yield from of(self.source, understood)

        first = of(self.source, understood)
        # Each file of an archive is opened once in advance, to report a bad header before anything is stored.
        for name in self._names[1:]:
            other = self._open(name)
            try:
                of(other, Understanding(name, self.format))
            finally:
                other.close()
        return every()

    def _open(self, name: str) -> Source:
        if self.format == "parquet":
            return ParquetSource(name, self._bound)
        if self.format == "xlsx":
            return ExcelSource(name, self._bound, self._reading.sheet)
        if self.format == "xml":
            from dedup.base.html import need_extractor
            from dedup.files.feeds import FeedSource

            need_extractor()
            return FeedSource(name, self._bound, self._archive)
        if self.format not in FORMATS:
            added: PluginSource = plugins.loaded("formats", self.format)(name, self._bound)
            return added
        return LineSource(name, self._bound, self._reading.encoding, self._archive)

    def _choose_members(self, archive: Archive, format: str | None) -> str:
        """Choose the files to read in an archive, and return their format. Set `_names` and `skipped`."""
        every = archive.names
        found = {name: _find_format(_get_suffix(name)) for name in every}
        if format is not None:
            # Read only the files whose names show `format`. If there are none, the names are misleading: read
            # all files as `format`.
            found = {name: one if one == format else None for name, one in found.items()}
            found = found if any(found.values()) else dict.fromkeys(every, format)
        self._names = [name for name, one in found.items() if one]
        self.skipped = [name for name, one in found.items() if not one]
        formats = sorted({_check_format(one) for one in found.values() if one})
        if not formats:
            listed = ", ".join(every[:NAMES_SHOWN]) or "nothing"
            more = ", …" if len(every) > NAMES_SHOWN else ""
            raise InputError(
                f"{self.file} holds no file of a known format, but {listed}{more}; name the format"
                f" ({', '.join(one for one in FORMATS if one not in SEEKING)}) with --format"
            )
        if len(formats) > 1 or _needs_seeking(formats[0]):
            kinds = " and ".join(formats)
            raise InputError(f"{self.file} holds files of {kinds}; unpack it first: unzip {self.file}")
        return formats[0]


def _get_suffix(name: str) -> str:
    """Return the suffix of a file name in lower case: `.csv` for `news.csv` and for `news.csv.gz`."""
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in PACKED_SUFFIXES else path.suffix


def _needs_seeking(format: str) -> bool:
    return format in SEEKING or format not in FORMATS  # a plug-in may need to seek


def _find_format(suffix: str) -> str | None:
    if found := SUFFIXES.get(suffix):
        return found
    return next((name for name, one in plugins.every("formats").items() if suffix in one.suffixes), None)


def _check_format(format: str) -> str:
    if format not in FORMATS and plugins.loaded("formats", format) is None:
        formats = (*FORMATS, *plugins.every("formats"))
        raise InputError(f"unknown format '{format}'; the formats are {', '.join(formats)}")
    return format


def _choose_format(path: str, format: str | None) -> str:
    if format is not None:
        return _check_format(format)
    if path == "-":
        return "jsonl"
    suffix = _get_suffix(path)
    if (found := _find_format(suffix)) is None:
        # Open the path first: for a missing file the error is then not about the suffix.
        open_file(path)[0].close()
        raise InputError(
            f"{path}: unknown format '{suffix}'; name the format ({', '.join(FORMATS)}) or rename the file "
            f"to one of {' '.join(SUFFIXES)}, each with or without {' '.join(PACKED_SUFFIXES)} or .zip"
        )
    return found
