"""Rules of settling: without any one of them, some random history ends with wrong marks.

See docs/semantics.md, section 8. This tests the tests: a generator of histories that does not notice the loss
of a rule would not notice a bug in it either. Each mutant changes one place of a module, a statement or an
SQL function. The histories are those of `histories.py`; without a mutant all of them end right. Other tests
check a few more rules: `test_verdicts.py`, `test_counting.py`, `test_settle.py`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from dedup.base.errors import DatabaseError
from dedup.db import statements
from dedup.db.database import Database
from tests.conftest import Told
from tests.settling.histories import History, undone

pytestmark = pytest.mark.timeout(300)

STEPS = 15
HISTORIES = 500
"""Maximum number of histories; most mutants are noticed at once, the rarest in the 306th history."""


@dataclass(frozen=True)
class Mutant:
    """A mutant: settling without one rule.

    Attributes:
        where: the module, statement (`FILE.sql NAME`) or SQL function in which `old` becomes `new`; if empty,
            `new` is executed.
        theme: the theme of histories that notice the mutant soonest.
        rare: whether histories need half a minute or more to notice it, so that only `-m torture` tries it.
    """

    name: str
    where: str
    old: str
    new: str
    theme: str = "chains"
    rare: bool = False


SETTLE, SETTLING, COMMON = "dedup.settling.settle", "dedup.store.settling", "dedup.store.common_sentences"
DECIDE, CANDIDATES = "dedup.rules.decide", "dedup.settling.candidates"
HOOK, RULEBOOKS, LOOKUP = "dedup.settling.hook", "dedup.store.rulebooks", "dedup.settling.lookup"

SETTLING_MUTANTS = [
    Mutant(
        "duplicates are not looked up when an earlier article becomes canonical",
        SETTLE,
        'others = self._find_others(early, "duplicate", after=early[0].order[0])',
        "others = []",
    ),
    Mutant(
        "canonical articles are not looked up when an earlier one becomes canonical",
        SETTLE,
        "for p in across.later[late & across.duplicate].tolist()",
        "for p in ()",
    ),
    Mutant(
        "partners of a displaced article stay settled",
        SETTLE,
        "self._unsettled |= settling.find_dependent(self._cursor, displaced) - self._ids",
        "pass",
    ),
    Mutant(
        "pairs of an article that is settled again stay",
        "store/settling.sql delete_pairs",
        "article_id = ANY (%(ids)s)",
        "article_id = ANY (%(ids)s) AND false",
    ),
    Mutant(
        "an article that loses its best_match one is not settled again",
        SETTLE,
        "                self._unsettled.add(other_id)",
        "                pass",
        theme="families",
    ),
    Mutant(
        "an article that gains a similar one is not marked again",
        SETTLE,
        "has_gained = ~inside & (found.best_place != outside.best.place)",
        "has_gained = ~inside & False",
    ),
    Mutant("it is not known what is settled", SETTLING, "return before", "return None"),
    Mutant(
        "what waits is taken for canonical",
        SETTLING,
        "canonical=row[3] if row[4] else None",
        "canonical=row[3]",
        theme="dates",
    ),
    Mutant(
        "canonical flags are not written",
        SETTLE,
        "changed = inside & (canonical != stored)",
        "changed = inside & False",
    ),
    Mutant(
        "of equal originals the latest is chosen",
        DECIDE,
        "np.lexsort((originals.earlier, -originals.score",
        "np.lexsort((-originals.earlier, -originals.score",
        rare=True,
    ),
    Mutant(
        "a displaced article is still found",
        SETTLE,
        "row.id not in self._ids}.values())",
        "True}.values())",
    ),
    Mutant(
        "a new canonical article is not found in its batch",
        DECIDE,
        "self._canonical = outside.inside | outside.canonical",
        "self._canonical = outside.canonical.copy()",
    ),
    Mutant(
        "articles are decided in the order of arrival",
        SETTLE,
        "key=lambda i: everything[i].order",
        "key=lambda i: everything[i].id",
    ),
    Mutant(
        "at the same time the name decides nothing",
        SETTLE,
        "key=lambda i: everything[i].order",
        "key=lambda i: (everything[i].order[0], -everything[i].id)",
    ),
    Mutant(
        "a canonical article does not take part",
        "store/settling.sql write_canonical",
        "takes_part = true, duplicate_of = NULL",
        "takes_part = a.takes_part, duplicate_of = NULL",
    ),
    Mutant(
        "a stale article that gains a similar one passes for settled",
        SETTLE,
        "self._settled = np.array([row.settled for row in self._rows], np.bool_)",
        "self._settled = np.array([True for row in self._rows], np.bool_)",
        theme="dates",
        rare=True,
    ),
]
FAMILY_MUTANTS = [
    Mutant(
        "too many pairs are kept",
        DECIDE,
        "best = ranges(0, sizes) < self._settings.similar_pairs",
        "best = ranges(0, sizes) >= 0",
    ),
    Mutant(
        "pinned pairs are dropped",
        DECIDE,
        "best | (ranked.rule == CODE[Rule.PINNED])",
        "best",
        rare=True,
    ),
    Mutant(
        "not the best pairs are kept",
        DECIDE,
        "np.lexsort((similar.earlier, similar.rule, -similar.score",
        "np.lexsort((similar.earlier, similar.rule, similar.score",
    ),
    Mutant(
        "of equal pairs the latest are kept",
        DECIDE,
        "np.lexsort((similar.earlier, similar.rule",
        "np.lexsort((-similar.earlier, similar.rule",
        rare=True,
    ),
    Mutant(
        "an article that appears gives later ones no pairs",
        SETTLE,
        "found += wanted",
        "pass",
    ),
    Mutant(
        "later articles that have all their pairs are not settled again",
        SETTLE,
        "self._unsettled.add(id)",
        "pass",
        rare=True,
    ),
    Mutant(
        "later articles keep every pair",
        SETTLE,
        "if number + len(wanted) <= self._settings.similar_pairs:",
        "if True:",
        rare=True,
    ),
    Mutant(
        "the best_match article of all is not kept",
        DECIDE,
        "self._best_match = PairArrays.joined([self._best_match[stay], better])",
        "pass",
    ),
    Mutant(
        "the best_match article of before is not kept",
        SETTLE,
        "PairArrays.joined([retained, entered])",
        "entered",
    ),
    Mutant(
        "pairs that are the best_match no more stay",
        SETTLING,
        "    _drop_pairs(cursor, settings, no_longer)",
        "    pass",
        rare=True,
    ),
    Mutant(
        "pairs that are the best_match no more go though they are among the best",
        "dedup.drop_pairs(bigint[], bigint[], integer, text, timestamptz)",
        "AND kept.rank > pairs",
        "",
    ),
    Mutant(
        "of two best_match articles any is kept",
        SETTLE,
        "later = settling.find_later_best_matches(self._cursor, self._settings, settled)",
        "later = {}",
        rare=True,
    ),
    Mutant(
        "an article that takes part again is retained as the best_match",
        SETTLE,
        "canonical & self._canonical, has_gained",
        "canonical, has_gained",
        theme="families",
        rare=True,
    ),
]
STALE_MUTANTS = [
    Mutant(
        "stale articles are not settled again",
        "store/settling.sql next_unsettled",
        "k.status = 'pending' OR k.stale",
        "k.status = 'pending'",
    ),
    Mutant(
        "the hook settles no stale articles",
        "store/settling.sql unsettled_among",
        "(k.status = 'pending' OR k.stale)",
        "k.status = 'pending'",
    ),
    Mutant("nothing becomes stale", "dedup.make_stale(bigint[])", "AND NOT a.stale", "AND false"),
    Mutant(
        "later partners of a withdrawn article stay settled",
        "dedup.withdraw(bigint[])",
        "m.other_id = given.id OFFSET 0",
        "false OFFSET 0",
        theme="dates",
    ),
    Mutant(
        "a withdrawn article is still found",
        "dedup.withdraw(bigint[])",
        "SET takes_part = false,",
        "SET takes_part = a.takes_part,",
        theme="dates",
    ),
    Mutant(
        "what a redated article decided stays settled",
        "dedup.articles_edited(bigint[], integer[], integer[])",
        "PERFORM withdraw(moved);",
        "PERFORM make_stale(moved);",
        theme="dates",
    ),
    Mutant("edits do not unsettle", "", "", "DROP TRIGGER article_edit ON dedup.article"),
    Mutant(
        "edits unsettle no partners",
        "dedup.articles_edited(bigint[], integer[], integer[])",
        "PERFORM remove_pairs(rewritten);",
        "",
    ),
    Mutant(
        "partners of an edited article stay settled",
        "dedup.remove_pairs(bigint[])",
        "PERFORM make_stale(partners);",
        "",
    ),
    Mutant(
        "deletions unsettle no partners",
        "dedup.article_deleted()",
        "PERFORM remove_pairs(ARRAY[OLD.id]);",
        "",
    ),
    Mutant(
        "a future date counts",
        "dedup.canonical_time(timestamptz,timestamptz,text,timestamptz)",
        "((published_at - added_at) <= '24:00:00'::interval)",
        "true",
        theme="dates",
    ),
    Mutant(
        "a date before printing counts",
        "dedup.canonical_time(timestamptz,timestamptz,text,timestamptz)",
        "(published_at >= earliest)",
        "(published_at IS NOT NULL)",
        theme="dates",
    ),
    Mutant(
        "the policy of the order is ignored",
        "dedup.canonical_time(timestamptz,timestamptz,text,timestamptz)",
        "(policy = 'published'::text)",
        "true",
        theme="settings",
    ),
]
PIN_MUTANTS = [
    Mutant(
        "pinned articles are not looked up",
        SETTLE,
        "if row.canonical is wanted]",
        "if row.canonical is wanted and not wanted]",
        theme="pins",
        rare=True,
    ),
    Mutant(
        "pinned articles are not compared",
        DECIDE,
        "[by_sentence, by_bucket, by_content, pinned]",
        "[by_sentence, by_bucket, by_content]",
        theme="pins",
        rare=True,
    ),
    Mutant(
        "a pin does not hold",
        DECIDE,
        "np.flatnonzero(np.isin(codes, self._pinned)).tolist()",
        "()",
        theme="pins",
    ),
    Mutant(
        "pins of the second article are not read",
        "store/settling.sql pair_pins",
        "WHERE other_source_id = ANY (%(names)s)",
        "WHERE false",
        theme="pins",
    ),
    Mutant(
        "a changed pin unsettles nothing",
        "",
        "",
        "DROP TRIGGER pair_pin_changed ON dedup.pair_pin",
        theme="pins",
    ),
    Mutant(
        "a pin that is taken back unsettles nothing",
        "dedup.pair_pin_changed()",
        "IF TG_OP <> 'INSERT' THEN",
        "IF false THEN",
        theme="pins",
        rare=True,
    ),
]
SHORT_MUTANTS = [
    Mutant(
        "short texts are not found by their content",
        CANDIDATES,
        "bigints([row.content_hash for row in rows if not len(row.buckets)])",
        "bigints([])",
        theme="short",
    ),
    Mutant(
        "the backfill knows no titles",
        "store/fingerprints.sql waiting_texts",
        "a.language, a.title, CASE",
        "a.language, NULL::text, CASE",
        theme="short",
    ),
    Mutant(
        "the hook knows no titles",
        HOOK,
        "0, 0, known.language, known.title, storable(article.text), scope=known.scope",
        "0, 0, known.language, None, storable(article.text), scope=known.scope",
        theme="short",
    ),
    Mutant(
        "a new title of a short text unsettles nothing",
        "dedup.article_edit()",
        "OR NEW.title IS DISTINCT FROM OLD.title\n",
        "OR false\n",
        theme="short",
    ),
    Mutant(
        "containment is not tried",
        DECIDE,
        "*scores)[related]",
        "*scores)[related & (rule != CODE[Rule.CONTAINMENT])]",
        theme="containment",
    ),
    Mutant(
        "shingles are not counted",
        SETTLING,
        "shingle_count=row[11]",
        "shingle_count=0",
        theme="containment",
    ),
]
COMMON_MUTANTS = [
    Mutant(
        "carriers of a changed sentence stay settled",
        COMMON,
        "return find_carriers(cursor, moved) if moved else []",
        "return []",
        theme="common",
    ),
    Mutant(
        "what the carriers of a changed sentence decided stays settled",
        "store/articles.sql withdraw",
        "SELECT dedup.withdraw(",
        "SELECT dedup.make_stale(",
        theme="common",
        rare=True,
    ),
    Mutant(
        "what went is not subtracted",
        "store/common_sentences.sql net_changes",
        "-1 AS sign",
        "0 AS sign",
        theme="common",
    ),
    Mutant(
        "what came is not added",
        "store/common_sentences.sql net_changes",
        "SELECT e.article_id, 1, f.sentence_hashes",
        "SELECT e.article_id, 0, f.sentence_hashes",
        theme="common",
    ),
    Mutant(
        "of several fingerprints that went the last is subtracted",
        "store/common_sentences.sql net_changes",
        "c.id = e.first AND c.sentence_hashes IS NOT NULL",
        "c.id = e.last AND c.sentence_hashes IS NOT NULL",
        theme="common",
    ),
    Mutant(
        "a fingerprint that came and went is added",
        "store/common_sentences.sql net_changes",
        "c.id = e.last AND c.sentence_hashes IS NULL",
        "c.id = e.first AND c.sentence_hashes IS NULL",
        theme="common",
    ),
    Mutant(
        "the difference of pairs is off",
        "store/common_sentences.sql count_kept_sentences",
        "(coalesce(h.n, 0) - m.d) * (coalesce(h.n, 0) - m.d - 1)",
        "(coalesce(h.n, 0) - m.d) * (coalesce(h.n, 0) - 1)",
        theme="common",
    ),
    Mutant(
        "pairs that fall apart are not subtracted",
        "store/common_sentences.sql count_kept_sentences",
        "FROM moved m LEFT JOIN holding h",
        "FROM moved m JOIN holding h",
        theme="common",
    ),
    Mutant(
        "carriers of a kept count do not change",
        "store/common_sentences.sql count_kept_sentences",
        "t.carriers + t.change",
        "t.carriers",
        theme="common",
    ),
    Mutant(
        "few carriers agree in nothing",
        "store/common_sentences.sql count_other_sentences",
        "coalesce(pairs, 0)",
        "0::bigint",
        theme="common",
    ),
    Mutant(
        "a common sentence of few carriers stays common",
        "store/common_sentences.sql count_other_sentences",
        "OR EXISTS (SELECT FROM dedup.common_sentence s WHERE s.sentence_hash = t.sentence_hash)",
        "",
        theme="common",
        rare=True,
    ),
    Mutant(
        "pinned sentences of few carriers are not counted",
        "store/common_sentences.sql count_other_sentences",
        "OR EXISTS (SELECT FROM dedup.sentence_pin p WHERE p.sentence_hash = t.sentence_hash)",
        "",
        theme="common",
    ),
    Mutant(
        "counts are not kept",
        COMMON,
        "many = [c for c in counts if c.carriers > settings.common_stories]",
        "many: list[SentenceCount] = []",
        theme="common",
    ),
    Mutant(
        "counts of sentences that few carry stay",
        COMMON,
        "few = [c.sentence_hash for c in counts if c.carriers <= settings.common_stories]",
        "few: list[int] = []",
        theme="common",
    ),
    Mutant(
        "counts from before a full count stay",
        COMMON,
        'cursor.execute(_sql("delete_all_counts"))',
        "pass",
        theme="settings",
    ),
    Mutant(
        "pinned sentences are ignored",
        COMMON,
        'dict(cursor.execute(_sql("pins")).fetchall())',
        "{}",
        theme="common",
    ),
    Mutant(
        "a full count forgets what few carry",
        COMMON,
        "(present.keys() | pins.keys()) - counted.keys()",
        "set()",
        theme="common",
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
    Mutant(
        "new pins are not seen",
        "",
        "",
        "DROP TRIGGER sentence_pin_changed ON dedup.sentence_pin",
        theme="common",
    ),
]
SETTINGS_MUTANTS = [
    Mutant(
        "adopted rules make nothing stale",
        RULEBOOKS,
        "if plan.adoption.rules:",
        "if False:",
        theme="settings",
    ),
    Mutant(
        "fingerprints of other settings stay",
        RULEBOOKS,
        "if row[1] != plan.fingerprinter.version(row[2])",
        "if False",
        theme="settings",
    ),
    Mutant(
        "adopted settings count nothing again",
        RULEBOOKS,
        "if present.adoption:",
        "if False:",
        theme="settings",
    ),
    Mutant(
        "a setting is in force before it is adopted",
        "store/rulebooks.sql settings_in_force",
        "SELECT name, adopted FROM dedup.setting WHERE adopted IS NOT NULL",
        "SELECT name, value FROM dedup.setting WHERE value IS NOT NULL",
        theme="settings",
    ),
]
VERDICT_MUTANTS = [
    Mutant("an edit leaves partners unsettled", HOOK, "[known.id, *partners]", "[known.id]"),
    Mutant("the hook leaves what it unsettles", HOOK, "waiting = set(result.unsettled)", "return"),
    Mutant(
        "a deletion leaves partners unsettled", HOOK, "settle_articles(cursor, settings, partners)", "pass"
    ),
    Mutant(
        "a verdict is not compared with what waits",
        LOOKUP,
        'others += find_sharing(cursor, settings, [row], own, "waiting")',
        "pass",
        theme="short",
        rare=True,
    ),
    Mutant(
        "a verdict is not compared with unsettled duplicates",
        LOOKUP,
        "if not other.settled]\n    name",
        "if False]\n    name",
        rare=True,
    ),
    Mutant(
        "a provisional verdict is not stored",
        HOOK,
        "        _mark_provisionally(cursor, stored.article_id, mark)",
        "        pass",
    ),
    Mutant(
        "a provisional mark passes for settled",
        HOOK,
        "{article_id: mark}, stale=True)",
        "{article_id: mark}, stale=False)",
        rare=True,
    ),
    Mutant(
        "a provisional verdict is not compared with all",
        HOOK,
        'elif not stored.unsettled or stored.status == "pending":',
        "elif True:",
        rare=True,
    ),
]
WINDOW = "dedup.store.window"
WINDOW_MUTANTS = [
    Mutant(
        "pairs across the horizon stay",
        "store/window.sql archive_pairs",
        "DELETE FROM dedup.match WHERE",
        "DELETE FROM dedup.match WHERE false AND",
    ),
    Mutant(
        "what rested on an archived article stays settled",
        WINDOW,
        'make_stale(cursor, set(one_column(cursor, _sql("archive_pairs"), values)))',
        "set()",
    ),
    Mutant(
        "archived articles keep their fingerprints",
        WINDOW,
        "fingerprints.delete(cursor, ids, table)",
        "pass",
    ),
    Mutant(
        "what is before the horizon is settled",
        "store/settling.sql next_unsettled",
        "(SELECT horizon FROM dedup.corpus_state)",
        "NULL",
    ),
    Mutant(
        "the hook archives nothing",
        HOOK,
        ", *window.archive(cursor, settings, [known.id])]",
        "]",
    ),
    Mutant(
        "what comes back keeps its pairs",
        "dedup.articles_edited(bigint[], integer[], integer[])",
        "PERFORM remove_pairs(came_back);",
        "",
    ),
]
SUBMIT_NEW = "dedup.submit_new(dedup.submission, text[], text, timestamptz, integer, integer, bigint, jsonb)"
EDIT_MUTANTS = [
    Mutant(
        "an edit of an original leaves it its copies",
        HOOK,
        "if {partner[1] for partner in later} - {*met.partners} != met.copies:",
        "if False:",
    ),
    Mutant(
        "an edit leaves articles similar to it as they are",
        HOOK,
        "marks = {id: Mark(Status.UNIQUE) for id in met.partners if id not in gaining}",
        "marks = {}",
    ),
    Mutant(
        "an edit of a copy leaves its original stale",
        SUBMIT_NEW,
        "UPDATE article_mark SET stale = false WHERE id = ANY (originals);",
        "",
    ),
    Mutant(
        "an edit is compared with the old text of the article",
        SUBMIT_NEW,
        "WHERE s.article_id IS DISTINCT FROM before.id ",
        "",
    ),
]
SCOPE_MUTANTS = [
    Mutant(
        "the hook knows no scopes",
        HOOK,
        "storable(article.text), scope=known.scope",
        "storable(article.text)",
    ),
    Mutant(
        "the hook forgets a stored scope",
        HOOK,
        "(known.language, known.title, known.scope) != (article.language, article.title, article.scope)",
        "(known.language, known.title) != (article.language, article.title)",
    ),
    Mutant(
        "an edit without a scope loses the stored scope",
        SUBMIT_NEW,
        "OR before.scope IS NOT NULL AND given.scope IS NULL",
        "",
    ),
    Mutant(
        "the backfill knows no scopes",
        "store/fingerprints.sql waiting_texts",
        "a.byline, a.scope,",
        "a.byline, NULL::text,",
    ),
    Mutant(
        "another scope unsettles nothing",
        "dedup.article_edit()",
        "(NEW.text, NEW.text_hash, NEW.language, NEW.scope)",
        "(NEW.text, NEW.text_hash, NEW.language, OLD.scope)",
    ),
]
MUTANTS = [
    *SETTLING_MUTANTS,
    *(replace(mutant, theme="families") for mutant in FAMILY_MUTANTS),
    *STALE_MUTANTS,
    *PIN_MUTANTS,
    *SHORT_MUTANTS,
    *COMMON_MUTANTS,
    *SETTINGS_MUTANTS,
    *VERDICT_MUTANTS,
    *(replace(mutant, theme="window") for mutant in WINDOW_MUTANTS),
    *EDIT_MUTANTS,
    *(replace(mutant, theme="scopes") for mutant in SCOPE_MUTANTS),
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "mutant",
    [
        # All mutants take minutes, so by default only every twelfth is tested.
        pytest.param(m, id=m.name.replace(" ", "-"), marks=[pytest.mark.torture] if m.rare or n % 12 else [])
        for n, m in enumerate(MUTANTS)
    ],
)
@pytest.mark.timeout(1_200)
def test_a_lost_rule_is_noticed(
    mutant: Mutant,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    told: Told,
) -> None:
    request.addfinalizer(statements.forget)
    statement = take_out(mutant, database, monkeypatch)
    for seed in range(HISTORIES):
        if goes_wrong(database, seed, mutant.theme, statement):
            print(f"{mutant.name}: noticed in history {seed + 1}")
            told("3", f"noticed in history {seed + 1}", "one rule of settling taken out")
            return
    pytest.fail(f"{HISTORIES} histories did not notice: {mutant.name}")


@pytest.mark.long("dedup", "migrations")
def test_the_code_that_a_mutant_replaces_exists(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes the mutants that only the torture tests run."""
    for mutant in MUTANTS:
        with monkeypatch.context() as patched:
            take_out(mutant, database, patched)
    statements.forget()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "count", [10, pytest.param(300, marks=[pytest.mark.torture, pytest.mark.timeout(3_600)])]
)
def test_histories_end_right(database: Database, count: int) -> None:
    for seed in range(count):
        with undone(database) as everything:
            History(everything, seed).run(STEPS)


def goes_wrong(database: Database, seed: int, theme: str, statement: str) -> bool:
    """Return whether a history ends differently from the oracle, or violates a constraint."""
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


def take_out(mutant: Mutant, database: Database, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take a rule out of the program and return "". If the rule is in the database, return a statement that
    takes it out."""
    if ".sql " in mutant.where:
        replace_in_statement(mutant, monkeypatch)
        return ""
    if mutant.where.startswith("dedup.") and "(" not in mutant.where:
        replace_in_module(mutant, monkeypatch)
        return ""
    return replaced_in_function(mutant, database) if mutant.where else mutant.new


def replace_in_module(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the program use a module with one place changed."""
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


def replace_in_statement(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the program use a statement with one place changed."""
    file, name = mutant.where.split()
    statements.forget()
    known = statements.read(file.removesuffix(".sql"))
    assert known[name].count(mutant.old) == 1, f"{mutant.where} has changed: {mutant.old!r}"
    monkeypatch.setitem(known, name, known[name].replace(mutant.old, mutant.new))


def replaced_in_function(mutant: Mutant, database: Database) -> str:
    """Return the statement that changes one place of an SQL function."""
    with database.transaction() as cursor:
        row = cursor.execute("SELECT pg_get_functiondef(%s::regprocedure)", [mutant.where]).fetchone()
    assert row is not None
    assert row[0].count(mutant.old) == 1, f"{mutant.where} has changed: {mutant.old!r}"
    return str(row[0]).replace(mutant.old, mutant.new)
