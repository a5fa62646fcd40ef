"""Fingerprints of many texts at once equal the fingerprints that the plain functions make of each text."""

from __future__ import annotations

import gzip
import json
import random
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.text import fingerprint as module
from dedup.text.fingerprint import Fingerprinter, TextTask, UnreadableError
from dedup.text.fingerprints import Fingerprint, Fingerprints
from tests.reference.plain import PlainMaker

SMALL = Settings(
    text_min_words=5, sentence_min_characters=8, signature_size=12, bands=3, rows=4, text_max_characters=2_000
)
VARIANTS = {
    "small": SMALL,
    "defaults": Settings(),
    "keyed": replace(SMALL, hash_key="schlüssel"),
    "listed": replace(SMALL, stop_words="the of é"),
    "one row": replace(SMALL, bands=12, rows=1, text_min_words=1),
}


@cache
def fingerprinter(name: str) -> Fingerprinter:
    return Fingerprinter(VARIANTS[name])


LONG = pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference/plain.py")


@cache
def plain(name: str) -> PlainMaker:
    return PlainMaker(VARIANTS[name])


def slow(name: str, task: TextTask) -> Fingerprint | str:
    """Return the fingerprint of one text, or the reason why it has none, by the plain functions."""
    made = fingerprinter(name)
    limit = made.settings.text_max_characters
    characters = len(task.text) if task.characters is None else task.characters
    if characters > limit:
        return f"too long: {characters:,} characters, the limit is {limit:,}"
    characters = sum(len(unicodedata.normalize("NFKC", c).casefold()) for c in task.text)
    if characters > limit:
        return f"too long: {characters:,} characters when normalised, the limit is {limit:,}"
    sentences = made.splitter(task.language).sentences(task.text)
    found = plain(name).make(sentences, task.title, made.version(task.language))
    return found or "empty: the text has no words"


def many(name: str, tasks: list[TextTask]) -> list[Fingerprint | str]:
    made = fingerprinter(name).fingerprint_many(tasks)
    assert len(made) == len(tasks)
    return [made.one(i) or made.reasons[i] or "" for i in range(len(made))]


PIECES = st.one_of(
    st.sampled_from(
        """the of a is storm coast Mr. U.S. harbour “We said.” ’s café Große 中文。 हिन्दी 😀 … x_y 3.5 end.
        ends.The""".split()  # noqa: SIM905  # a table of words
    ),
    st.sampled_from(["\n", "\n\n", "x" * 300, "\u00e9" * 600, "\u0301" * 40, "\ufdfa" * 70, "\0", "\ud800"]),
    st.text(max_size=6),
)
BODIES = st.lists(PIECES, max_size=40).map(" ".join)
TASKS = st.builds(
    lambda text, title, language, long: TextTask(
        0, 0, language, title, "" if long else text, 9_999_999 if long else None
    ),
    BODIES,
    st.one_of(st.none(), st.lists(PIECES, max_size=4).map(" ".join)),
    st.sampled_from([None, "en", "de", "zh"]),
    st.sampled_from([False] * 9 + [True]),
)
CHUNKS = st.sampled_from([1, 50, 1 << 17])


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "name", ["defaults", *(pytest.param(v, marks=LONG) for v in VARIANTS if v != "defaults")]
)
@given(tasks=st.lists(TASKS, max_size=6), size=CHUNKS)
@example(tasks=[], size=1)
@example(tasks=[TextTask(0, 0, None, None, "")], size=1)
@example(tasks=[TextTask(0, 0, None, "A title", "the end"), TextTask(0, 0, None, "/", "the end")], size=50)
@example(tasks=[TextTask(0, 0, None, None, "The same of it. The same of it. The other one of it.")], size=50)
def test_any_texts_in_any_batch_are_what_each_is_alone(name: str, tasks: list[TextTask], size: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "BATCH_CHARACTERS", size)
        assert many(name, tasks) == [slow(name, task) for task in tasks]
    for task in tasks:
        if task.characters is None:
            try:
                alone: Fingerprint | str = fingerprinter(name).fingerprint(
                    task.text, task.language, task.title
                )
            except UnreadableError as error:
                alone = str(error)
            assert alone == slow(name, task)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "gnad_de",
        "masakhanews",
        *(
            pytest.param(file, marks=LONG)
            for file in (
                *("reuters_web_2006_2010", "us_outlets_a", "guardian_capi", "fakenews_es", "horne2017"),
                *("reuters21578", "wiki_versions"),
            )
        ),
    ],
)
def test_real_news_in_a_batch_is_what_each_is_alone(shared_data: Path, name: str) -> None:
    file = shared_data / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"needs {file}")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        articles = [json.loads(line) for line, _ in zip(lines, range(2000), strict=False)]
    chosen = random.Random(2).sample(articles, min(40, len(articles)))
    tasks = [TextTask(0, 0, one.get("language"), one.get("title"), one["text"]) for one in chosen]
    assert many("defaults", tasks) == [slow("defaults", task) for task in tasks]


def test_what_the_arrays_hold() -> None:
    long = "The storm of the coast is near the old harbour of it. The storm is here now. Nobody saw it."
    tasks = [
        TextTask(0, 0, None, None, text)
        for text in (long, "The end", "", "Laundry detergent discount washing machines dishwashers")
    ]
    made = fingerprinter("small").fingerprint_many(tasks)
    assert made.reasons == (None, None, "empty: the text has no words", None)
    assert made.banded.tolist() == [True, False, False, True]
    assert made.sentence_starts.tolist() == [0, 3, 3, 3, 4]
    assert made.word_count.tolist() == [20, 2, 0, 6]
    assert made.signature.shape == (4, 12)
    assert made.buckets.shape == (4, 3)
    assert made.one(2) is None
    assert not made.signature[1:].any()
    assert not made.buckets[1:3].any()
    assert (made.buckets[3] == made.content_hash[3]).all()
    assert made.version[2] == made.content_hash[2] == 0


def test_joined_fingerprints_are_those_of_the_parts() -> None:
    texts = ["The storm of the coast is near it.", "", "The end", "The harbour of the coast is far from it."]
    tasks = [TextTask(0, 0, None, None, text) for text in texts]
    made = fingerprinter("small")
    for split in range(5):
        joined = Fingerprints.joined(
            [made.fingerprint_many(tasks[:split]), made.fingerprint_many(tasks[split:])]
        )
        whole = made.fingerprint_many(tasks)
        assert [joined.one(i) for i in range(4)] == [whole.one(i) for i in range(4)]
        assert joined.reasons == whole.reasons
        assert joined.sentence_starts.dtype == np.int64


def test_a_text_that_breaks_the_program_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Fingerprinter(SMALL, compiled=False)
    real = made._maker.make

    def make(texts: list[list[str]], titles: list[str | None]) -> object:
        if any("secret" in sentence for text in texts for sentence in text):
            raise OverflowError("a secret text")
        return real(texts, titles)

    monkeypatch.setattr(made._maker, "make", make)
    texts = ["The storm of the coast is near it.", "A secret of the coast is near it.", "The end"]
    found = made.fingerprint_many([TextTask(0, 0, None, None, text) for text in texts])
    assert found.reasons == (None, "unreadable: OverflowError", None)
    assert found.one(0) == fingerprinter("small").fingerprint(texts[0])


def test_a_lack_of_memory_is_no_property_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Fingerprinter(SMALL, compiled=False)

    def make(texts: list[list[str]], titles: list[str | None]) -> object:
        raise MemoryError

    monkeypatch.setattr(made._maker, "make", make)
    with pytest.raises(MemoryError):
        made.fingerprint_many([TextTask(0, 0, None, None, "The end"), TextTask(0, 0, None, None, "The end")])
