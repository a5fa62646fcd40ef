"""A worker process: texts come in, fingerprints go out, one JSON value a line. No database.

The parent (`supervisor.py`) starts it with pipes for standard input and output. The first line says how to
make the function that fingerprints; every other line is a chunk of texts, answered by one line. It ends when
its input does, so it does not outlive its parent; and a chunk that does not end is ended by an alarm of the
kernel.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, Fingerprinter
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Fingerprinted, TextTask, fingerprint_task

FingerprintFunction = Callable[[TextTask], Fingerprinted]
Factory = Callable[[Settings, Mapping[str, PunktModel]], FingerprintFunction]

HARMLESS = TextTask(0, 0, None, None, "The council met on Monday. It will meet again before the summer. " * 4)
"""What every new worker reads first: who cannot read this has a trouble that is not the text's."""

READY, OUT_OF_MEMORY = "ready", "out of memory"


_NO_MEMORY = f'"{OUT_OF_MEMORY}"\n'.encode()


def make_function(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """The function that fingerprints one text."""
    return partial(fingerprint_task, Fingerprinter(settings, models))


def main() -> None:
    """The life of a worker process."""
    # Ctrl-C, SIGTERM and SIGHUP may be sent to the whole group; they are the parent's business.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    source, answers = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # whatever prints must not talk in between
    try:
        function = _made(source.readline())
        _ask(function, [HARMLESS])
        _send(answers, _line(READY))
        for line in source:
            seconds, *tasks = json.loads(line)
            # Also where the parent is gone, and where this thread never comes back to Python.
            signal.setitimer(signal.ITIMER_REAL, seconds)
            answer = _ask(function, [TextTask(*task) for task in tasks])
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(answers, answer)
    except MemoryError:
        _send(answers, _NO_MEMORY)
    except BrokenPipeError:
        return
    except Exception as error:  # its message could hold the text of an article
        _send(answers, _line(f"failed with {type(error).__name__}"))


def encode_recipe(factory: Factory, settings: Settings, models: Mapping[str, PunktModel]) -> bytes:
    """The first line for a worker: how to make the function.

    Args:
        factory: named by its module, and imported by the worker.
    """
    files = {language: model.to_files() for language, model in models.items()}
    return _line([factory.__module__, factory.__qualname__, asdict(settings), files])


def encode_tasks(tasks: Sequence[TextTask], seconds: float) -> bytes:
    """A chunk for a worker, which ends itself where it takes longer than these seconds."""
    rows = [(t.id, t.revision, t.language, t.title, t.text, t.characters) for t in tasks]
    return _line([seconds, *rows])


def decode_answer(line: bytes) -> list[Fingerprinted] | str:
    """What a worker says: the results of its chunk, or a word about itself."""
    found: Any = json.loads(line)
    return found if isinstance(found, str) else [_result(*row) for row in found]


def _line(value: object) -> bytes:
    # JSON escapes every line feed in a text.
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _made(recipe: bytes) -> FingerprintFunction:
    module, name, settings, files = json.loads(recipe)
    factory: Any = importlib.import_module(module)
    for part in name.split("."):
        factory = getattr(factory, part)
    models = {language: PunktModel.from_files(given) for language, given in files.items()}
    function: FingerprintFunction = factory(Settings(**settings), models)
    return function


def _ask(function: FingerprintFunction, tasks: Sequence[TextTask]) -> bytes:
    return _line([_row(function(task)) for task in tasks])


def _send(to: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(to, view) :]


def _row(result: Fingerprinted) -> tuple[object, ...]:
    made = result.fingerprint
    if made is None:
        return (result.article_id, result.revision, result.reason)
    return (
        result.article_id,
        result.revision,
        None,
        made.version,
        made.content_hash,
        made.sentence_hashes,
        made.signature.tobytes().hex(),
        made.buckets,
        made.word_count,
        made.shingle_count,
    )


def _result(article_id: int, revision: int, reason: str | None, *row: Any) -> Fingerprinted:
    if not row:
        return Fingerprinted(article_id, revision, None, reason)
    version, content_hash, sentence_hashes, signature, buckets, word_count, shingle_count = row
    made = Fingerprint(
        version,
        content_hash,
        tuple(sentence_hashes),
        np.frombuffer(bytes.fromhex(signature), np.uint8),
        tuple(buckets),
        word_count,
        shingle_count,
    )
    return Fingerprinted(article_id, revision, made)
