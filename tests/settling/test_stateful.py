"""Any history of a corpus ends in the marks of a new run over the articles that are left.

See docs/semantics.md, section 8. The histories commit to a real Postgres. Whenever no article is unsettled,
the marks must equal the oracle's for the stored common sentences; after a backfill they must equal the
oracle's for a full count. `HYPOTHESIS_PROFILE=thorough` runs 250 histories of sixty steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dedup.db.database import Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.settling.refresh import refresh
from dedup.store import pins, rulebooks
from dedup.store import window as window_of
from dedup.store.articles import store
from tests.conftest import empty
from tests.corpora import (
    PLAIN,
    Code,
    answer,
    article,
    assert_consistent,
    assert_right,
    at,
    change_settings,
    code,
    deduplicator,
    fingerprint_waiting,
    load,
    make_function,
    sentence_hash,
    settle_waiting,
    text,
    unsettled,
    window,
)
from tests.settling.histories import BOILERPLATE, MINUTES, NAMES, SETTINGS, TITLES, CrashError, Doomed

pytestmark = pytest.mark.timeout(600)


def made(
    start: int, length: int, edits: dict[int, int], extra: Sequence[int], backwards: bool
) -> tuple[Code, ...]:
    """Return an edited window of the ring of sentences."""
    codes = window(start, length, ring=12)
    codes = [given + edits.get(i, 0) for i, given in enumerate(codes)] + [code(number) for number in extra]
    return tuple(reversed(codes) if backwards else codes)


texts = st.one_of(
    st.builds(
        made,
        st.integers(0, 6),
        st.sampled_from((6, 5, 7, 4)),
        st.just({}) | st.dictionaries(st.integers(0, 6), st.integers(1, 3)),
        st.sampled_from(((), (), BOILERPLATE[:1], BOILERPLATE)),
        st.sampled_from((False, False, True)),
    ),
    st.sampled_from(
        (
            (),
            tuple(map(code, BOILERPLATE)),
            tuple(code(PLAIN + i) for i in range(5)),
            (code(PLAIN), code(PLAIN + 1)),
        )
    ),
)
names = st.sampled_from(NAMES[:8])
minutes = st.sampled_from(MINUTES)
articles = st.builds(
    article, names, texts, minutes | st.none(), added_at=minutes.map(at), title=st.sampled_from(TITLES)
)
batches = st.sampled_from((1, 2, 3, 100))
pinned = st.sampled_from([code(number) for number in (0, 1, 2, 3, *BOILERPLATE)])
changes = st.sampled_from([(name, value) for name, values in SETTINGS.items() for value in values])


class CorpusMachine(RuleBasedStateMachine):
    """A corpus with random events."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database = database
        self.deduplicator = deduplicator(database)
        empty(database)
        change_settings(database, common_stories=2, text_min_words=6)

    @rule(given=st.lists(articles, min_size=1, max_size=3))
    def load(self, given: list[Any]) -> None:
        load(self.database, *given)

    @rule(given=articles)
    def submit(self, given: Any) -> None:
        pending = self.pending()
        verdict = self.deduplicator.submit(given)
        marks = answer(self.database).marks
        assert (verdict.status, verdict.duplicate_of, verdict.score) == marks[given.source_id][:3]
        assert self.pending() <= pending | {given.source_id}
        assert verdict.provisional == (bool(self.pending() - {given.source_id}) and not verdict.archived)
        if not verdict.provisional:
            assert given.source_id not in self.pending()

    @rule(given=st.lists(names, min_size=1, max_size=3))
    def delete(self, given: list[str]) -> None:
        pending = self.pending()
        self.deduplicator.delete_many(given)
        assert self.pending() <= pending

    @rule(given=st.lists(names, min_size=1, max_size=3))
    def delete_by_sql(self, given: list[str]) -> None:
        with self.database.transaction() as cursor:
            cursor.execute("DELETE FROM dedup.article WHERE source_id = ANY (%s)", [given])

    @rule(original=names)
    def delete_story_by_sql(self, original: str) -> None:
        with self.database.transaction() as cursor:
            cursor.execute(
                "DELETE FROM dedup.article a USING dedup.article_mark k, dedup.article o"
                " WHERE k.id = a.id AND o.source_id = %s AND o.id IN (a.id, k.duplicate_of)",
                [original],
            )

    @rule(given=st.lists(names, min_size=1, max_size=2), codes=texts)
    def edit_by_sql(self, given: list[str], codes: tuple[Code, ...]) -> None:
        with self.database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article SET text = %s WHERE source_id = ANY (%s)", [text(codes), given]
            )

    @rule(
        given=st.lists(names, min_size=1, max_size=2),
        column=st.sampled_from(("published_at", "added_at")),
        when=minutes.map(at),
    )
    def redate_by_sql(self, given: list[str], column: str, when: datetime) -> None:
        with self.database.transaction() as cursor:
            cursor.execute(
                f"UPDATE dedup.article SET {column} = %s WHERE source_id = ANY (%s)".encode(), [when, given]
            )

    @rule(old=names, new=names)
    def rename_by_sql(self, old: str, new: str) -> None:
        with self.database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article SET source_id = %(new)s WHERE source_id = %(old)s"
                " AND NOT EXISTS (SELECT FROM dedup.article WHERE source_id = %(new)s)",
                {"old": old, "new": new},
            )

    @rule(limit=batches)
    def read(self, limit: int) -> None:
        with self.database.transaction(settling=True) as cursor:
            fingerprint_waiting(cursor, limit)

    @rule(limit=batches)
    def settle(self, limit: int) -> None:
        with self.database.transaction(settling=True) as cursor:
            settle_waiting(cursor, limit)

    @rule(full=st.booleans())
    def count(self, full: bool) -> None:
        with self.database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        refresh(self.database, rulebook, full=full)

    @rule(batch=batches, full=st.sampled_from((False, False, True, None)))
    def backfill(self, batch: int, full: bool | None) -> None:
        backfill(self.database, batch=batch, workers=0, factory=make_function, full_count=full)
        assert_right(self.database)

    @rule(minute=st.integers(-2, 9), now=st.booleans())
    def prune(self, minute: int, now: bool) -> None:
        with self.database.transaction(settling=True) as cursor:
            window_of.request_move(cursor, at(minute))
        if now:
            self.backfill(2, None)

    @rule(given=pinned, common=st.booleans())
    def pin(self, given: Code, common: bool) -> None:
        with self.database.transaction() as cursor:
            pins.pin_sentence(cursor, sentence_hash(given), common, None)

    @rule(given=pinned)
    def unpin(self, given: Code) -> None:
        with self.database.transaction() as cursor:
            pins.unpin_sentences(cursor, [sentence_hash(given)])

    @rule(pair=st.lists(names, min_size=2, max_size=2, unique=True), relation=st.sampled_from(Relation))
    def pin_pair(self, pair: list[str], relation: Relation) -> None:
        with self.database.transaction() as cursor:
            one, other = pair
            pins.pin_pair(cursor, one, other, relation)

    @rule(pair=st.lists(names, min_size=2, max_size=2, unique=True))
    def unpin_pair(self, pair: list[str]) -> None:
        with self.database.transaction() as cursor:
            pins.unpin_pair(cursor, *pair)

    @rule(given=names, title=st.sampled_from(TITLES))
    def retitle_by_sql(self, given: str, title: str | None) -> None:
        with self.database.transaction() as cursor:
            cursor.execute("UPDATE dedup.article SET title = %s WHERE source_id = %s", [title, given])

    @rule(change=changes)
    def change_setting(self, change: tuple[str, Any]) -> None:
        change_settings(self.database, **dict([change]))

    @rule(given=articles, statements=st.integers(1, 25))
    def crash(self, given: Any, statements: int) -> None:
        """Store, read and settle an article in one transaction, which is rolled back midway."""
        before = answer(self.database)
        with suppress(CrashError), self.database.transaction(settling=True) as cursor:
            doomed: Any = Doomed(cursor, statements)
            store(doomed, [given])
            fingerprint_waiting(doomed, 3)
            settle_waiting(doomed, 2)
            raise CrashError
        assert answer(self.database) == before

    @precondition(lambda self: not self.pending())
    @invariant()
    def consistent(self) -> None:
        assert_consistent(self.database)

    def teardown(self) -> None:
        self.backfill(2, None)

    def pending(self) -> set[str]:
        return unsettled(self.database)


@pytest.mark.long("dedup", "migrations")
def test_any_history_ends_in_the_marks_of_a_run_from_nothing(database: Database) -> None:
    default = settings.default
    assert default is not None
    run_state_machine_as_test(
        # Hypothesis documents that it also takes a function, but its types demand a class.
        lambda: CorpusMachine(database),  # type: ignore[arg-type]
        settings=settings(max_examples=default.max_examples // 4),
    )
