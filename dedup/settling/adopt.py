"""Put changed settings into force in short transactions, so that other processes wait only briefly."""

from __future__ import annotations

from functools import partial

from dedup.db.database import Cursor, Database, run_locked
from dedup.store import rulebooks
from dedup.store.rulebooks import AdoptionPlan

ARTICLES_PER_TRANSACTION = 2_000  # Maximum: a transaction should hold the settle lock for only 0.1 s


def adopt(database: Database) -> bool:
    """Put changed settings, changed sentence parameters or a changed program into force. Return False if
    nothing changed. Raises StaleRulesError: someone changed the settings again. SchemaError: the stored
    results were made by a newer program."""
    with database.transaction() as cursor:
        if not rulebooks.find_adoption(cursor):
            return False
        plan = rulebooks.plan_adoption(cursor)
    with database.transaction(settling=True) as cursor:
        rulebooks.keep_pinned_words(cursor, plan)
    # A stop after any page is safe: withdrawn articles keep their marks until a backfill settles them again.
    through = 0
    while last := _withdraw_page(database, plan, through):
        through = last
    run_locked(database, partial(rulebooks.adopt, plan=plan, through=through))
    return True


def _withdraw_page(database: Database, plan: AdoptionPlan, after: int) -> int | None:
    def work(cursor: Cursor) -> int | None:
        ids = rulebooks.read_page(cursor, after, ARTICLES_PER_TRANSACTION)
        if ids:
            rulebooks.withdraw_for(cursor, plan, ids)
        return ids[-1] if ids else None

    return run_locked(database, work)
