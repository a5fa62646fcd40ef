"""How far Postgres has come with an index: asked over a connection of its own while the index is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread

from dedup.base.errors import DedupError
from dedup.base.progress import Progress
from dedup.db.database import Database, translated
from dedup.db.statements import Statements

_sql = Statements("store/questions/index_making")

ASK_SECONDS = 0.5
"""Between two questions. Each is over at once: an index waits for all who have a snapshot."""


@contextmanager
def watched(database: Database, process_id: int, progress: Progress) -> Iterator[None]:
    """While the block makes an index, tell what its process does and how many blocks of how many it has read.

    Work goes on in silence where there is no connection to spare.
    """
    over = Event()
    thread = Thread(target=_watch, args=(database, process_id, progress, over), name="index", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(database: Database, process_id: int, progress: Progress, over: Event) -> None:
    stage, before = "", 0
    with (
        suppress(DedupError),
        translated(database.location),
        closing(database.connect()) as connection,
        connection.cursor() as cursor,
    ):
        while not over.wait(ASK_SECONDS):
            row = cursor.execute(_sql("index_making"), {"process_id": process_id}).fetchone()
            if row is None:
                continue
            phase, done, total = row
            if phase != stage:
                progress.start(phase, total)
                stage, before = phase, 0
            progress.advance(max(0, done - before), total)
            before = max(before, done)
