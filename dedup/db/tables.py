"""Tables and views of a corpus as SQLAlchemy tables, so that programs join marks to models of their own.

    from dedup import tables

    query = select(Item.title, tables.mark.c.status).join(tables.mark, tables.mark.c.source_id == Item.guid)

The module has all views, and the tables of articles, marks and people's decisions. `tables.txt` describes
their columns; `tests/db/test_tables.py` writes it from a new schema. A view has `info["is_view"]` and no key.
For a corpus in a different schema use `in_schema`, or an engine with the execution option
`schema_translate_map={"dedup": NAME}`; `Deduplicator.engine` has that option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Date,
    Double,
    FetchedValue,
    ForeignKeyConstraint,
    Identity,
    Integer,
    Interval,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from dedup.base.schema import DEFAULT, chosen
from dedup.db.rendering import render_text

__all__ = [
    "addition", "agency", "agency_copy", "alteration", "article", "article_agency", "article_credit",
    "article_mark", "article_sentence", "article_text", "canonical_article", "correction_phrase",
    "current_article", "daily_mark", "duplicate", "in_schema", "judged_pair", "judgement", "mark",
    "marked_article", "match", "metadata", "origin_month", "outlet", "outlet_article", "outlet_month",
    "outlet_overlap", "pair_pin", "pinned_pair", "publication_credit", "publication_overlap", "quote",
    "run_history", "schema_version", "scored_pair", "sentence", "sentence_pin", "shared_article",
    "similar_pair", "story", "story_article", "story_origin", "story_representative", "story_version",
]  # fmt: skip

DESCRIPTION: Final = Path(__file__).with_name("tables.txt")

TYPES: Final[dict[str, TypeEngine[Any]]] = {
    "bigint": BigInteger(),
    "boolean": Boolean(),
    "bytea": LargeBinary(),
    "date": Date(),
    "double precision": Double(),
    "integer": Integer(),
    "interval": Interval(),
    "jsonb": JSONB(),
    "numeric": Numeric(),
    "text": Text(),
    "timestamptz": TIMESTAMP(timezone=True),
    "varchar(32)": String(32),
}
"""Types by the names that `tables.txt` uses. The name of an array ends with `[]`."""

_PART = re.compile(r"^(table|view) (\w+)(?:: (.*))?\n((?:    .*\n)*)", re.MULTILINE)
_COLUMN = re.compile(
    rf" {{4}}(?P<name>\w+) (?P<type>{'|'.join(map(re.escape, TYPES))})(?P<array>\[\])?(?P<flags>(?: \w+)*)"
    r"(?:: (?P<comment>.*))?"
)
_LINK = re.compile(r" {4}\((.+)\) references (\w+) \((.+)\)")


def in_schema(name: str | None = None) -> MetaData:
    """Return the tables and views of the corpus in this schema: `in_schema("wires").tables["wires.mark"]`.

    Each call returns the same `MetaData`. None: the configured schema, else `dedup`. Raises InputError: the
    name is not allowed.
    """
    return make(chosen(name))


@cache
def make(schema: str) -> MetaData:
    made = MetaData(schema=schema)
    described = render_text(DESCRIPTION.read_text("utf-8"), schema)
    for kind, name, comment, lines in _PART.findall(described):
        parts = _read(lines.splitlines(), schema)
        Table(name, made, *parts, comment=comment or None, info={"is_view": kind == "view"})
    return made


def _read(lines: list[str], schema: str) -> Iterator[SchemaItem]:
    """Yield the columns and foreign keys of a table. `lines`: lines of `tables.txt` below its name."""
    for line in lines:
        if link := _LINK.fullmatch(line):
            others = [f"{schema}.{link[2]}.{name}" for name in link[3].split(", ")]
            yield ForeignKeyConstraint(link[1].split(", "), others)
            continue
        found = _COLUMN.fullmatch(line)
        assert found, line
        kind, flags = TYPES[found["type"]], found["flags"].split()
        made = {"identity": Identity(always=True), "generated": FetchedValue()}
        yield Column(
            found["name"],
            ARRAY(kind) if found["array"] else kind,
            *(made[flag] for flag in flags if flag in made),
            primary_key="key" in flags,
            nullable=not {"key", "required"} & {*flags},
            autoincrement="identity" in flags,
            comment=found["comment"],
        )


metadata = make(DEFAULT)


def _named(name: str) -> Table:
    return metadata.tables[f"{DEFAULT}.{name}"]


addition = _named("addition")
agency = _named("agency")
agency_copy = _named("agency_copy")
alteration = _named("alteration")
article = _named("article")
article_agency = _named("article_agency")
article_credit = _named("article_credit")
article_mark = _named("article_mark")
article_sentence = _named("article_sentence")
article_text = _named("article_text")
canonical_article = _named("canonical_article")
correction_phrase = _named("correction_phrase")
current_article = _named("current_article")
daily_mark = _named("daily_mark")
duplicate = _named("duplicate")
judged_pair = _named("judged_pair")
judgement = _named("judgement")
mark = _named("mark")
marked_article = _named("marked_article")
match = _named("match")
origin_month = _named("origin_month")
outlet = _named("outlet")
outlet_article = _named("outlet_article")
outlet_month = _named("outlet_month")
outlet_overlap = _named("outlet_overlap")
pair_pin = _named("pair_pin")
pinned_pair = _named("pinned_pair")
publication_credit = _named("publication_credit")
publication_overlap = _named("publication_overlap")
quote = _named("quote")
run_history = _named("run_history")
schema_version = _named("schema_version")
scored_pair = _named("scored_pair")
sentence = _named("sentence")
sentence_pin = _named("sentence_pin")
shared_article = _named("shared_article")
similar_pair = _named("similar_pair")
story = _named("story")
story_article = _named("story_article")
story_origin = _named("story_origin")
story_representative = _named("story_representative")
story_version = _named("story_version")
