"""A worker: settles what arrives, until it is told to stop. For programs that want one beside their own work.

    from dedup import worker
    worker.work(stop=event.is_set)

It logs to the loggers `dedup.worker` and `dedup.listener`.
"""

from __future__ import annotations

from collections.abc import Callable

from dedup.api import checks
from dedup.base.machine import BATCH_ARTICLES, MAX_WORKERS
from dedup.base.timeouts import Timeouts, check_seconds
from dedup.settling import choice, daemon
from dedup.settling.backfill import BackfillOptions
from dedup.settling.daemon import POLL_SECONDS, Daemon, Pace
from dedup.settling.fingerprinting import PoolOptions
from dedup.store import opening

__all__ = ["work"]


def work(
    url: str | None = None,
    *,
    stop: Callable[[], bool],
    schema: str | None = None,
    poll: float = POLL_SECONDS,
    workers: int | None = None,
    timeouts: Timeouts | None = None,
) -> None:
    """Settle what arrives in a corpus, until `stop` says so; then the batch in hand is finished.

    Any number of them may work on a corpus, on any machines: one works, the others stand by.

    Args:
        url, schema: as of `Deduplicator`; a database that is away is waited for.
        poll: seconds after which an article is noticed at the latest.
        workers: threads that fingerprint texts; None for one more than cores.

    Raises:
        LoginError: the database refuses the login.
        RightsError: the role lacks a privilege.
        SchemaError: the schema is missing, older or newer; the message names the next step.
    """
    check_seconds("the poll interval", poll)
    checks.optional(checks.whole_number, "workers", workers, 1, MAX_WORKERS)
    database = daemon.wait_for(lambda: opening.connect(url, timeouts, schema), stop, daemon.DOWN_SECONDS)
    if database is None:
        return
    try:
        options = BackfillOptions(BATCH_ARTICLES, None, PoolOptions(workers), "auto", choice.usual_memory())
        Daemon(database, options, stop, Pace(poll=poll)).run()
    finally:
        database.close()
