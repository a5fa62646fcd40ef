"""A worker process: it reads texts from the database, and stores their fingerprints there.

The parent (`supervisor.py`) starts it with pipes for standard input and output, one JSON value a line. The
first line is the recipe: how to make the function that fingerprints, and where the database is. Every other
line is a chunk of article ids; it is answered by a word when the texts are there, a word when the
fingerprints are made, and what became of each article. No text goes through the pipes.

It ends at once when its input does, so neither it nor its database session outlives its parent; and a text
that does not end is ended by an alarm of the kernel.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import Any

from dedup import errors
from dedup.corpus.fingerprints import Chunk
from dedup.corpus.rulebooks import StaleRulesError, State
from dedup.engine.reader import HARMLESS, Factory, FingerprintFunction, Reader, Source, read_chunk
from dedup.errors import DedupError
from dedup.settings import Settings
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Lost, TextTask
from dedup.timeouts import Timeouts

READY, TEXTS, MADE, OUT_OF_MEMORY = "ready", "texts", "made", "out of memory"
"""What a worker says about itself: it can begin; it has the texts of its chunk; it has their fingerprints;
it ends."""

_NO_MEMORY = f'"{OUT_OF_MEMORY}"\n'.encode()
_MADE = f'"{MADE}"\n'.encode()
_TEXTS = f'"{TEXTS}"\n'.encode()


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a chunk: see `reader.Part`."""

    failed: dict[int, str]
    gone: list[int]


def main() -> None:
    """The life of a worker process."""
    # Ctrl-C, SIGTERM and SIGHUP may be sent to the whole group; they are the parent's business.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever prints must not talk in between
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=[lines], daemon=True).start()
    try:
        function, source = _made(lines.get())
        function([HARMLESS])
        reader = Reader(source)
        reader.connect()
        _send(answers, _line(READY))
        while True:
            _send(answers, _read(reader, function, answers, lines.get()))
    except MemoryError:
        _send(answers, _NO_MEMORY)
    except BrokenPipeError:
        return
    except (DedupError, StaleRulesError) as error:
        _send(answers, _line({"error": type(error).__name__, "message": str(error)}))
    except Exception as error:  # its message could hold the text of an article
        _send(answers, _line(f"failed with {type(error).__name__}"))


def encode_recipe(
    factory: Factory, settings: Settings, models: Mapping[str, PunktModel], source: Source
) -> bytes:
    """The first line for a worker: how to make the function, and where its texts are.

    Args:
        factory: named by its module, and imported by the worker.
    """
    files = {language: model.to_files() for language, model in models.items()}
    return _line([factory.__module__, factory.__qualname__, asdict(settings), files, asdict(source)])


def encode_chunk(chunk: Chunk, seconds: float) -> bytes:
    """A chunk for a worker, which ends itself where its texts take longer than these seconds."""
    return _line([seconds, chunk])


def decode_answer(line: bytes) -> Done | Exception | str:
    """What a worker says: what became of its chunk, an error that ends the work, or a word about itself."""
    found: Any = json.loads(line)
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        if found["error"] == StaleRulesError.__name__:
            return StaleRulesError()
        error: Exception = getattr(errors, found["error"])(found["message"])
        return error
    failed, gone = found
    return Done(dict(failed), gone)


def _listen(lines: SimpleQueue[bytes]) -> None:
    """Take in what the parent says. Where it says no more, this process ends, whatever it does just then."""
    with suppress(OSError):
        for line in sys.stdin.buffer:
            lines.put(line)
    os.kill(os.getpid(), signal.SIGUSR1)


def _line(value: object) -> bytes:
    # JSON escapes every line feed in a text.
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _made(recipe: bytes) -> tuple[FingerprintFunction, Source]:
    module, name, settings, files, source = json.loads(recipe)
    factory: Any = importlib.import_module(module)
    for part in name.split("."):
        factory = getattr(factory, part)
    models = {language: PunktModel.from_files(given) for language, given in files.items()}
    function: FingerprintFunction = factory(Settings(**settings), models)
    state, timeouts = State(**source.pop("state")), Timeouts(**source.pop("timeouts"))
    return function, Source(**source, state=state, timeouts=timeouts)


def _read(reader: Reader, function: FingerprintFunction, answers: int, line: bytes) -> bytes:
    seconds, given = json.loads(line)

    def make(tasks: Sequence[TextTask]) -> tuple[Sequence[TextTask], Fingerprints, list[Lost]]:
        _send(answers, _TEXTS)
        # Also where the parent is gone, and where this thread never comes back to Python.
        signal.setitimer(signal.ITIMER_REAL, seconds)
        made = function(tasks)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, _MADE)
        return tasks, made, []

    part = read_chunk(reader, [(i, revision) for i, revision in given], make)
    return _line([list(part.failed.items()), part.gone])


def _send(to: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(to, view) :]
