"""A worker inside your own program.

    from dedup import worker
    worker.work(stop=event.is_set)

The worker logs to the loggers `dedup.worker` and `dedup.listener`.
"""

from __future__ import annotations

from collections.abc import Callable

from dedup.api import checks
from dedup.base.machine import BATCH_ARTICLES, MAX_WORKERS
from dedup.base.progress import Progress
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
    progress: Progress | None = None,
) -> None:
    """Settle arriving articles until `stop` returns True; then finish the present batch, and end.

    A corpus may have any number of workers, on any machines: one worker settles, the other workers stand by.
    If the database does not answer, a worker waits for it. `poll`: seconds between two searches for articles
    that no notification announced. `workers`: number of threads that fingerprint texts; None: one more than
    the machine has cores. `progress`: receiver of the stages of the work. Raises LoginError: the database
    refuses the login. Raises RightsError: the role lacks a privilege. Raises SchemaError: the schema is
    missing, or fits another version of dedup.
    """
    check_seconds("the poll interval", poll)
    checks.optional(checks.whole_number, "workers", workers, 1, MAX_WORKERS)
    # After a restart of the machine a worker may start before its database answers.
    database = daemon.wait_for_database(
        lambda: opening.connect(url, timeouts, schema), stop, daemon.DOWN_SECONDS
    )
    if database is None:
        return
    try:
        options = BackfillOptions(BATCH_ARTICLES, None, PoolOptions(workers), "auto", choice.choose_memory())
        Daemon(database, options, stop, Pace(poll=poll), progress).run()
    finally:
        database.close()
