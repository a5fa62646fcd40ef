"""Options for reading a file: those of `load` and its like, in one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from dedup.base.article import ARTICLE_FIELDS, Article
from dedup.base.errors import InputError
from dedup.files.dates import check_format


class ReadingOptions(TypedDict, total=False):
    """The arguments of a `Reading`, for those who hand them on."""

    fields: Mapping[str, str] | None
    format: str | None
    publication: str | None
    language: str | None
    html: bool
    date_format: str | None
    day_first: bool | None
    lose_dates: bool
    encoding: str | None
    sheet: str | None
    keep: Sequence[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """Options for reading a file. Raises InputError: a field or the format of dates is none."""

    # article field to the name of the key or column that has it, in place of the usual names. In JSON and
    # Parquet `source.name` is also the name within the object, or struct, `source`.
    fields: Mapping[str, str] | None = None
    format: str | None = None  # one of `dedup.files.opening.FORMATS`; None goes by the name of the file
    publication: str | None = None  # publication, language: of articles that name none
    language: str | None = None
    html: bool = False  # extract the texts from those that are HTML, and take tags out of titles
    # as `datetime.strptime` reads them, such as `%d.%m.%Y %H:%M`; dates of another form are read as usual.
    date_format: str | None = None
    # the first of three numbers is the day; False: the month; None: the file tells.
    day_first: bool | None = None
    lose_dates: bool = False  # go on, however many cannot be read
    encoding: str | None = None  # where it is not UTF-8, and no byte order mark says so
    sheet: str | None = None  # of Excel; None is the first
    keep: Sequence[str] = ()  # names of values that articles keep, found as mapped fields are

    def __post_init__(self) -> None:
        for field in self.fields or ():
            _check_field(field)
        if self.date_format is not None:
            check_format(self.date_format)

    def completed(self, article: Article) -> Article:
        """An article with the publication and language of this reading where it has none."""
        if (self.publication and article.publication is None) or (self.language and article.language is None):
            return replace(
                article,
                publication=article.publication or self.publication,
                language=article.language or self.language,
            )
        return article


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


def _check_field(field: str) -> None:
    if field not in ARTICLE_FIELDS:
        raise InputError(f"unknown field '{field}'; the fields are {', '.join(ARTICLE_FIELDS)}")
