"""Who may do what: the rights of each kind of role, and the statements for them.

The one home of rights: every table, view and function of the schema is named here, and a test holds that it
is. Views show no secret, so who may ask may read all of them. A counter reads no word of a text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from psycopg import sql

from dedup.base.article import ARTICLE_FIELDS
from dedup.base.errors import InputError, MissingRightError
from dedup.db.connection import Cursor, one_row
from dedup.db.rendering import SCHEMA, own, raw
from dedup.db.statements import Statements

_sql = Statements("db/roles")

Role = Literal["worker", "scraper", "analyst", "counter", "reader"]
"""What a database role is for: it settles; it stores articles and asks about them; it reads the views; it
reads the views without words of texts; it reads everything that pages show, texts included."""

ROLES: tuple[Role, ...] = get_args(Role)

IDENTIFIER_BYTES = 63
"""Postgres cuts a longer name without a word, and would then mean another role."""

_GIVEN = ", ".join(ARTICLE_FIELDS)
_ASKED = "id, source_id, attachment_id, published_at, added_at, revision"
_READ = ("SELECT",)
_WRITE = ("SELECT", "INSERT", "UPDATE", "DELETE")

TABLES: Mapping[str, Mapping[Role, tuple[str, ...]]] = {
    # A scraper compares fingerprints: it needs no text, and no column that tells one.
    "article": {
        "worker": _WRITE,  # DELETE: a row of an attached table may be gone
        "scraper": (f"SELECT ({_ASKED})", f"INSERT ({_GIVEN})"),
        "reader": _READ,
    },
    "article_mark": {
        "worker": _WRITE,
        **dict.fromkeys(("scraper", "analyst", "counter", "reader"), _READ),
    },
    "deferred_article": {
        "worker": ("SELECT", "INSERT", "DELETE"),
        "scraper": ("SELECT (source_id)", f"INSERT ({_GIVEN})"),
        "reader": ("SELECT (source_id)",),  # it counts them
    },
    # Either of the two may be the one in use: they change places (migrations/sql/fingerprints.sql).
    "fingerprint": {"worker": _WRITE, "scraper": _READ, "reader": _READ},
    "fingerprint_bulk": {"worker": _WRITE, "scraper": _READ, "reader": _READ},
    "match": {"worker": _WRITE, "reader": _READ},
    "common_sentence": {"worker": _WRITE, "scraper": ("SELECT (sentence_hash)",), "reader": _READ},
    "sentence_count": {"worker": _WRITE},
    # Read as views: the words are those of articles.
    "compared_version": {"worker": _WRITE, "reader": _READ},
    "quoted_sentence": {"worker": _WRITE, "reader": _READ},
    "sentence_schedule": {"worker": _WRITE},
    # What articles are found by.
    "recent_key": {"worker": ("SELECT", "INSERT", "DELETE"), "scraper": _READ, "reader": _READ},
    "key_segment": {"worker": ("SELECT", "INSERT", "DELETE"), "scraper": _READ, "reader": _READ},
    "key_block": {"worker": ("SELECT", "INSERT", "DELETE"), "scraper": _READ, "reader": _READ},
    "sentence_change": {"worker": ("SELECT", "DELETE"), "reader": _READ},
    "bulk_change": {"worker": ("SELECT", "DELETE")},
    # A new hash key gives pinned sentences other hashes.
    "sentence_pin": {"worker": ("SELECT", "UPDATE"), "reader": _READ},
    "pair_pin": {
        "worker": _READ,
        "scraper": ("SELECT (source_id, other_source_id, relation)",),
        "reader": _READ,
    },
    # Who asks about a text makes its fingerprint, and for that needs the hash key.
    "setting": {"worker": ("SELECT", "UPDATE", "DELETE"), "scraper": _READ, "reader": _READ},
    "sentence_model": {"worker": ("SELECT", "UPDATE", "DELETE"), "scraper": _READ, "reader": _READ},
    "corpus_state": {"worker": ("SELECT", "UPDATE"), "scraper": _READ, "reader": _READ},
    # Who may lock this row may write marks.
    "settle_turn": {"worker": ("SELECT", "UPDATE")},
    "run": {"worker": _WRITE, "reader": _READ},
    "run_total": {"worker": ("SELECT", "INSERT", "UPDATE"), "reader": _READ},
    "worker": {"worker": _WRITE, "reader": _READ},
    # A worker locks the row of a table whose changes it reads; what is attached says the owner.
    "attachment": {
        "worker": ("SELECT", "UPDATE (seen, synced_at, compared_at, changed_through)"),
        "reader": _READ,
    },
    "outbox": {"worker": ("SELECT", "INSERT", "DELETE"), "reader": _READ},
    "mark_change": {"worker": ("SELECT", "INSERT", "UPDATE (failed)", "DELETE"), "reader": _READ},
    "attached_copy": {"worker": ("SELECT", "INSERT", "UPDATE", "DELETE")},
    "refused_row": {"worker": ("SELECT", "INSERT", "DELETE")},
    # Triggers write it.
    **dict.fromkeys(
        ("journal", "journal_mark", "journal_deleted"),
        dict.fromkeys(("worker", "analyst", "counter", "reader"), _READ),
    ),
    "credit": {"worker": _WRITE, "reader": _READ},
    "credit_unread": {"worker": _WRITE, "reader": _READ},
    "agency": {"worker": _READ, "reader": _READ},
    # A scraper that polls feeds keeps what it has seen.
    "feed": {
        "scraper": ("SELECT", "INSERT", "UPDATE"),
        "worker": ("SELECT", "INSERT", "UPDATE"),
        "reader": _READ,
    },
    "feed_entry": {"scraper": _WRITE, "worker": _WRITE},
    # What people say is written by the owner.
    "judgement": {"reader": _READ},
    "review_pair": {"reader": _READ},
    "alembic_version": {"worker": _READ},
}
"""Table to role to privileges, as GRANT takes them."""

VIEW_READERS: frozenset[Role] = frozenset({"worker", "analyst", "reader"})
"""Who reads every view."""

_SHOWN = (
    "id, source_id, url, title, publication, published_at, added_at, language, status, stale, score, reason,"
    " marked_at, archived, kept, byline"
)

VIEWS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("mark", "duplicate", "story", "story_article", "story_version"), _READ),
    **dict.fromkeys(("scored_pair", "similar_pair", "pinned_pair", "judged_pair"), _READ),
    **dict.fromkeys(("publication_overlap", "daily_mark", "run_history", "schema_version"), _READ),
    **dict.fromkeys(("article_credit", "agency_copy", "publication_credit"), _READ),
    # Without texts and sentences; and without their hashes, which tell whether a text has a known sentence.
    "article_text": (),
    "canonical_article": (f"SELECT ({_SHOWN})",),
    "marked_article": (
        f"SELECT ({_SHOWN}, time, revision, attachment_id, takes_part, duplicate_of, limit_fired)",
    ),
    "article_sentence": ("SELECT (article_id, source_id, position, common)",),
    "sentence": ("SELECT (carriers, effective_stories, common, pin, since)",),
    "alteration": (
        "SELECT (id, source_id, story_source_id, version, before_source_id, publication, appeared_at,"
        " position, kind, common)",
    ),
    "quote": (
        "SELECT (outlets, stories, articles, common, speech, source_id, publication, appeared_at,"
        " counted_at)",
    ),
}
"""View to what a counter may read of it."""

_OF_SCRAPERS: Mapping[str, tuple[str, ...]] = {
    "schema_version": _READ,
    "marked_article": (f"SELECT ({_ASKED}, archived, status, stale, takes_part, score, reason)",),
}
"""View to what a scraper may read of it."""

_WORKER: frozenset[Role] = frozenset({"worker"})
_ASKING: frozenset[Role] = frozenset({"worker", "scraper", "reader"})

FUNCTIONS: Mapping[str, frozenset[Role]] = {
    # Of a look-up.
    **dict.fromkeys(("canonical_time", "entry", "block", "holding", "sharing"), _ASKING),
    # Of settling.
    **dict.fromkeys(("settle_lock", "make_stale", "withdraw", "remove_pairs", "carrier", "holder"), _WORKER),
    "articles_edited": _WORKER,
    "keys": _WORKER,
    **dict.fromkeys(("submit_new", "store_new"), _WORKER),
    **dict.fromkeys(("publish_bulk", "compact_index"), _WORKER),
    # The view of judged pairs calls it with the rights of who reads it.
    "text_hash": VIEW_READERS | {"counter"},
    **dict.fromkeys(("role_is_trusted", "strangers"), frozenset({"worker", "reader"})),
    # So does the view of all texts.
    "attached_text": VIEW_READERS,
    **dict.fromkeys(("changes", "journal_triggers"), VIEW_READERS | {"counter"}),
    # Called by others with the rights of the owner.
    **dict.fromkeys(("note_bulk_change", "waiting_went", "fire_always"), frozenset()),
    **dict.fromkeys(("journal_next", "journal_note"), frozenset()),
    # Called by the owner.
    **dict.fromkeys(("start_journal", "stop_journal"), frozenset()),
}
"""Function to the roles that may call it. Those of triggers are called by nobody."""

_OF_TABLES = re.compile(r"attached_[0-9]+_(rows|page|recent|write)")
"""What reads an attached table and writes marks into it."""

_MARKS_OF_TABLE = re.compile(r".+_marks")
"""The view of the marks of an attached table: its keys, and no other column of it."""


def may_settle(cursor: Cursor) -> bool:
    """Whether the role of this session may write marks; a scraper may not."""
    return bool(one_row(cursor, _sql("may_settle"))[0])


def may_read_texts(cursor: Cursor) -> bool:
    """Whether the role of this session may read texts; a counter and a scraper may not."""
    return bool(one_row(cursor, _sql("may_read_texts"))[0])


def checked(cursor: Cursor, names: Iterable[str]) -> None:
    """Make sure that roles of these names exist and can be given rights. Raises InputError: one cannot be."""
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
            raise InputError(f"there is no role {quoted(name)}; make it: CREATE ROLE {quoted(name)} LOGIN")
        if row[0]:
            raise InputError(f"role {quoted(name)} owns the schema, and with it has every right already")


def require_owner(cursor: Cursor, place: str) -> None:
    """Make sure that this role may give rights: from others Postgres takes some statements and does nothing.
    Raises MissingRightError: it does not own the schema.
    """
    may, owner = one_row(cursor, _sql("owner"))
    if not may:
        raise MissingRightError(
            f"{place}: only the owner of the schema, {quoted(owner)}, may do this; connect as the owner"
        )


IMPLIED: Mapping[Role, frozenset[Role]] = {
    "worker": frozenset({"scraper", "analyst", "counter"}),
    "scraper": frozenset(),
    "analyst": frozenset({"counter"}),
    "counter": frozenset(),
    "reader": frozenset({"analyst", "counter"}),
}
"""Role to those whose rights it has too."""


def advice(cursor: Cursor, task: str, allowed: Sequence[Role], dedup: str) -> str | None:
    """For the role of this session, which was refused: who may do a task, and the command that gives the
    right; None where no kind of role helps.

    `allowed`: the kinds that may, the one with the least rights first; empty: only the owner. `dedup`: how
    commands for this corpus begin.
    """
    row = cursor.execute(_sql("rights_of_session")).fetchone()
    if row is None or row[2]:
        return None
    name, owner, _, settles, stores, reads, sees_texts, sees = row
    has: dict[Role, bool] = {
        "worker": settles,
        "reader": reads and not settles,
        "analyst": sees_texts and not (reads or settles),
        "counter": sees and not sees_texts,
        "scraper": stores and not settles,
    }
    kinds = [kind for kind in ROLES if has[kind]]
    who = f"{quoted(name)}, {_either(kinds, 'and')}," if kinds else f"the role {quoted(name)}"
    if not allowed:
        return f"{who} may not run `{task}`; only the owner of the corpus may: connect as {quoted(owner)}"
    held = {kind for kind in kinds for kind in (kind, *IMPLIED[kind])}
    able = [kind for kind in allowed if kind not in held]
    if not able or allowed[-1] in held:
        return None
    given = able[0]
    options = [*(kind for kind in kinds if kind not in IMPLIED[given]), given]
    grant = " ".join(f"--{kind} {shlex.quote(name)}" for kind in options)
    return f"{who} may not run `{task}`; {_either(able, 'or')} may: as the owner, `{dedup} grant {grant}`"


def _either(kinds: Sequence[Role], joint: str) -> str:
    """Kinds of role in words: `an analyst or a worker`."""
    named = [f"{'an' if kind == 'analyst' else 'a'} {kind}" for kind in kinds]
    return f" {joint} ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def statements(
    cursor: Cursor, given: Mapping[Role, Iterable[str]], *, revoke: bool = False
) -> list[sql.Composed]:
    """What gives these roles exactly the rights of what they are for, or takes all rights from them. `given`:
    what it is for to the names of roles; `checked` has seen them.
    """
    names = {name: None for role in ROLES for name in given.get(role, ())}
    kinds = ("ALL TABLES IN SCHEMA", "ALL SEQUENCES IN SCHEMA", "ALL FUNCTIONS IN SCHEMA", "SCHEMA")
    found = [
        sql.SQL("REVOKE ALL ON {} {} FROM {}").format(raw(kind), SCHEMA, sql.Identifier(name))
        for name in names
        for kind in kinds
    ]
    if not revoke:
        for role in ROLES:
            for name in given.get(role, ()):
                found += _granted(cursor, role, sql.Identifier(name))
        # A backfill counts sentences in temporary tables; mostly everyone may make these.
        for name in given.get("worker", ()):
            database, may = one_row(cursor, _sql("may_make_temporary"), {"name": name})
            if not may:
                place = sql.Identifier(database), sql.Identifier(name)
                found.append(sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(*place))
    return found


def _granted(cursor: Cursor, role: Role, name: sql.Identifier) -> list[sql.Composed]:
    found = [sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(SCHEMA, name)]
    for relation, is_view in cursor.execute(_sql("relations")).fetchall():
        privileges = _of_view(role, relation) if is_view else TABLES.get(relation, {}).get(role, ())
        if privileges:
            listed = sql.SQL(", ".join(privileges))
            found.append(sql.SQL("GRANT {} ON {} TO {}").format(listed, own(relation), name))
    execute = sql.SQL("GRANT EXECUTE ON FUNCTION {} ({}) TO {}")
    for function, arguments in cursor.execute(_sql("functions")).fetchall():
        callers = _WORKER if _OF_TABLES.fullmatch(function) else FUNCTIONS.get(function, frozenset())
        if role in callers:
            found.append(execute.format(own(function), raw(arguments), name))
    return found


def _of_view(role: Role, view: str) -> tuple[str, ...]:
    if role in VIEW_READERS:
        return _READ
    if role == "scraper":
        return _OF_SCRAPERS.get(view, ())
    return VIEWS.get(view, _READ if _MARKS_OF_TABLE.fullmatch(view) else ())
