"""Why two articles are related, or not: the verdict, every score, and their sentences with what differs.

Reads only. It decides nothing itself (that is `rules/pair.py`) and prints nothing (`cli/explanation.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
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
from dedup.text.differences import Segment, differences, twins
from dedup.text.fingerprint import Fingerprint, UnreadableError


@dataclass(frozen=True, slots=True)
class ExplainedArticle:
    """One of two articles.

    Attributes:
        ignored: its sentences that are common or too short to count, with which of both.
        time: its time in canonical order.
    """

    id: str
    title: str | None
    publication: str | None
    status: str
    time: datetime
    ignored: tuple[tuple[str, str], ...]
    words: int
    shingles: int


@dataclass(frozen=True, slots=True)
class DifferingSentence:
    """A sentence that only one of two articles has, beside its near twin in the other, if there is one.

    Attributes:
        earlier, later: the sentence in pieces, each of which the twin has or has not; None where the article
            has no such sentence.
    """

    earlier: tuple[Segment, ...] | None
    later: tuple[Segment, ...] | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Two articles compared.

    Attributes:
        decision: the verdict in a line: the relation, the rule that decided, and its figures.
        earlier, later: the two in canonical order.
        shared: the sentences that count and that both have, as the earlier prints them.
        differing: the sentences that count and that only one of them has.
        judgement: None where they are not related, or where one cannot be read.
    """

    decision: str
    earlier: ExplainedArticle
    later: ExplainedArticle
    shared: tuple[str, ...]
    differing: tuple[DifferingSentence, ...]
    scores: Scores | None
    judgement: Judgement | None


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
    return Explanation(
        decision=_decision(first, second, scores, judgement, rulebook.settings),
        earlier=first.article(common),
        later=second.article(common),
        shared=tuple(sentence for sentence, key in first.distinct() if key in both),
        differing=tuple(_differing(first.alone(both | common), second.alone(both | common))),
        scores=scores,
        judgement=judgement,
    )


def _differing(earlier: list[str], later: list[str]) -> Iterator[DifferingSentence]:
    """The sentences that each has alone, near twins together."""
    for i, j in twins(earlier, later):
        one, other = (None if i is None else earlier[i]), (None if j is None else later[j])
        if one is not None and other is not None:
            yield DifferingSentence(*map(tuple, differences(one, other)))
        else:
            yield DifferingSentence(_whole(one), _whole(other))


def _whole(sentence: str | None) -> tuple[Segment, ...] | None:
    return None if sentence is None else (Segment(sentence, False),)


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

    def alone(self, others: set[int]) -> list[str]:
        """Its sentences that count, without those of some hashes."""
        return [s for s, key in self.distinct() if key not in others]

    def distinct(self) -> Iterator[tuple[str, int]]:
        """Each sentence that counts, once."""
        seen: set[int] = set()
        for sentence, key in self.sentences:
            if key is not None and key not in seen:
                seen.add(key)
                yield sentence, key

    def article(self, common: set[int]) -> ExplainedArticle:
        ignored = [
            (sentence, "common" if key in common else "too short")
            for sentence, key in self.sentences
            if key is None or key in common
        ]
        return ExplainedArticle(
            self.id,
            self.title,
            self.publication,
            self.status,
            self.order[0],
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
        return "duplicate by content: the same words in the same order"
    by_sentences = judgement.rule is Rule.SENTENCES
    value = scores.sentence_jaccard if by_sentences else scores.signature_jaccard
    channel = "sentence" if by_sentences else "signature"
    threshold = getattr(settings, f"{judgement.relation.value}_{channel}_jaccard")
    figures = f"{channel} Jaccard {value:.3f} is at least {threshold:g}"
    return f"{judgement.relation.value} by {judgement.rule.value}: {figures}"


def _why_not(scores: Scores, settings: Settings) -> str:
    return (
        f"not related: sentence Jaccard {scores.sentence_jaccard:.3f} is below"
        f" {settings.similar_sentence_jaccard:g} and signature Jaccard {scores.signature_jaccard:.3f}"
        f" is below {settings.similar_signature_jaccard:g}"
    )
