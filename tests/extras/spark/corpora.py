"""Corpora for the Spark engine: tables of fingerprints, the engine's answers, and the oracle's answers.

Most fingerprints are invented directly, not made from texts: thousands of invented ones take no time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.base.times import microseconds
from dedup.rules import oracle
from dedup.rules.marks import order_key, published_second
from dedup.rules.pair import Relation
from dedup.text.fingerprint import Fingerprint
from dedup.text.signature import EMPTY
from tests.corpora import Answer, fingerprint


@dataclass(frozen=True)
class Entry:
    """An article for the engine: its times, and its fingerprint or the reason why it failed."""

    source_id: str
    published_at: datetime | None
    added_at: datetime
    made: Fingerprint | str


@dataclass
class Abstract:
    """A corpus of entries, with people's pins of pairs and sentences."""

    entries: list[Entry]
    pairs: dict[tuple[str, str], Relation] = field(default_factory=dict)
    sentences: dict[int, bool] = field(default_factory=dict)


def entries(articles: Iterable[Article], settings: Settings) -> list[Entry]:
    """Return articles with their fingerprints."""
    return [
        Entry(
            a.source_id,
            a.published_at,
            a.added_at,
            fingerprint(settings, a.text, a.language, a.title, a.scope),
        )
        for a in articles
        if a.added_at is not None
    ]


def row(entry: Entry) -> tuple[Any, ...]:
    """Return an entry as a row of the table of fingerprints."""
    times = microseconds(entry.published_at), microseconds(entry.added_at)
    if isinstance(entry.made, str):
        return (entry.source_id, *times, b"", 0, 0, [], b"", [], 0, 0, entry.made)
    made = entry.made
    return (
        *(entry.source_id, *times, b"", made.version, made.content_hash, list(made.sentence_hashes)),
        *(made.signature.tobytes(), list(made.buckets), made.word_count, made.shingle_count, None),
    )


def frame(spark: Any, found: Sequence[Entry]) -> Any:
    """Return entries as a DataFrame."""
    from dedup.extras.spark.schema import FINGERPRINT

    return spark.createDataFrame([row(entry) for entry in found], FINGERPRINT)


def settle(spark: Any, work: Path, corpus: Abstract, settings: Settings | None = None, **options: Any) -> Any:
    """Return the engine's result for a corpus."""
    from dedup.extras.spark.engine import settle as run
    from dedup.extras.spark.fingerprinting import Taken
    from dedup.extras.spark.options import CorpusState, Options, Pins
    from dedup.extras.spark.schema import REFUSED
    from dedup.extras.spark.steps import SparkSteps

    given = Options(**options)
    steps = SparkSteps(spark, str(work), given.digest())
    taken = Taken(steps, frame(spark, corpus.entries), spark.createDataFrame([], REFUSED), {})
    return run(taken, CorpusState(settings or Settings(), Pins(corpus.pairs, corpus.sentences)), given)


@dataclass(frozen=True)
class Outcome:
    """A result in the form in which tests compare engines.

    Attributes:
        best_match: `source_id` of an article -> `source_id` of the later article that is its best match.
    """

    answer: Answer
    best_match: dict[str, str]


def answer(result: Any) -> Outcome:
    """Return the marks, pairs, common sentences and best matches of a result."""
    found = Answer()
    for mark in result.marks.collect():
        assert mark.source_id not in found.marks
        found.marks[mark.source_id] = (mark.status, mark.duplicate_of, mark.score, mark.reason)
    best_match: dict[str, str] = {}
    for match in result.matches.collect():
        pair = (match.source_id, match.other_source_id)
        assert pair not in found.pairs
        found.pairs[pair] = tuple(match)[2:8]
        if match.best_match:
            assert match.relation == "similar"
            assert best_match.setdefault(match.other_source_id, match.source_id) == match.source_id
    found.common = {r.sentence_hash: r.effective_stories for r in result.common_sentences.collect()}
    return Outcome(found, best_match)


def best_match_of(found: Answer, entries: Sequence[Entry], settings: Settings) -> dict[str, str]:
    """Return article -> best match among the pairs, for articles whose best match is a later article."""
    order = {e.source_id: order_key(settings, e.published_at, e.added_at, e.source_id) for e in entries}
    best: dict[str, tuple[Any, ...]] = {}
    for (later, earlier), (relation, rule, score, *_) in found.pairs.items():
        if relation == "similar":
            for one, other in ((later, earlier), (earlier, later)):
                rank = (-score, rule, order[other], other)
                best[one] = min(best.get(one, rank), rank)
    return {one: rank[-1] for one, rank in best.items() if rank[2] > order[one]}


def expected(corpus: Abstract, settings: Settings | None = None) -> Answer:
    """Return the oracle's answer for a corpus."""
    settings = settings or Settings()
    found = Answer()
    subjects: list[oracle.Subject] = []
    for number, e in enumerate(corpus.entries):
        if isinstance(e.made, str):
            found.marks[e.source_id] = ("failed", None, None, e.made)
            continue
        order = order_key(settings, e.published_at, e.added_at, e.source_id)
        subjects.append(
            oracle.Subject(number, order, e.made, published_second(settings, order[0], e.published_at))
        )
    names = {s.id: corpus.entries[s.id].source_id for s in subjects}
    ids = {name: id for id, name in names.items()}
    said = {
        frozenset((ids[a], ids[b])): relation
        for (a, b), relation in corpus.pairs.items()
        if a in ids and b in ids
    }
    found.common = oracle.common_sentences([s.fingerprint for s in subjects], settings, corpus.sentences)
    marks, pairs = oracle.marks(subjects, found.common, settings, said)
    for id, mark in marks.items():
        original = None if mark.duplicate_of is None else names[mark.duplicate_of]
        found.marks[names[id]] = (mark.status.value, original, mark.score, mark.reason)
    for p in pairs:
        scores = (p.score, p.sentence_jaccard, p.signature_jaccard, p.containment)
        found.pairs[names[p.article_id], names[p.other_id]] = (p.relation, p.rule, *scores)
    return found


START = datetime(2024, 3, 1, tzinfo=UTC)


class FingerprintMaker:
    """A maker of invented fingerprints; two makers in a run never have common keys.

    A text is a list of numbered sentences. Each sentence decides a few bytes of the signature, and buckets
    are hashes of runs of these bytes. So texts that share sentences also have similar signatures, and share
    buckets.
    """

    def __init__(self, seed: int, settings: Settings) -> None:
        self.rng = random.Random(seed)
        self._settings = settings
        self._base = (seed + 1) << 32

    def fingerprint(self, sentences: Sequence[int], noise: float = 0.0) -> Fingerprint:
        """Return the fingerprint of numbered sentences; `noise`: share of signature bytes that are random."""
        settings, rng = self._settings, self.rng
        size, rows = settings.signature_size, settings.rows
        values = np.empty(size, np.int64)
        for i in range(size):
            chosen = min(sentences, key=lambda s: hash((s, i, self._base)) & 0xFFFFFF)
            values[i] = hash((chosen, i // rows)) & 0xFF
            if rng.random() < noise:
                values[i] = rng.randrange(256)
        buckets = tuple(
            hash((band, self._base, *values[band * rows : (band + 1) * rows].tolist()))
            for band in range(settings.bands)
        )
        content = hash((self._base, tuple(sentences), values.tobytes()))
        hashes = tuple(self._base + s for s in dict.fromkeys(sentences))
        words = 12 * len(sentences)
        return Fingerprint(1, content, hashes, values.astype(np.uint8), buckets, words, 5 * len(sentences))

    def short(self, content: int) -> Fingerprint:
        """Return the fingerprint of a short text."""
        return Fingerprint(1, self._base + content, (), EMPTY, (), 5, 0)

    def unlike(self, made: Fingerprint, content: int) -> Fingerprint:
        """Return a fingerprint like `made`, but without shingles: all its buckets are the content hash."""
        hash_ = self._base + 10 + content  # short and long texts never have equal content
        buckets = (hash_,) * self._settings.bands
        return replace(made, content_hash=hash_, signature=EMPTY, buckets=buckets, shingle_count=0)

    def corpus(self, size: int, prefix: str) -> Abstract:
        """Return a random corpus: copies, edits, chains, excerpts, short texts, boilerplate, equal times,
        pins and failures."""
        rng = self.rng
        ring = rng.choice((8, 14, 20))
        length = rng.choice((4, 6, 6))
        texts: list[list[int]] = []
        made: list[Fingerprint | str] = []
        for _ in range(size):
            kind = rng.random()
            if made and kind < 0.25:
                copy = rng.randrange(len(made))
                texts.append(texts[copy])
                made.append(made[copy])
                continue
            if made and kind < 0.5:
                sentences = [s if rng.random() < 0.85 else s + 100 for s in rng.choice(texts)]
                sentences = sentences[rng.randrange(2) :] or sentences
            else:
                start = rng.randrange(ring)
                sentences = [(start + i) % ring for i in range(rng.choice((length, length, 3, 12)))]
            if rng.random() < 0.4:
                sentences = [*sentences, 500 + rng.randrange(2)]
            texts.append(sentences)
            if kind > 0.95:
                made.append(self.short(rng.randrange(2)))
            elif kind > 0.93:
                made.append("empty: the text has no words")
            elif kind > 0.9:
                made.append(self.unlike(self.fingerprint(sentences), rng.randrange(2)))
            else:
                made.append(self.fingerprint(sentences, rng.choice((0.0, 0.0, 0.1, 0.4))))
        found = [
            Entry(
                f"{prefix}{'éaZ1'[i % 4]}{i}",
                None if rng.random() < 0.1 else START + timedelta(minutes=rng.randrange(12)),
                START + timedelta(minutes=100 + rng.randrange(5)),
                fingerprint,
            )
            for i, fingerprint in enumerate(made)
        ]
        names = [e.source_id for e in found]
        pairs: dict[tuple[str, str], Relation] = {}
        for _ in range(rng.choice((0, 1, 3)) if size > 2 else 0):
            one, other = sorted(rng.sample(names, 2))
            pairs[one, other] = rng.choice(list(Relation))
        pinned = {self._base + rng.randrange(ring): rng.random() < 0.5 for _ in range(rng.choice((0, 0, 1)))}
        return Abstract(found, pairs, pinned)


def story(
    size: int, settings: Settings, seed: int = 0, edits: Sequence[float] = (0.02, 0.05, 0.1)
) -> Abstract:
    """Return a report in many edited copies, each with some sentences lost or changed.

    Args:
        edits: shares of the signature that differ; each copy gets one of them. With large shares many copies
            are originals themselves.
    """
    rng = np.random.default_rng(seed)
    bands, rows, count = settings.bands, settings.rows, settings.signature_size
    first = rng.integers(0, 256, count)
    found: list[Entry] = []
    for i in range(size):
        values = first.copy()
        edited = rng.random(count) < rng.choice(edits)
        values[edited] = rng.integers(0, 256, int(edited.sum()))
        buckets = tuple(hash((seed, b, *values[b * rows : (b + 1) * rows].tolist())) for b in range(bands))
        kept = np.flatnonzero(rng.random(20) < 0.9)
        changed = rng.random(len(kept)) < 0.1
        codes = (seed << 40) + np.where(changed, 1_000 + 20 * i + kept, kept)
        sentences = tuple(codes.tolist())
        made = Fingerprint(1, i, sentences, values.astype(np.uint8), buckets, 240, 100)
        published = START + timedelta(seconds=10 * int(rng.integers(0, size)))
        found.append(Entry(f"copy {i}", published, START + timedelta(days=99), made))
    return Abstract(found)


def joined(corpora: Iterable[Abstract]) -> Abstract:
    """Join corpora without common keys into one corpus."""
    found = Abstract([])
    for corpus in corpora:
        found.entries += corpus.entries
        found.pairs |= corpus.pairs
        found.sentences |= corpus.sentences
    return found


def joined_answers(answers: Iterable[Answer]) -> Answer:
    """Join the oracle's answers for corpora without common keys into one answer."""
    found = Answer()
    for one in answers:
        found.marks |= one.marks
        found.pairs |= one.pairs
        found.common |= one.common
    return found


def said(pairs: Iterable[tuple[str, str, Relation]]) -> Mapping[tuple[str, str], Relation]:
    """Return pins of pairs in the form that the engine takes."""
    return {(one, other): relation for one, other, relation in pairs}
