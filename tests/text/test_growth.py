"""Texts that grow when normalised take no more memory than other texts; memory is measured, not time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from dedup.base.article import MAX_FIELD_BYTES
from dedup.base.settings import Settings
from dedup.text.fingerprint import Fingerprinter, TextTask, UnreadableError

DEFAULTS = Fingerprinter(Settings())
N = DEFAULTS.settings.text_max_characters

PEAK_BYTES = 100
"""Maximum bytes of memory per character of a text; a text of a million one-letter words takes half of it."""

GROWING = {
    "a phrase": "\ufdfa" * N,
    "a phrase, as many as may be": "\ufdfa" * (N // 18),
    "phrases apart": "\ufdfa " * (N // 19),
    "squared words": "\u3316" * (N // 6),
    "notes": "\U0001d1c0" * (N // 3),
    "folded to three": "\u0390" * (N // 3),
    "letters that come apart": "ǖ\u0323" * (N // 2),
    "words of a letter": "a " * (N // 2),
}


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("name", GROWING)
def test_a_text_takes_bounded_memory_whatever_it_becomes(name: str) -> None:
    reason("Été")  # the first call does work that is done only once; do not measure it
    assert peak(lambda: reason(GROWING[name])) < PEAK_BYTES * N


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_a_batch_of_endless_titles_takes_bounded_memory() -> None:
    title = "\ufdfa" * (MAX_FIELD_BYTES["title"] // 3)
    tasks = [TextTask(0, 0, None, title, "Comment now")] * 100
    assert peak(lambda: DEFAULTS.fingerprint_many(tasks)) < PEAK_BYTES * N


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_the_sentences_of_a_text_that_is_too_long_are_none() -> None:
    assert DEFAULTS.sentences("\ufdfa" * N) == []


def peak(work: Callable[[], object]) -> int:
    """Return the most memory, in bytes, that some work takes at any moment."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def reason(text: str) -> str | None:
    """Return the reason why a text has no fingerprint, or None if it has one."""
    try:
        DEFAULTS.fingerprint(text)
    except UnreadableError as error:
        return str(error)
    return None
