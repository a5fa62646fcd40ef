"""One chunk of articles from texts to fingerprints: read, made and stored, in a worker or in this process.

The one who reads has a connection of its own. No transaction is open while fingerprints are made, and the
settle lock is held only while what was made is stored. What meets other transactions is tried again; a
database that refuses is an error of the database, never of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from dedup.corpus import fingerprints
from dedup.corpus.database import Connection, Cursor, Database, Session, location, retried, translated
from dedup.corpus.fingerprints import Batch, Chunk, Target
from dedup.corpus.rulebooks import State
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprinter
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Lost, TextTask
from dedup.timeouts import Timeouts

FingerprintFunction = Callable[[Sequence[TextTask]], Fingerprints]
Factory = Callable[[Settings, Mapping[str, PunktModel]], FingerprintFunction]

HARMLESS = TextTask(0, 0, None, None, "The council met on Monday. It will meet again before the summer. " * 4)
"""Who cannot read this has a trouble that is not the text's."""


def make_function(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    return Fingerprinter(settings, models).fingerprint_many


@dataclass(frozen=True, slots=True)
class Source:
    """Where texts are, and what their fingerprints are made with.

    Attributes:
        url, timeouts: of the database.
        schema: of the corpus.
        state: what the stored results must still be made with when a fingerprint is stored.
        too_long: characters above which a text stays in the database.
        target: the table that fingerprints go to.
    """

    url: str
    schema: str
    timeouts: Timeouts
    state: State
    too_long: int
    target: Target = "fingerprint"


@dataclass(frozen=True, slots=True)
class Part:
    """What became of some articles, all of which have been stored.

    Attributes:
        articles: all of them.
        failed: those that cannot have a fingerprint, by id, with the reason.
        gone: the ids of those that changed, went or no longer wait.
        lost: texts that lost their worker process; of these nothing was stored.
    """

    articles: Chunk
    failed: dict[int, str] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    @property
    def made(self) -> int:
        """How many have a fingerprint."""
        return len(self.articles) - len(self.failed) - len(self.gone) - len(self.lost)


class Reader:
    """Reads texts and stores fingerprints through one connection."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._location = location(source.url, source.schema)
        self._connection: Connection | None = None

    def connect(self) -> None:
        if self._connection is None or self._connection.closed:
            with translated(self._location):
                source = self._source
                self._connection = Connection.open(source.url, source.timeouts, source.schema)

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()

    def texts(self, chunk: Chunk) -> list[TextTask]:
        """The texts of those articles that have not changed and still wait."""

        def read() -> list[TextTask]:
            with self._transaction() as cursor:
                return fingerprints.waiting_texts(cursor, chunk, self._source.too_long)

        return retried(read, self._source.timeouts.lock)

    def store(self, tasks: Sequence[TextTask], made: Fingerprints) -> tuple[dict[int, str], list[int]]:
        """Store what was made of texts. Raises StaleRulesError: the settings changed meanwhile.

        Returns the failures by id, and the ids of articles that changed, went or no longer wait.
        """
        batch = Batch([(task.id, task.revision) for task in tasks], made)

        def store() -> list[int]:
            with self._transaction(settling=True) as cursor:
                self._source.state.check(cursor)
                return batch.store(cursor, self._source.target)

        gone = retried(store, self._source.timeouts.lock)
        failed = {article_id: reason for (article_id, _), reason in batch.failed.items()}
        return {i: reason for i, reason in failed.items() if i not in gone}, gone

    @contextmanager
    def _transaction(self, *, settling: bool = False) -> Iterator[Cursor]:
        self.connect()
        assert self._connection
        session = Session(self._connection, self._source.timeouts)
        with translated(self._location), session.transaction(settling=settling) as cursor:
            yield cursor


class ReaderHere(Reader):
    """The same through the connections of this process."""

    def __init__(self, source: Source, database: Database) -> None:
        super().__init__(source)
        self._database = database

    def connect(self) -> None:
        """Nothing: the pool connects when it has to."""

    @contextmanager
    def _transaction(self, *, settling: bool = False) -> Iterator[Cursor]:
        with self._database.transaction(settling=settling) as cursor:
            yield cursor


def read_chunk(
    reader: Reader,
    chunk: Chunk,
    make: Callable[[Sequence[TextTask]], tuple[Sequence[TextTask], Fingerprints | None, list[Lost]]],
) -> Part:
    """Have a chunk read, made into fingerprints and stored.

    `make` returns the texts that it could read, their fingerprints if there are any, and what it lost.
    """
    waiting = reader.texts(chunk)
    tasks, made, lost = make(waiting) if waiting else ((), None, [])
    failed, gone = reader.store(tasks, made) if made is not None else ({}, [])
    found = {task.id for task in waiting}
    return Part(chunk, failed, [*gone, *(i for i, _ in chunk if i not in found)], lost)
