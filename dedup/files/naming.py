"""Find the fields of an article in a record: by usual names, names that the user gave, and nested names.

The exact name is preferred. Other names fit if they are equal in lower case, without surrounding spaces, and
with underscores for spaces and hyphens. If several names fit, the first one with a value is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from dedup.base.errors import InputError
from dedup.files.record import KEPT, Plan
from dedup.files.report import MAX_NAMES, Understanding, count_name, shorten

DEFAULT_FIELDS: dict[str, tuple[str, ...]] = {
    "source_id": ("source_id", "id", "_id", "guid", "uuid", "article_id", "doc_id"),
    "text": (
        "text", "body", "content.rendered", "content", "article", "article_text", "article_body",
        "articlebody", "full_text", "fulltext", "maintext", "body_text", "content_text", "fields.bodytext",
        "html", "body_html", "content_html", "description",
    ),
    "title": ("title.rendered", "title", "headline.main", "headline", "head", "heading", "webtitle"),
    "url": ("url", "link", "href", "permalink", "canonical_url", "web_url", "weburl"),
    "publication": (
        "publication", "outlet", "publisher.name", "publisher", "source_name", "source.name", "source",
        "site_name", "newspaper",
    ),
    "published_at": (
        "published_at", "date", "published", "pub_date", "pubdate", "publishedat", "publish_date",
        "publication_date", "date_published", "datepublished", "published_date", "datetime", "timestamp",
        "webpublicationdate",
    ),
    "added_at": ("added_at",),
    "language": ("language", "lang", "language_code"),
    "byline": ("byline", "authors", "author", "creator", "dc:creator", "by"),
    "kept": ("kept",),
    "scope": ("scope",),
}  # fmt: skip
"""Names that may hold each field of an article; the first with a value is used. `a.b` is `b` within `a`."""

# Names that usually hold a teaser. If a record has no other name for the text, the text is missing. If the
# record has another name, such as `body`, but no value for it, the teaser is the text.
TEASERS = ("description",)

# Limits of the cache of `RecordShape`. Records of most files have few shapes; a hostile file has many.
MAX_SHAPES = 256
MAX_SHAPE_NAMES = 200
MAX_SHAPE_CHARACTERS = 10_000

# Maximum number of options (names that are tried) per field, since each option is compared with all later
# options. An honest record has about three options; a hostile record may have thousands.
MAX_OPTIONS = 32

_MAX_SHOWN_NAME, _MAX_SHOWN_NAMES = 30, 20
_ABSENT = object()

Within = Callable[[str, str], tuple[str, ...] | None]
"""Function that gets `a` and `b` of a name `a.b`, and returns the path of `b` within `a`, or None."""


class Option(NamedTuple):
    """Place where a field may be found: a name, and a path within the value of this name."""

    key: Any  # name of the value, or index of a column
    rest: tuple[str, ...]  # path within the value of this name
    label: str  # dotted name shown to people
    others: tuple[str, ...] = ()  # names that are tried after `key`, and ignored if `key` has a value


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Places (`Option`) of each field of an article. Records with the same names have the same shape."""

    fields: tuple[tuple[str, tuple[Option, ...]], ...]  # each field, with its options in the order to try
    used: frozenset[str]  # names of the record that are read into a field of the article
    ignored: tuple[str, ...]  # names that hold no field, at most MAX_NAMES


def find_columns(
    file: str,
    names: Sequence[str],
    plan: Plan,
    needed: Collection[str],
    within: Within,
    understood: Understanding,
) -> RecordShape:
    """Return the shape of rows; keys are column numbers. Raises InputError: a missing or repeated column."""
    shape = make_shape(plan, names, within)
    chosen = dict(shape.fields)
    for field, candidates in plan.items():
        if field in chosen:
            name = chosen[field][0].key
            if names.count(name) > 1:
                raise InputError(f"{file}: column '{name}' appears twice; rename one of the two")
            understood.seen.add(field)
        elif field == "source_id" and understood.url_may_be_id and "url" in chosen:
            continue
        elif field in needed:
            # Long names are not shown: the first row may be an article, and messages must not quote its text.
            listed = [name if len(name) <= _MAX_SHOWN_NAME else "(long)" for name in names[:_MAX_SHOWN_NAMES]]
            columns = ", ".join(listed) + (", …" if len(names) > _MAX_SHOWN_NAMES else "")
            if field.startswith(KEPT):
                wanted = f"{candidates[0]!r} to be kept"
                raise InputError(f"{file} has no column {wanted}; its columns are {columns}; correct --keep")
            address = chosen["url"][0].label if field == "source_id" and "url" in chosen else "COLUMN"
            raise InputError(
                f"{file} has no column for {field} (looked for: {', '.join(candidates)}); its columns are "
                f"{columns}; name the right column with --map {field}={address}"
            )
    indices = {name: index for index, name in reversed(list(enumerate(names)))}
    fields = tuple(
        (field, tuple(option._replace(key=indices[option.key]) for option in options))
        for field, options in shape.fields
    )
    return replace(shape, fields=fields)


def flatten(shape: RecordShape, names: Sequence[str]) -> tuple[tuple[tuple[str, ...], ...], RecordShape]:
    """Return the paths of all options, and a shape in which the key of each option is the index of its path.

    `names`: names of the columns, to which the keys in the given shape refer.
    """
    columns: dict[tuple[str, ...], int] = {}
    fields = []
    for field, options in shape.fields:
        made = []
        for option in options:
            index = columns.setdefault((names[option.key], *option.rest), len(columns))
            made.append(option._replace(key=index, rest=()))
        fields.append((field, tuple(made)))
    return tuple(columns), replace(shape, fields=tuple(fields))


def fold(name: str) -> str:
    """Return a name in lower case, with underscores for spaces and hyphens, for comparison."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _get_options(
    candidates: Iterable[str], names: Collection[str], folded: dict[str, list[str]], within: Within
) -> list[Option]:
    """Return the places in a record where a field may be found, in the order to try.

    `candidates`: names of the field. `names`, `folded`: names in the record, as they are and by folded name.
    """
    found: dict[tuple[str, tuple[str, ...]], Option] = {}

    def add(wanted: str, rest: str) -> None:
        exact = [wanted] if wanted in names else []
        for name in dict.fromkeys([*exact, *folded.get(fold(wanted), ())]):
            path = within(name, rest) if rest else ()
            if path is not None:
                label = ".".join((name, *path))
                found.setdefault((name, path), Option(name, path, shorten(label)))

    for candidate in candidates:
        add(candidate, "")
        for wanted, rest in _split_at_dots(candidate):
            add(wanted, rest)
    return list(islice(found.values(), MAX_OPTIONS))


def make_shape(plan: Plan, names: Sequence[str], within: Within) -> RecordShape:
    """Return the shape of records with these names. Each `Option.key` is a name, not a column index."""
    distinct = dict.fromkeys(names)
    folded: dict[str, list[str]] = {}
    for name in distinct:
        folded.setdefault(fold(name), []).append(name)
    chosen = {field: _get_options(candidates, distinct, folded, within) for field, candidates in plan.items()}
    usual = plan.get("text") == DEFAULT_FIELDS["text"]
    if usual and all(fold(option.key) in TEASERS for option in chosen.get("text", ())):
        chosen["text"] = []
    chosen = {field: options for field, options in chosen.items() if options}
    first = {options[0].key for options in chosen.values()}
    used = frozenset(option.key for options in chosen.values() for option in options)
    fields = []
    for field, options in chosen.items():
        made = []
        for position, option in enumerate(options):
            later = dict.fromkeys(other.key for other in options[position + 1 :])
            others = tuple(shorten(key) for key in later if key != option.key and key not in first)
            made.append(Option(option.key, option.rest, option.label, others))
        fields.append((field, tuple(made)))
    ignored = islice((shorten(name) for name in distinct if name not in used), MAX_NAMES)
    return RecordShape(tuple(fields), used, tuple(ignored))


class Shapes:
    """Shapes of the records of a file, each made once for all records with the same names."""

    def __init__(self, plan: Plan, understood: Understanding) -> None:
        self._plan = plan
        self._understood = understood
        self._known: dict[tuple[str, ...], RecordShape] = {}

    def find(self, record: dict[str, Any]) -> RecordShape:
        names = tuple(record)
        known = self._known.get(names)
        if known is not None:
            return known
        made = make_shape(self._plan, names, lambda _key, rest: (rest,))
        for field, options in made.fields:
            if any(not option.rest for option in options):
                self._understood.seen.add(field)
        if len(names) <= MAX_SHAPE_NAMES and sum(map(len, names)) <= MAX_SHAPE_CHARACTERS:
            if len(self._known) >= MAX_SHAPES:
                self._known.clear()
            self._known[names] = made
        return made


def extract_values(record: Any, shape: RecordShape, understood: Understanding) -> dict[str, Any]:
    """Return the values of a record by field, and count the names under which values were found."""
    found: dict[str, Any] = {}
    for field, options in shape.fields:
        looked_into = None
        for key, rest, label, others in options:
            value = record[key]
            if rest:
                value = _find_within(value, rest[0])
                if value is _ABSENT:
                    continue
                understood.seen.add(field)
                looked_into = key
            elif key == looked_into:
                # In `{"source": {"name": null}}` the publication is missing: an object is not a name.
                continue
            if value is None:
                continue
            found[field] = value
            if value == "":  # a later name may have a value that is not empty
                continue
            count_name(understood.fields.setdefault(field, {}), label)
            for other in others:
                count_name(understood.ignored, other)
            break
    for name in shape.ignored:
        count_name(understood.ignored, name)
    return found


def _find_within(value: Any, rest: str) -> Any:
    """Return the value of a name, possibly dotted, within an object, or _ABSENT."""
    if not isinstance(value, dict):
        return _ABSENT
    if rest in value:
        return value[rest]
    if len(value) <= MAX_SHAPE_NAMES:
        for name, inner in value.items():
            if fold(name) == fold(rest):
                return inner
    for outer, name in _split_at_dots(rest):
        inner = _find_within(_find_within(value, outer), name)
        if inner is not _ABSENT:
            return inner
    return _ABSENT


def _split_at_dots(name: str) -> Iterator[tuple[str, str]]:
    """Yield the parts before and after each dot of a name, beginning with the last dot."""
    at = name.rfind(".")
    while at > 0:
        yield name[:at], name[at + 1 :]
        at = name.rfind(".", 0, at)
