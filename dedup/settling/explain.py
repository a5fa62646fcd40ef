"""Why two articles are related, or not: the verdict, every score, and their sentences with what differs.

Reads only. It decides nothing itself (that is `rules/pair.py`) and prints nothing (`cli/side_by_side.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from dedup.base.answer import Answer
from dedup.base.errors import NotFoundError
from dedup.base.settings import Settings
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.rules.marks import order_key
from dedup.rules.pair import Profile, Related, Relation, Rule, Scores, relate_scored, score
from dedup.settling.why_not import Marked, misread, print_pair, why_not
from dedup.store import articles, pins, settling
from dedup.store.rulebooks import Rulebook
from dedup.text.alignment import Kind, Segment, align_letters, reflowed, twins
from dedup.text.damaged import LEAST_JACCARD
from dedup.text.differences import differences
from dedup.text.fingerprint import Fingerprint, UnreadableError

_sql = Statements("store/articles")


@dataclass(frozen=True, slots=True)
class ExplainedArticle(Answer):
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
    ignored: tuple[tuple[str, str], ...] = field(repr=False)  # no log is to hold sentences
    words: int
    shingles: int


@dataclass(frozen=True, slots=True)
class DifferingSentence(Answer):
    """A sentence that only one of two articles has, beside its near twin in the other, if there is one.

    Attributes:
        earlier, later: the sentence in pieces, each with its kind beside the twin; None where the article has
            no such sentence.
    """

    earlier: tuple[Segment, ...] | None = field(repr=False)
    later: tuple[Segment, ...] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Explanation(Answer):
    """Two articles compared.

    Attributes:
        decision: the verdict in a line: the relation, the rule that decided, and its figures.
        earlier, later: the two in canonical order.
        shared: the sentences that count and that both have, as the earlier prints them.
        differing: the sentences that count and that only one of them has. Of one text with misread letters
            the passages that differ, letter by letter: sentences of the earlier beside what the later has.
        letters: of such a pair, what the rule `damaged` finds in its letters, each in a sentence.
        related: None where they are not related, or where one cannot be read.
        why_not: where scores are high enough and the later one is still no duplicate of the earlier one: why,
            each reason in a sentence.
    """

    decision: str
    earlier: ExplainedArticle
    later: ExplainedArticle
    shared: tuple[str, ...] = field(repr=False)
    differing: tuple[DifferingSentence, ...] = field(repr=False)
    letters: tuple[str, ...]
    scores: Scores | None
    related: Related | None
    why_not: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.earlier.id}, {self.later.id}: {self.decision}"


def explain(cursor: Cursor, rulebook: Rulebook, a: str, b: str) -> Explanation:
    """Compare two articles by the letter of the rules. Raises NotFoundError: one of them is not stored."""
    first, second = sorted((_load(cursor, rulebook, name) for name in (a, b)), key=lambda s: s.order)
    settings = rulebook.settings
    everything = bigints(first.counted | second.counted)
    common = set(settling.common_among(cursor, everything).tolist())
    both = (first.counted & second.counted) - common
    scores = related = None
    reasons: tuple[str, ...] = ()
    differing = _differing(first.alone(both | common), second.alone(both | common))
    by_letters: tuple[str, ...] = ()
    pin = pins.relation_of(cursor, a, b)
    if first.fingerprint and second.fingerprint:
        profiles = Profile.of(first.fingerprint, common), Profile.of(second.fingerprint, common)
        scores = score(*profiles, settings)
        related = relate_scored(scores, settings, pin)
        reasons = tuple(why_not(first.mark, second.mark, profiles, scores, settings, pin))
        if by_letters := tuple(misread(profiles, scores, settings)):
            differing = _by_letters(first.text, second.text)
    return Explanation(
        decision=_decision(first, second, scores, related, pin, settings),
        earlier=first.article(common),
        later=second.article(common),
        shared=tuple(sentence for sentence, key in first.distinct() if key in both),
        differing=tuple(differing),
        letters=by_letters,
        scores=scores,
        related=related,
        why_not=reasons,
    )


def _differing(earlier: list[str], later: list[str]) -> Iterator[DifferingSentence]:
    """The sentences that each has alone, near twins together."""
    for i, j in twins(earlier, later):
        one, other = (None if i is None else earlier[i]), (None if j is None else later[j])
        if one is not None and other is not None:
            yield DifferingSentence(*differences(one, other))
        else:
            yield DifferingSentence(_whole(one, Kind.REMOVED), _whole(other, Kind.ADDED))


def _by_letters(earlier: str, later: str) -> Iterator[DifferingSentence]:
    """The passages of two texts that differ in some letter."""
    for row in align_letters(reflowed(earlier), reflowed(later)):
        if not row.same:
            yield DifferingSentence(*(side.segments if side else None for side in (row.a, row.b)))


def _whole(sentence: str | None, kind: Kind) -> tuple[Segment, ...] | None:
    return None if sentence is None else (Segment(sentence, kind),)


@dataclass(frozen=True, slots=True)
class _Loaded:
    id: str
    title: str | None
    publication: str | None
    mark: Marked
    order: tuple[datetime, bytes]
    text: str = field(repr=False)
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
            self.mark.status,
            self.order[0],
            tuple(dict.fromkeys(ignored)),
            self.fingerprint.word_count if self.fingerprint else 0,
            self.fingerprint.shingle_count if self.fingerprint else 0,
        )


def _load(cursor: Cursor, rulebook: Rulebook, source_id: str) -> _Loaded:
    query = _sql("explained", text=articles.body("a"), html=articles.html("a"))
    row = cursor.execute(query, {"source_id": source_id}).fetchone()
    if row is None:
        raise NotFoundError.of(source_id)
    title, publication, published_at, added_at, language, body, html, *mark = row
    text = articles.readable(body, html)
    marked = Marked(source_id, *mark)
    order = order_key(rulebook.settings, published_at, added_at, source_id)
    try:
        made = rulebook.fingerprinter.fingerprint(text, language, title)
    except UnreadableError as error:
        return _Loaded(source_id, title, publication, marked, order, text, [], None, str(error))
    sentences = rulebook.fingerprinter.sentences(text, language)
    return _Loaded(source_id, title, publication, marked, order, text, sentences, made, None)


def _decision(
    a: _Loaded,
    b: _Loaded,
    scores: Scores | None,
    related: Related | None,
    pin: Relation | None,
    settings: Settings,
) -> str:
    for article in (a, b):
        if article.mark.archived:
            return f"not compared: {article.id} is archived, before the horizon (`dedup status`)"
        if article.unreadable:
            return f"not compared: {article.id} could not be read ({article.unreadable})"
    assert scores is not None
    if pin is not None:
        return f"{pin.value}: a person has said so (`dedup pin list` shows who)"
    if related is None:
        return _why_not(a, b, scores, settings)
    return f"{related.relation.value} by {related.rule.value}: {_figures(related, settings)}"


def _figures(related: Related, settings: Settings) -> str:
    scores, relation = related.scores, related.relation.value
    if related.rule is Rule.CONTENT:
        return "the same words in the same order"
    if related.rule is Rule.DAMAGED:
        value = scores.print_jaccard
        return f"one text, of which letters were misread: print Jaccard {value:.3f}, in a shared bucket"
    if related.rule is Rule.CONTAINMENT:
        threshold = settings.similar_containment
        return f"{scores.containment:.3f} of the shorter one is in the longer one, at least {threshold:g}"
    if related.rule is Rule.SENTENCES:
        value, threshold = scores.sentence_jaccard, getattr(settings, f"{relation}_sentence_jaccard")
        return f"sentence Jaccard {value:.3f} is at least {threshold:g}"
    value, threshold = scores.signature_jaccard, getattr(settings, f"{relation}_signature_jaccard")
    return f"signature Jaccard {value:.3f} is at least {threshold:g}, in a shared bucket"


def _why_not(a: _Loaded, b: _Loaded, scores: Scores, settings: Settings) -> str:
    short = [article.id for article in (a, b) if article.fingerprint and not article.fingerprint.buckets]
    if short:
        return (
            f"not related: {' and '.join(short)} has fewer than {settings.text_min_words} words, so that only"
            " equal title and text would count"
        )
    without = "" if scores.same_bucket else " in no shared bucket"
    signature = scores.signature_jaccard
    figure = f"signature Jaccard {signature:.3f}"
    below = (
        without
        if without and signature >= settings.similar_signature_jaccard
        else (f" is below {settings.similar_signature_jaccard:g}")
    )
    said = (
        f"not related: sentence Jaccard {scores.sentence_jaccard:.3f} is below"
        f" {settings.similar_sentence_jaccard:g}, {figure}{below},"
        f" containment {scores.containment:.3f} is below {settings.similar_containment:g}"
    )
    prints = a.fingerprint and b.fingerprint and print_pair(a.fingerprint, b.fingerprint, settings)
    if prints and prints.jaccard[0] < LEAST_JACCARD:
        said += f", print Jaccard {prints.jaccard[0]:.3f} is below {LEAST_JACCARD:g}"
    return said
