"""Options for reading a file, such as the options of `dedup load`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from dedup.base.article import ARTICLE_FIELDS, Article
from dedup.base.errors import InputError
from dedup.files.dates import check_format


class ReadingOptions(TypedDict, total=False):
    """Fields of `Reading` as keyword arguments."""

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
    """Options for reading a file. Raises InputError for an unknown field or a bad date format."""

    # Key or column of each mapped field; in JSON and Parquet, `source.name` can mean `name` within `source`.
    fields: Mapping[str, str] | None = None
    format: str | None = None  # one of `dedup.files.opening.FORMATS`; None: decided by the file name
    publication: str | None = None  # publication for articles that have none
    language: str | None = None  # language for articles that have none
    html: bool = False  # extract texts from HTML, and remove tags from titles
    date_format: str | None = None  # format of `datetime.strptime`; dates that do not match are read as usual
    day_first: bool | None = None  # True: the day is first in dates such as 1/2/2020; None: find out
    lose_dates: bool = False  # accept any number of unreadable dates
    encoding: str | None = None  # encoding of a file that is not UTF-8 and has no byte order mark
    sheet: str | None = None  # name of an Excel sheet; None: the first visible sheet
    keep: Sequence[str] = ()  # names of further values to store with each article; found like mapped names

    def __post_init__(self) -> None:
        if self.fields is not None and not isinstance(self.fields, Mapping):
            raise InputError(f"fields must be a dict of names, not {type(self.fields).__name__}")
        # A str is a sequence, too: each of its letters would count as a name.
        if isinstance(self.keep, str) or not isinstance(self.keep, Sequence):
            raise InputError(f"keep must be a list of names, not {type(self.keep).__name__}")
        for field in self.fields or ():
            _check_field(field)
        if self.date_format is not None:
            check_format(self.date_format)

    def complete(self, article: Article) -> Article:
        """Return the article, with a missing publication or language filled in."""
        publication = article.publication or self.publication
        language = article.language or self.language
        if (publication, language) == (article.publication, article.language):
            return article
        return replace(article, publication=publication, language=language)


def chosen(function: str, options: ReadingOptions) -> Reading:
    """Return the options as a `Reading`. Raises TypeError, as Python does, if an option is unknown."""
    known = ReadingOptions.__annotations__
    if unknown := sorted(options.keys() - known.keys()):
        raise TypeError(f"{function}() takes no argument {unknown[0]!r}; it reads by {', '.join(known)}")
    return Reading(**options)


def parse_field_map(pairs: Iterable[str]) -> dict[str, str]:
    """Return `{"text": "body"}` for `["text=body"]`. Raises InputError for a bad pair."""
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
