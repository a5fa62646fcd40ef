"""Rights of each kind of role, read from `rights.txt`, and the statements that grant them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import resources
from typing import Literal, cast, get_args

from psycopg import sql

from dedup.base.article import ARTICLE_FIELDS
from dedup.base.errors import InputError, MissingRightError
from dedup.db.connection import Cursor, one_row
from dedup.db.rendering import SCHEMA, Verbatim, own
from dedup.db.statements import Statements

_sql = Statements("db/roles")

Role = Literal["worker", "scraper", "analyst", "counter", "reader"]
"""Kinds of database role. A worker settles; a scraper stores articles and asks about them; an analyst reads
the views; a counter reads views without words of texts; a reader reads all that web pages show, texts too."""

ROLES: tuple[Role, ...] = get_args(Role)
MOST_NAMED = 3  # Maximum number of roles that a message names
IDENTIFIER_BYTES = 63  # Postgres cuts a longer name, which may then be another role's

_ASKED = "id, source_id, attachment_id, published_at, added_at, revision"
_SHOWN = (
    "id, source_id, url, title, publication, published_at, added_at, language, status, stale, score, reason,"
    " marked_at, archived, kept, byline, correction"
)
_BETWEEN_PRIVILEGES = re.compile(r", (?=[A-Z])")

Rights = dict[str, dict[Role, tuple[str, ...]]]
"""Privileges in the syntax of GRANT, by name of a table, view or function, and by role."""


def _rights() -> dict[str, Rights]:
    """Read `rights.txt`; return the rights by kind of object."""
    text = (resources.files("dedup") / "db" / "rights.txt").read_text("utf-8")
    parts = {"asked": _ASKED, "given": ", ".join(ARTICLE_FIELDS), "shown": _SHOWN}
    found: dict[str, Rights] = {"table": {}, "view": {}, "function": {}}
    rights: list[dict[Role, tuple[str, ...]]] = []
    for line in filter(None, text.format(**parts).splitlines()):
        if line[0] not in " #":
            kind, *names = line.split()
            rights = [found[kind].setdefault(name, {}) for name in names]
        elif line[0] == " ":
            holders, _, given = line.strip().partition(": ")
            privileges = tuple(_BETWEEN_PRIVILEGES.split(given))
            for holder in holders.split(", "):
                for each in rights:
                    each[cast(Role, holder)] = privileges
    return found


RIGHTS: Mapping[str, Rights] = _rights()


def may_settle(cursor: Cursor) -> bool:
    """Return whether the role of this session may write marks; a scraper may not."""
    return bool(one_row(cursor, _sql("may_settle"))[0])


def may_read_texts(cursor: Cursor) -> bool:
    """Return whether the role of this session may read texts; a counter and a scraper may not."""
    return bool(one_row(cursor, _sql("may_read_texts"))[0])


def check_roles(cursor: Cursor, names: Iterable[str]) -> None:
    """Raise InputError if one of these roles does not exist or cannot be granted rights."""
    for name in names:
        if not name or "\x00" in name:
            raise InputError("the name of a role is empty, or holds a NUL character")
        if len(name.encode("utf-8", "surrogatepass")) > IDENTIFIER_BYTES:
            raise InputError(
                f"{name[:20]!r}… is longer than {IDENTIFIER_BYTES} bytes:"
                " Postgres would cut the name of the role"
            )
        row = cursor.execute(_sql("owns_schema"), {"name": name}).fetchone()
        if row is None:
            raise InputError(f"there is no role {quote(name)}; make it: CREATE ROLE {quote(name)} LOGIN")
        if row[0]:
            raise InputError(f"role {quote(name)} owns the schema, and so has every right already")


def require_owner(cursor: Cursor, place: str) -> None:
    """Raise MissingRightError if the role of this session may not act as the owner of the schema."""
    # Postgres accepts some GRANTs and REVOKEs from other roles than the owner, but ignores them.
    may, owner = one_row(cursor, _sql("owner"))
    if not may:
        raise MissingRightError(
            f"{place}: only the owner of the schema, {quote(owner)}, may do this; connect as the owner"
        )


IMPLIED: Mapping[Role, frozenset[Role]] = {
    "worker": frozenset({"scraper", "analyst", "counter"}),
    "scraper": frozenset(),
    "analyst": frozenset({"counter"}),
    "counter": frozenset(),
    "reader": frozenset({"analyst", "counter"}),
}
"""Roles that each role includes: a worker has all rights of a scraper."""


def advice(cursor: Cursor, task: str, allowed: Sequence[Role], dedup: str) -> str | None:
    """Return a sentence about a refused task: the kinds of role that may do it, and how to get such a role.

    Return None for the owner, and for a role of such a kind: a grant of the kind would not help. `allowed`:
    kinds of role that may do the task, the kind with the fewest rights first; empty: only the owner may.
    `dedup`: how commands for this corpus begin.
    """
    session, *others = cursor.execute(_sql("rights_of_roles"), {"all": False}).fetchall()
    name, owner, is_owner, *rights = session
    if is_owner:
        return None
    kinds = _kinds(*rights)
    who = f"{quote(name)}, {_either(kinds, 'and')}," if kinds else f"the role {quote(name)}"
    if not allowed:
        return f"{who} may not run `{task}`; only the owner of the corpus may: connect as {quote(owner)}"
    held = {kind for kind in kinds for kind in (kind, *IMPLIED[kind])}
    able = [kind for kind in allowed if kind not in held]
    if not able or allowed[-1] in held:
        return None
    options = [*(kind for kind in kinds if kind not in IMPLIED[able[0]]), able[0]]
    grant = " ".join(f"--{kind} {shlex.quote(name)}" for kind in options)
    ready = [quote(other) for other, _, owns, *has in others if not owns and {*able} & {*_kinds(*has)}]
    connect = f"connect as {' or '.join(ready[:MOST_NAMED])}, or " if ready else ""
    return (
        f"{who} may not run `{task}`; {_either(able, 'or')} may: {connect}have the owner, {quote(owner)},"
        f" run `{dedup} grant {grant}`"
    )


def granted(cursor: Cursor) -> dict[str, list[str]]:
    """Return the kinds of each role that may use the schema, by name of the role.

    The kind "owner" may do everything; without a kind, a role has other rights than `dedup grant` gives.
    """
    rows = cursor.execute(_sql("rights_of_roles"), {"all": True}).fetchall()
    return {
        name: ["owner"] if is_owner else [*_kinds(*rights)] for name, _, is_owner, *rights in sorted(rows)
    }


def _kinds(settles: bool, stores: bool, reads: bool, sees_texts: bool, sees: bool) -> list[Role]:
    """Return the kinds of a role with these rights. Leave out a kind that another returned kind includes."""
    has: dict[Role, bool] = {
        "worker": settles,
        "reader": reads and not settles,
        "analyst": sees_texts and not (reads or settles),
        "counter": sees and not sees_texts,
        "scraper": stores and not settles,
    }
    return [kind for kind in ROLES if has[kind]]


def _either(kinds: Sequence[Role], joint: str) -> str:
    named = [f"{'an' if kind == 'analyst' else 'a'} {kind}" for kind in kinds]
    return f" {joint} ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def statements(
    cursor: Cursor, given: Mapping[Role, Iterable[str]], *, revoke: bool = False
) -> list[sql.Composed]:
    """Return statements that give roles exactly the rights of their kinds, or that revoke all rights."""
    names = {name: None for role in ROLES for name in given.get(role, ())}
    kinds = ("ALL TABLES IN SCHEMA", "ALL SEQUENCES IN SCHEMA", "ALL FUNCTIONS IN SCHEMA", "SCHEMA")
    found = [
        sql.SQL("REVOKE ALL ON {} {} FROM {}").format(Verbatim(kind), SCHEMA, sql.Identifier(name))
        for name in names
        for kind in kinds
    ]
    if not revoke:
        for role in ROLES:
            for name in given.get(role, ()):
                found += _grant(cursor, role, sql.Identifier(name))
        # A worker's backfill counts sentences in temporary tables. By default every role may make these;
        # grant the right only if it was taken away.
        for name in given.get("worker", ()):
            database, may = one_row(cursor, _sql("may_make_temporary"), {"name": name})
            if not may:
                place = sql.Identifier(database), sql.Identifier(name)
                found.append(sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(*place))
    return found


def _grant(cursor: Cursor, role: Role, name: sql.Identifier) -> list[sql.Composed]:
    found = [sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(SCHEMA, name)]
    for relation, is_view in cursor.execute(_sql("relations")).fetchall():
        if privileges := _privileges(role, "view" if is_view else "table", relation):
            listed = sql.SQL(", ".join(privileges))
            found.append(sql.SQL("GRANT {} ON {} TO {}").format(listed, own(relation), name))
    execute = sql.SQL("GRANT EXECUTE ON FUNCTION {} ({}) TO {}")
    for function, arguments in cursor.execute(_sql("functions")).fetchall():
        if _privileges(role, "function", function):
            found.append(execute.format(own(function), Verbatim(arguments), name))
    return found


def _privileges(role: Role, kind: str, name: str) -> tuple[str, ...]:
    # `rights.txt` names views and functions of attached tables by patterns, such as `*_marks`.
    rights = RIGHTS[kind]
    fitting = (pattern for pattern in rights if fnmatchcase(name, pattern))
    return rights.get(name if name in rights else next(fitting, ""), {}).get(role, ())
