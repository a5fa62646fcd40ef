"""Files become articles: JSON, CSV, TSV, Parquet, Excel or feeds, packed or not, or JSONL on standard input.

    with read_articles("news.jsonl.gz", fields={"text": "body"}) as reader:
        for item in reader:                  # an Article, a Reject with line and reason, or a Repair
            ...

What cannot be an article becomes a Reject, a repaired field a Repair right before its article; what makes the
whole file unusable is an InputError before the first article. Memory holds one record, whose size is bounded.

`opening.py` finds out what a file is; `jsonl.py`, `delimited.py`, `parquet.py` and `excel.py` know lines and
rows, `feeds.py` the entries of XML, `naming.py` the names of fields; none knows the database. Texts stay as
they are, unless `html` asks to take articles out of HTML; those of feeds are HTML always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

from dedup.base.article import ARTICLE_FIELDS, Article
from dedup.base.errors import InputError
from dedup.files.dates import AS_USUAL, TIMES, DateColumn, DateRule, Dates, refuse_many
from dedup.files.naming import DEFAULT_FIELDS as DEFAULT_FIELDS
from dedup.files.opening import Opened
from dedup.files.record import (
    KEPT,
    MAX_RAW_BYTES,
    MAX_RECORD_BYTES,
    NO_MEMORY,
    REQUIRED_FIELDS,
    Beginning,
    Flaw,
    Plan,
    Record,
    Refused,
    keep,
    make_article,
    row_as_json,
    unexpected,
    usable_id,
)
from dedup.files.rejects import Reject as Reject
from dedup.files.rejects import RejectsFile as RejectsFile
from dedup.files.rejects import Repair as Repair
from dedup.files.report import MAX_NAMES, Understanding, shown
from dedup.files.source import UTF8, likely_encoding

Item = Article | Reject | Repair  # What a reader yields

FIRST_RECORDS = 500
FIRST_BYTES = 4_000_000  # Records, and bytes of them, of a pipe that say how its dates are written

CUT_CHARACTERS = 32_767  # A text of so many was in a cell of Excel, which cuts off what is longer


def parse_field_map(pairs: Iterable[str]) -> dict[str, str]:
    """Read `["text=body", "publication=source"]` as `{"text": "body", "publication": "source"}`."""
    fields: dict[str, str] = {}
    for pair in pairs:
        field, _, name = (part.strip() for part in pair.partition("="))
        if not field or not name:
            raise InputError(f"'{pair}' does not map a field; write FIELD=NAME, such as text=body")
        _check_field(field)
        if field in fields:
            raise InputError(f"field {field} is mapped twice, to '{fields[field]}' and to '{name}'; give one")
        fields[field] = name
    return fields


class ArticleReader(Iterator[Item]):
    """The articles of one file, or of standard input for "-", in order, once; a context manager.

    The name of a file says its format (`opening.py`) unless `format` does; "-" is JSONL. What it is packed
    with is seen. `fields` maps an article field to the key or column that holds it, in place of
    DEFAULT_FIELDS; in JSON and Parquet `source.name` is also the name within the object, or struct, `source`.
    Where no name of an id is known, the url is the id. A line or row of more than `max_record_bytes` is
    refused; reading takes up to 13 times as much memory. `html` extracts articles from texts that look like
    HTML, else these are only counted, and takes tags and entities out of titles. `every_line` is for whoever
    has to answer every line of JSONL: a blank one is a Reject, neither its beginning nor its dates make the
    file unusable, and an id is needed. `dates`: how they are written, and if they may be lost. `encoding`: of
    a file that is not UTF-8 and has no byte order mark. `sheet`: of Excel, in place of the first. `keep`:
    names of values that articles keep, found as mapped fields are.

    Raises InputError before any article if the file, its header or an argument cannot be used; with the
    first article if more than a tenth of the dates of a column cannot be read (`dates.py`); later only for a
    failing disk, or where so many dates come late in a pipe.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        fields: Mapping[str, str] | None = None,
        format: str | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        html: bool = False,
        every_line: bool = False,
        dates: DateRule = AS_USUAL,
        encoding: str | None = None,
        sheet: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        self._html, self._keep = html, keep
        if html:
            from dedup.base.html import need_extractor

            need_extractor()
        fields = fields or {}
        for field in fields:
            _check_field(field)
        wanted = (str(path), format, max_record_bytes, encoding, sheet)
        self._opened = Opened(*wanted)
        plan = {
            field: (fields[field],) if field in fields else names
            for field, names in _usual_names(self._opened.format).items()
        } | {KEPT + name: (name,) for name in keep}
        self.file, self.close = self._opened.file, self._opened.close
        self.understood = Understanding(self.file, self._opened.format)
        self.understood.files = [shown(name) for name in self._opened.names[:MAX_NAMES]]
        self.understood.not_read = [shown(name) for name in self._opened.passed_over[:MAX_NAMES]]
        self.understood.url_may_be_id = "source_id" not in fields and not every_line
        needed = {*REQUIRED_FIELDS, *fields, *(KEPT + name for name in keep)}
        try:
            records = self._opened.records(plan, needed, self.understood, every_line=every_line)
        except BaseException:
            self.close()
            raise
        self.stop: Callable[[], bool] = lambda: False
        self._dates, self._ask, self._may_lose = Dates(dates), False, dates.lose or every_line
        if self.bytes_total is not None:
            records = self._after_all(records, lambda: Opened(*wanted), plan, needed)
        elif not every_line:
            records = self._after_the_first(records)
        self._items = self._articles(records)

    def _after_all(
        self, records: Iterator[Record], again: Callable[[], Opened], plan: Plan, needed: set[str]
    ) -> Iterator[Record]:
        """The records, after a look at the dates of the whole file."""
        opened = again()
        understood = Understanding(self.file, opened.format)
        understood.url_may_be_id = self.understood.url_may_be_id
        if opened.format == "parquet":  # of columns, only those that matter are read
            plan, needed = {field: plan[field] for field in TIMES}, set()
        try:
            self._look(opened.records(plan, needed, understood))
        finally:
            opened.close()
        yield from records

    def _after_the_first(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records, after a look at the dates of the first ones."""
        first: list[Record] = []
        size = 0
        for record in records:
            first.append(record)
            size += len(record[1] or b"")
            if len(first) >= FIRST_RECORDS or size >= FIRST_BYTES:
                break
        self._look(first)
        yield from first
        self._ask = True
        yield from records

    def _look(self, records: Iterable[Record]) -> None:
        going_on = takewhile(lambda _: not self.stop(), _readable(records))
        looked = self._dates.look(found for _, _, found in going_on if isinstance(found, dict))
        for field, column in looked.items():
            if not self._may_lose and not self.stop():
                refuse_many(self.file, field, column, "nothing of the file was stored")
            self.understood.dates[field] = DateColumn(order=column.order)

    def _count_dates(self, article: Article, flaws: Sequence[Flaw]) -> None:
        dates = self.understood.dates
        for field in TIMES:
            if getattr(article, field) is not None:
                dates.setdefault(field, DateColumn()).given += 1
        for field, _, value in flaws:
            if field in TIMES:
                column = dates.setdefault(field, DateColumn())
                column.lose(value)
                if self._ask and not self._may_lose:
                    refuse_many(self.file, field, column, "what came before is stored, without such dates")

    @property
    def bytes_read(self) -> int:
        """Position in the file as stored, that is before unpacking; of Parquet and Excel an estimate."""
        return self._opened.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the file as stored; None for standard input and pipes."""
        return self._opened.bytes_total

    @property
    def truncated(self) -> bool:
        """The file broke off (see the last Reject). Its checksum comes at the end, so where what is packed is
        corrupt rather than cut, the last articles before that may be nonsense; `gzip -t` tells beforehand.
        """
        return self._opened.truncated

    def __iter__(self) -> Iterator[Item]:
        return self._items

    def __next__(self) -> Item:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _articles(self, records: Iterator[Record]) -> Iterator[Item]:
        understood = self.understood
        try:
            for line, raw, found in records:
                understood.records += 1
                if isinstance(found, str):
                    self._note_encoding(found, raw)
                    known = found.source_id if isinstance(found, Refused) else None
                    yield self._reject(line, str(found), raw, known)
                    continue
                if self._by_url(found):
                    found["source_id"] = found["url"]
                    understood.ids_from_url += 1
                try:
                    text = found.get("text")
                    markup = False
                    if self._opened.format == "xml":
                        from dedup.files import feeds

                        understood.extracted += feeds.take_out(found)
                    elif self._html or (isinstance(text, str) and "<" in text):
                        from dedup.base.html import looks_like_html, take_out

                        markup = isinstance(text, str) and looks_like_html(text)
                        if self._html:
                            take_out(found, text if markup else None)
                    if self._keep:
                        keep(found, self._keep)
                    self._dates.take(found)
                    article, flaws = make_article(found)
                except InputError as error:
                    shown = raw if raw is not None else row_as_json(found)
                    yield self._reject(line, str(error), shown, found.get("source_id"))
                    continue
                except MemoryError:
                    yield self._reject(line, NO_MEMORY, raw, found.get("source_id"))
                    continue
                except Exception as error:  # of a parser, whatever it met: this record's fault
                    yield self._reject(line, unexpected(error), raw, found.get("source_id"))
                    continue
                self._count_dates(article, flaws)
                if article.published_at is None:
                    understood.without_date += 1
                if not article.text or article.text.isspace():
                    understood.empty += 1
                if len(article.text) == CUT_CHARACTERS or article.text.endswith(" chars]"):
                    understood.cut += 1
                if markup and self._html:
                    understood.extracted += 1
                elif markup:
                    understood.html += 1
                for field, reason, value in flaws:
                    yield Repair(self._opened.where, line, article.source_id, field, reason, value)
                yield article
        finally:
            self.close()

    def _by_url(self, found: dict[str, Any]) -> bool:
        """Whether the id of an article is its url: no record so far had a name for an id."""
        understood = self.understood
        return (
            understood.url_may_be_id
            and "source_id" not in found
            and "source_id" not in understood.seen
            and usable_id(found.get("url")) is not None
        )

    def _note_encoding(self, reason: str, raw: bytes | None) -> None:
        understood = self.understood
        if raw and understood.likely_encoding is None and reason.endswith(f" is not {UTF8}"):
            understood.likely_encoding = likely_encoding(raw)

    def _reject(self, line: int, reason: str, raw: bytes | str | None, source_id: Any) -> Reject:
        length: int | None = None
        if raw is not None:
            whole = raw.length if isinstance(raw, Beginning) else len(raw)  # the JSON of a row is ASCII
            if whole > len(raw) or whole > MAX_RAW_BYTES:
                raw, length = raw[:MAX_RAW_BYTES], whole
        return Reject(self._opened.where, line, reason, raw, length, usable_id(source_id))


read_articles = ArticleReader


def _check_field(field: str) -> None:
    if field not in ARTICLE_FIELDS:
        raise InputError(f"unknown field '{field}'; the fields are {', '.join(ARTICLE_FIELDS)}")


def _usual_names(format: str) -> Mapping[str, tuple[str, ...]]:
    if format != "xml":
        return DEFAULT_FIELDS
    from dedup.files.feeds import FIELDS

    return FIELDS


def _readable(records: Iterable[Record]) -> Iterator[Record]:
    """Records up to where the file cannot be read on; the real reading reports that."""
    with suppress(InputError):
        yield from records
