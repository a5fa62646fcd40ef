"""Changed settings come into force without anyone waiting: in short steps, and one that flips the switch.

The articles are withdrawn page by page under the settings that are still in force, which is right at any
moment: they keep their marks and are settled again by whatever is in force then.
"""

from __future__ import annotations

from functools import partial

from dedup.db.database import Cursor, Database
from dedup.settling.locked import held
from dedup.store import rulebooks
from dedup.store.rulebooks import AdoptionPlan

ARTICLES_PER_TRANSACTION = 2_000  # Withdrawn under one hold of the settle lock: about a tenth of a second


def adopt(database: Database) -> bool:
    """Put changed settings, sentence parameters or a changed program in force; False if there was nothing to
    adopt.

    Raises StaleRulesError: they were changed again meanwhile; begin again. SchemaError: a newer program made
    the stored results.
    """
    with database.transaction() as cursor:
        if not rulebooks.waiting_adoption(cursor):
            return False
        plan = rulebooks.plan_adoption(cursor)
    with database.transaction(settling=True) as cursor:
        rulebooks.keep_pinned_words(cursor, plan)
    through = 0
    while last := _withdraw(database, plan, through):
        through = last
    held(database, partial(rulebooks.adopt, plan=plan, through=through))
    return True


def _withdraw(database: Database, plan: AdoptionPlan, after: int) -> int | None:
    """Withdraw the next articles; returns the last of them, None where there are no more."""

    def work(cursor: Cursor) -> int | None:
        ids = rulebooks.page_of_articles(cursor, after, ARTICLES_PER_TRANSACTION)
        if ids:
            rulebooks.withdraw_for(cursor, plan, ids)
        return ids[-1] if ids else None

    return held(database, work)
