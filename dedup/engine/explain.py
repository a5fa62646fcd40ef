"""Why two articles are related, or not: their sentences side by side and every score.

Reads only. Read next: `verify.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dedup.corpus import settling
from dedup.corpus.arrays import hashes
from dedup.corpus.database import Cursor
from dedup.corpus.rulebooks import Rulebook
from dedup.errors import NotFoundError
from dedup.rules.marks import order_key
from dedup.rules.pair import Judgement, Profile, Rule, Scores, judge, score
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, UnreadableError


@dataclass(frozen=True, slots=True)
class Side:
    """One of two articles.

    Attributes:
        own: its sentences that count and that the other does not have.
        ignored: its sentences that are common or too short to count, with which of both.
        time: its time in canonical order.
    """

    id: str
    title: str | None
    publication: str | None
    status: str
    time: datetime
    own: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    words: int
    shingles: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Two articles compared.

    Attributes:
        earlier, later: the two in canonical order.
        shared: the sentences that count and that both have, as the earlier prints them.
        judgement: None where they are not related, or where one cannot be read.
        decision: the rule that decided, in words.
    """

    earlier: Side
    later: Side
    shared: tuple[str, ...]
    scores: Scores | None
    judgement: Judgement | None
    decision: str


def explain(cursor: Cursor, rulebook: Rulebook, a: str, b: str) -> Explanation:
    """Compare two stored articles by their source_ids, by the letter of the rules.

    Raises:
        NotFoundError: one of them is not stored.
    """
    first, second = sorted((_load(cursor, rulebook, name) for name in (a, b)), key=lambda s: s.order)
    everything = hashes(first.counted | second.counted)
    common = set(settling.common_among(cursor, everything).tolist())
    both = (first.counted & second.counted) - common
    scores = judgement = None
    if first.fingerprint and second.fingerprint:
        profiles = Profile.of(first.fingerprint, common), Profile.of(second.fingerprint, common)
        scores = score(*profiles)
        judgement = judge(*profiles, rulebook.settings)
    seen: set[int] = set()
    shared = []
    for sentence, key in first.sentences:
        if key in both and key not in seen:
            seen.add(key)
            shared.append(sentence)
    return Explanation(
        first.side(both, common),
        second.side(both, common),
        tuple(shared),
        scores,
        judgement,
        _decision(first, second, scores, judgement, rulebook.settings),
    )


@dataclass(frozen=True, slots=True)
class _Loaded:
    id: str
    title: str | None
    publication: str | None
    status: str
    order: tuple[datetime, bytes]
    sentences: list[tuple[str, int | None]]
    fingerprint: Fingerprint | None
    unreadable: str | None

    @property
    def counted(self) -> set[int]:
        return {key for _, key in self.sentences if key is not None}

    def side(self, both: set[int], common: set[int]) -> Side:
        own = [s for s, key in self.sentences if key is not None and key not in both | common]
        ignored = [
            (sentence, "common" if key in common else "too short")
            for sentence, key in self.sentences
            if key is None or key in common
        ]
        return Side(
            self.id,
            self.title,
            self.publication,
            self.status,
            self.order[0],
            tuple(dict.fromkeys(own)),
            tuple(dict.fromkeys(ignored)),
            self.fingerprint.word_count if self.fingerprint else 0,
            self.fingerprint.shingle_count if self.fingerprint else 0,
        )


def _load(cursor: Cursor, rulebook: Rulebook, source_id: str) -> _Loaded:
    row = cursor.execute(
        "SELECT title, publication, status, published_at, added_at, language, text"
        " FROM dedup.article WHERE source_id = %s",
        [source_id],
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no article with source_id {source_id!r}")
    title, publication, status, published_at, added_at, language, text = row
    order = order_key(rulebook.settings.canonical_order, published_at, added_at, source_id)
    try:
        made = rulebook.fingerprinter.fingerprint(text, language)
    except UnreadableError as error:
        return _Loaded(source_id, title, publication, status, order, [], None, str(error))
    sentences = rulebook.fingerprinter.sentences(text, language)
    return _Loaded(source_id, title, publication, status, order, sentences, made, None)


def _decision(
    a: _Loaded, b: _Loaded, scores: Scores | None, judgement: Judgement | None, settings: Settings
) -> str:
    for article in (a, b):
        if article.unreadable:
            return f"not compared: {article.id} could not be read ({article.unreadable})"
    assert scores is not None
    if judgement is None:
        return _why_not(scores, settings)
    if judgement.rule is Rule.CONTENT:
        return "duplicate: the same words in the same order"
    by_sentences = judgement.rule is Rule.SENTENCES
    value = scores.sentence_jaccard if by_sentences else scores.signature_jaccard
    channel = "sentence" if by_sentences else "signature"
    threshold = getattr(settings, f"{judgement.relation.value}_{channel}_jaccard")
    return f"{judgement.relation.value}: {channel} Jaccard {value:.3f} is at least {threshold:g}"


def _why_not(scores: Scores, settings: Settings) -> str:
    return (
        f"not related: sentence Jaccard {scores.sentence_jaccard:.3f} is below"
        f" {settings.similar_sentence_jaccard:g} and signature Jaccard {scores.signature_jaccard:.3f}"
        f" is below {settings.similar_signature_jaccard:g}"
    )
