"""Every rule of settling is needed: with any one of them taken out, random histories go wrong.

SEMANTICS section 8. This tests the tests: a history generator that does not notice the loss of a rule
would not notice a bug in it either. Each mutant is one replacement in a module or in an SQL function; the
histories are those of `histories.py`, and with no mutant all of them end right.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from dedup.corpus.database import Database
from dedup.errors import DatabaseError
from tests.engine.histories import History, undone

pytestmark = pytest.mark.timeout(300)

STEPS = 15
HISTORIES = 300
"""At most so many are tried; each mutant below is noticed within 50, most at once."""


@dataclass(frozen=True)
class Mutant:
    """One rule taken out.

    Attributes:
        where: the module, or the SQL function, in which `old` becomes `new`; "" executes `new`.
        theme: of the histories that are likeliest to notice.
    """

    name: str
    where: str
    old: str
    new: str
    theme: str = "chains"


SETTLE, NEIGHBOURS, COMMON = "dedup.engine.settle", "dedup.corpus.settling", "dedup.corpus.common_sentences"
HOOK, SETTINGS = "dedup.engine.hook", "dedup.corpus.rulebooks"

MUTANTS = [
    Mutant(
        "duplicates are not looked up when an earlier article becomes canonical",
        SETTLE,
        "self._settled_sharing(rows, own, canonical=False, after=first) if row.id not in ids",
        "()",
    ),
    Mutant(
        "canonical articles are not looked up when an earlier one becomes canonical",
        SETTLE,
        "later = [o for o in self._index.sharing(node) if o.order > node.order and o.id not in ids]",
        "later = []",
    ),
    Mutant(
        "partners of a displaced article stay settled",
        NEIGHBOURS,
        "outcome.unsettled | {a for a, other in old if other in displaced}",
        "set(outcome.unsettled)",
    ),
    Mutant(
        "pairs of a displaced article stay",
        NEIGHBOURS,
        "[hashes(settled), hashes(outcome.displaced)]",
        "[hashes(settled), hashes([])]",
    ),
    Mutant(
        "an article that loses a similar one is not marked again",
        NEIGHBOURS,
        "touched = {other for _, other in old} | {",
        "touched = {",
    ),
    Mutant(
        "an article that gains a similar one is not marked again",
        NEIGHBOURS,
        '{other for _, other in old} | {p.other_id for p in outcome.pairs if p.relation == "similar"}',
        "{other for _, other in old}",
    ),
    Mutant("it is not known what is settled", NEIGHBOURS, "return row[0] if row else None", "return None"),
    Mutant(
        "of equal originals any is chosen",
        SETTLE,
        "(o.order, o.id, j) for o, j in originals",
        "((0, o.id), o.id, j) for o, j in originals",
    ),
    Mutant("a displaced article is still found", SETTLE, "self._index.remove(node)", "pass"),
    Mutant(
        "a new canonical article is not found in its batch",
        SETTLE,
        "self._index.add(node)\n                appeared",
        "appeared",
    ),
    Mutant(
        "a batch is decided in the order of arrival",
        NEIGHBOURS,
        "ORDER BY {time}, a.source_id LIMIT %(limit)s",
        "ORDER BY a.id LIMIT %(limit)s",
    ),
    Mutant(
        "at the same time nothing is earlier",
        SETTLE,
        "if o.order < node.order]",
        "if o.order[0] < node.order[0]]",
    ),
    Mutant(
        "equal content is found by buckets only",
        SETTLE,
        "hashes({row.content_hash for row in rows if not len(row.buckets)})",
        "hashes([])",
        theme="edits",
    ),
    Mutant(
        "carriers of a changed sentence stay settled",
        COMMON,
        "withdrawn = carriers(cursor, moved) if moved else []",
        "withdrawn = []",
        theme="common",
    ),
    Mutant(
        "partners of the carriers of a changed sentence stay settled",
        COMMON,
        '"SELECT dedup.withdraw(%s::bigint[])"',
        '"SELECT %s::bigint[]"',
        theme="common",
    ),
    Mutant(
        "pending articles are not counted",
        COMMON,
        "WHERE sentence_hash IN (SELECT sentence_hash FROM pg_temp.{0})",
        "WHERE false",
        theme="common",
    ),
    Mutant(
        "articles are counted, not stories",
        COMMON,
        "c GROUP BY sentence_hash, sketch\n",
        "c GROUP BY sentence_hash, sketch, article_id\n",
        theme="common",
    ),
    Mutant(
        "copies of few stories pass for many",
        COMMON,
        " AND NOT n.of_few",
        "",
        theme="common",
    ),
    Mutant(
        "pins do not count",
        COMMON,
        "coalesce(p.common, n.stories > %(limit)s AND NOT n.of_few) AS wanted",
        "(n.stories > %(limit)s AND NOT n.of_few) AS wanted",
        theme="common",
    ),
    Mutant(
        "pinned sentences are decided uncounted",
        COMMON,
        "pins=f\"({counted_part.format('dedup.sentence_pin')})\"",
        'pins="dedup.sentence_pin"',
        theme="common",
    ),
    Mutant(
        "changed rules unsettle nothing", SETTINGS, "if rules != wanted[2]:", "if False:", theme="settings"
    ),
    Mutant(
        "fingerprints of other settings stay",
        SETTINGS,
        "if (fingerprints, revision) != wanted[:2]:",
        "if False:",
        theme="settings",
    ),
    Mutant("an edit leaves partners pending", HOOK, "[known.id, *partners]", "[known.id]"),
    Mutant("the hook leaves what it unsettles", HOOK, "waiting = set(result.unsettled)", "return"),
    Mutant("a deletion leaves partners pending", HOOK, "settle_some(cursor, settings, partners)", "pass"),
    Mutant(
        "partners of a withdrawn article stay settled",
        "dedup.withdraw(bigint[])",
        "PERFORM make_pending(partners);",
        "",
        theme="dates",
    ),
    Mutant(
        "a withdrawn article is still found",
        "dedup.withdraw(bigint[])",
        "AND f.canonical IS NOT NULL",
        "AND false",
        theme="dates",
    ),
    Mutant("edits do not unsettle", "", "", "DROP TRIGGER article_edit ON dedup.article"),
    Mutant(
        "only edits of the text unsettle", "dedup.article_edit()", "ELSIF OLD.status = 'failed' THEN", "ELSE"
    ),
    Mutant(
        "edits unsettle no partners",
        "dedup.article_withdraw()",
        "PERFORM withdraw(ARRAY[OLD.id]);",
        "IF TG_OP = 'DELETE' THEN PERFORM withdraw(ARRAY[OLD.id]); END IF;",
    ),
    Mutant(
        "deletions unsettle no partners", "", "", 'DROP TRIGGER "0_article_withdraw_delete" ON dedup.article'
    ),
    Mutant(
        "new fingerprints are not counted",
        "",
        "",
        "DROP TRIGGER fingerprint_came ON dedup.fingerprint",
        theme="common",
    ),
    Mutant(
        "lost fingerprints are counted",
        "",
        "",
        "DROP TRIGGER fingerprint_went ON dedup.fingerprint",
        theme="common",
    ),
    Mutant("new pins are not seen", "", "", "DROP TRIGGER pin_changed ON dedup.sentence_pin", theme="common"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_lost_rule_is_noticed(mutant: Mutant, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = ""
    if mutant.where.startswith("dedup.") and "(" not in mutant.where:
        replace_in_module(mutant, monkeypatch)
    else:
        statement = replaced_in_function(mutant, database) if mutant.where else mutant.new
    for seed in range(HISTORIES):
        if goes_wrong(database, seed, mutant.theme, statement):
            print(f"{mutant.name}: noticed in history {seed + 1}")
            return
    pytest.fail(f"{HISTORIES} histories did not notice: {mutant.name}")


def test_histories_end_right(database: Database) -> None:
    for seed in range(40):
        with undone(database) as everything:
            History(everything, seed).run(STEPS)


def goes_wrong(database: Database, seed: int, theme: str, statement: str) -> bool:
    """Whether a history ends otherwise than the oracle says, or is refused by the database's constraints."""
    try:
        with undone(database, *[statement] * bool(statement)) as everything:
            History(everything, seed, theme).run(STEPS)
    except AssertionError:
        return True
    except DatabaseError as error:
        if "Violation" not in str(error):
            raise
        return True
    return False


def replace_in_module(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything use a module with one place changed."""
    real = import_module(mutant.where)
    source = Path(str(real.__file__)).read_text("utf-8")
    assert source.count(mutant.old) == 1, f"{mutant.where} has changed: {mutant.old!r}"
    fresh = ModuleType(mutant.where)
    exec(compile(source.replace(mutant.old, mutant.new), str(real.__file__), "exec"), fresh.__dict__)
    users = [m for n, m in list(sys.modules.items()) if n.startswith(("dedup.", "tests."))]
    for name, old in list(vars(real).items()):
        if getattr(old, "__module__", None) == mutant.where and callable(old):
            for user in users:
                for key in [key for key, value in vars(user).items() if value is old]:
                    monkeypatch.setattr(user, key, getattr(fresh, name))


def replaced_in_function(mutant: Mutant, database: Database) -> str:
    """The statement that changes one place of an SQL function."""
    with database.transaction() as cursor:
        row = cursor.execute("SELECT pg_get_functiondef(%s::regprocedure)", [mutant.where]).fetchone()
    assert row is not None
    assert row[0].count(mutant.old) == 1, f"{mutant.where} has changed: {mutant.old!r}"
    return str(row[0]).replace(mutant.old, mutant.new)
