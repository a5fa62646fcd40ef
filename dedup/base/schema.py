"""Choose the schema of a corpus, and derive other names from it. A database can contain several corpora."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

from dedup.base import config
from dedup.base.answer import Answer
from dedup.base.errors import InputError

DEFAULT = "dedup"
VARIABLE = config.SCHEMA_VARIABLE  # Variable that names the schema; default: from dedup.toml, else `DEFAULT`

# Postgres cuts names at 63 bytes. A trigger's name adds up to 23 bytes: `SCHEMA_123456789_marks_update`.
MAX_BYTES = 40

_WORDS = """
all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
current_catalog current_date current_role current_time current_timestamp current_user default deferrable
desc distinct do else end except false fetch for foreign from grant group having in initially intersect
into lateral leading limit localtime localtimestamp not null offset on only or order placing primary
references returning select session_user some symmetric system_user table then to trailing true union
unique user using variadic when where window with
authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join
left like natural notnull outer overlaps right similar tablesample verbose
between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping
inout int integer interval json json_array json_arrayagg json_exists json_object json_objectagg json_query
json_scalar json_serialize json_table json_value least merge_action national nchar none normalize nullif
numeric out overlay position precision real row setof smallint substring time timestamp treat trim values
varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
xmlserialize xmltable
"""

RESERVED = frozenset(_WORDS.split())
"""SQL keywords that need quotes as names: appendix C of the Postgres manual, versions 14 to 18."""

_TAKEN = ("public", "information_schema")
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def chosen(given: str | None = None) -> str:
    """Return the schema: `given`, else the configured one, else `DEFAULT`. Raises InputError: a bad name."""
    name = given
    if name is None:
        choice = config.find("schema")
        name = choice.value if choice else DEFAULT
    if not isinstance(name, str):
        raise InputError(f"the name of a schema must be a string, not {type(name).__name__}")
    fits = _NAME.fullmatch(name) and len(name) <= MAX_BYTES and not name.startswith("pg_")
    if not fits or name in RESERVED or name in _TAKEN:
        shown = repr(name[:MAX_BYTES]) + ("…" if len(name) > MAX_BYTES else "")
        raise InputError(
            f"{shown} cannot be the schema of a corpus: a name has 1 to {MAX_BYTES} characters of a-z, 0-9"
            " and _. It must not begin with a digit or pg_, and not be a keyword of SQL (select, user),"
            " public or information_schema"
        )
    return name


def program(schema: str) -> str:
    """Return the words that begin a command for the corpus in this schema: `dedup --schema NAME`."""
    return "dedup" if schema == DEFAULT else f"dedup --schema {schema}"


def outer(schema: str) -> str:
    """Return a name for things of a corpus outside its schema: the workers' channel, session parameters."""
    # The prefix is needed, because Postgres reserves some names for session parameters, such as plpgsql.
    return DEFAULT if schema == DEFAULT else f"{DEFAULT}_{schema}"


def migration_lock(schema: str) -> int:
    """Return the key of the advisory lock that lets only one upgrade of a corpus run at a time."""
    # Use only seven bytes: a key of eight bytes could exceed the maximum of a signed bigint.
    plain = b"dedup+m"
    if schema != DEFAULT:
        plain = blake2b(plain + schema.encode(), digest_size=len(plain)).digest()
    return int.from_bytes(plain, "big")


@dataclass(frozen=True, slots=True)
class Initialized(Answer):
    """The result of `Deduplicator.initialize`.

    Attributes:
        location: host and database, in a form for display.
        before, after: schema revisions before and after the call; None if the schema had none.
        mended: database objects that were missing or different, and were created again.
        left: database objects that are still wrong, each with the reason.
    """

    location: str
    before: str | None
    after: str | None
    mended: list[str]
    left: list[str]
