"""Explain why two articles are related, or not: the verdict, every score, and the sentences that differ.

`rules/pair.py` and `rules/marks.py` decide, and `cli/side_by_side.py` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from dedup.base.errors import NotFoundError
from dedup.base.settings import Settings
from dedup.base.words import counted
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.rules.marks import OrderKey, order_key, published_second
from dedup.rules.pair import (
    DAY,
    Profile,
    Related,
    Relation,
    Rule,
    least_signature,
    relate_scored,
    score,
)
from dedup.settling.explanation import DifferingSentence, ExplainedArticle, Explanation
from dedup.settling.versions import Sentences, compare, find_alterations, index_sentences
from dedup.store import articles, pins, settling
from dedup.store.rulebooks import Rulebook
from dedup.text.alignment import align_letters, reflowed
from dedup.text.damaged import CORE_LETTERS, LEAST_IN_PLACE, PrintPairs
from dedup.text.fingerprint import Fingerprint, UnreadableError

_sql = Statements("store/articles")

# Minimum print Jaccard (likeness of letters, `text/damaged.py`) to show which letters of two texts differ. Of
# 10,000 random pairs of news, one pair reaches this value, and that pair fails the other conditions.
LEAST_ALIGNED = 0.1


def explain(cursor: Cursor, rulebook: Rulebook, a: str, b: str) -> Explanation:
    """Compare two articles by the rules. Raises NotFoundError: one of the articles is not stored."""
    first, second = sorted((_load(cursor, rulebook, name) for name in (a, b)), key=lambda s: s.order)
    pin = pins.relation_of(cursor, a, b)
    together = pin is not None or first.scope == second.scope
    everything = bigints(first.counted.keys() | second.counted.keys())
    common = set(settling.find_common(cursor, everything).tolist())
    earlier, later = (
        {key: sentence for key, sentence in one.counted.items() if key not in common}
        if together  # texts of two scopes have different hashes for equal sentences
        else {}
        for one in (first, second)
    )
    differing = [DifferingSentence(*compare(*pair)) for pair in find_alterations(earlier, later)]
    compared = None
    letters: list[str] = []
    if first.fingerprint and second.fingerprint and together:
        profiles = (
            Profile.of(first.fingerprint, common, first.published),
            Profile.of(second.fingerprint, common, second.published),
        )
        compared = ComparedPair(first.mark, second.mark, profiles, rulebook.settings, pin)
        if letters := compared.find_misread():
            # Nearly every sentence has a misread letter, so single letters are compared, not sentences.
            rows = align_letters(reflowed(first.text), reflowed(second.text))
            sides = [(row.a, row.b) for row in rows if not row.same]
            differing = [
                DifferingSentence(*(side.segments if side else None for side in pair)) for pair in sides
            ]
    return Explanation(
        decision=_explain_missing(first, second, together=together)
        or (compared.describe_decision() if compared else ""),
        earlier=first.summarize(common),
        later=second.summarize(common),
        shared=tuple(sentence for key, sentence in earlier.items() if key in later),
        differing=tuple(differing),
        letters=tuple(letters),
        scores=compared.scores if compared else None,
        related=compared.related if compared else None,
        why_not=tuple(compared.explain_why_not()) if compared else (),
    )


@dataclass(frozen=True, slots=True)
class MarkState:
    """The present mark of an article. `original`: source_id of the original, for duplicates only."""

    id: str
    status: str
    stale: bool
    archived: bool
    original: str | None
    correction: str | None = None


@dataclass(frozen=True, slots=True)
class _Article:
    title: str | None
    publication: str | None
    mark: MarkState
    order: OrderKey
    published: int
    scope: str | None
    text: str = field(repr=False)
    sentences: list[tuple[str, int | None]]
    fingerprint: Fingerprint | None
    unreadable: str | None

    @property
    def counted(self) -> Sentences:
        return index_sentences(self.sentences)

    def summarize(self, common: set[int]) -> ExplainedArticle:
        ignored = [
            (sentence, "common" if key in common else "too short")
            for sentence, key in self.sentences
            if key is None or key in common
        ]
        return ExplainedArticle(
            self.mark.id,
            self.title,
            self.publication,
            self.mark.status,
            self.order[0],
            tuple(dict.fromkeys(ignored)),
            self.fingerprint.word_count if self.fingerprint else 0,
            self.fingerprint.shingle_count if self.fingerprint else 0,
            self.mark.correction,
        )


def _load(cursor: Cursor, rulebook: Rulebook, source_id: str) -> _Article:
    query = _sql("explained", text=articles.body_sql("a"), html=articles.html_sql("a"))
    row = cursor.execute(query, {"source_id": source_id}).fetchone()
    if row is None:
        raise NotFoundError.of(source_id)
    title, publication, published_at, added_at, language, scope, body, html, *mark = row
    text = articles.extract_text(body, html)
    order = order_key(rulebook.settings, published_at, added_at, source_id)
    made = unreadable = None
    try:
        made = rulebook.fingerprinter.fingerprint(text, language, title, scope)
    except UnreadableError as error:
        unreadable = str(error)
    sentences = rulebook.fingerprinter.sentences(text, language, scope) if made else []
    state = MarkState(source_id, *mark)
    published = published_second(rulebook.settings, order[0], published_at)
    return _Article(title, publication, state, order, published, scope, text, sentences, made, unreadable)


def _explain_missing(*both: _Article, together: bool) -> str | None:
    for article in both:
        if article.mark.archived:
            return f"not compared: {article.mark.id} is archived, before the horizon (`dedup status`)"
        if article.unreadable:
            return f"not compared: {article.mark.id} could not be read ({article.unreadable})"
    return None if together else "not compared: they have different scopes"


class ComparedPair:
    """Comparison of the earlier article `a` with the later article `b`, and the result in words. `prints`:
    comparison of their prints (signatures of letters, `text/damaged.py`); None if an article has no print."""

    def __init__(
        self,
        a: MarkState,
        b: MarkState,
        profiles: tuple[Profile, Profile],
        settings: Settings,
        pin: Relation | None = None,
    ) -> None:
        self._a, self._b, self._profiles, self._settings, self._pin = a, b, profiles, settings, pin
        self.scores = score(*profiles, settings)
        self._sentences = max(1, min(len(profile.sentences) for profile in profiles))
        self.related = relate_scored(self.scores, settings, pin)
        self.prints: PrintPairs | None = None
        one, other = (made.signature[None, settings.signature_size :] for made in profiles)
        if settings.prints and one.size and other.size:
            found = PrintPairs.of(one, other)
            self.prints = found if found.fewer[0] else None

    def describe_decision(self) -> str:
        if self._pin is not None:
            return f"{self._pin.value}: a person has said so (`dedup pin list` shows who)"
        if self.related is None:
            return f"not related: {self._explain_unrelated()}"
        return f"{self.related.relation.value} by {self.related.rule.value}: {self._describe(self.related)}"

    def _describe(self, related: Related) -> str:
        scores, settings, relation = self.scores, self._settings, related.relation.value
        if related.rule is Rule.CONTENT:
            return "the same words in the same order"
        if related.rule is Rule.DAMAGED:
            value = scores.print_jaccard
            return f"misread copy: print Jaccard (of letter sequences) {value:.3f}, in a shared bucket"
        if related.rule is Rule.CONTAINMENT:
            threshold = settings.similar_containment
            # Shared sentences are counted; a share of shingles is estimated from the signatures.
            about = "" if scores.containment == scores.shared / self._sentences else "about "
            share = f"{about}{scores.containment:.3f}"
            return f"{share} of the shorter text is in the longer (at least {threshold:g})"
        if related.rule is Rule.SENTENCES:
            value, threshold = scores.sentence_jaccard, getattr(settings, f"{relation}_sentence_jaccard")
            return f"sentence Jaccard {value:.3f} is at least {threshold:g}"
        similar = related.relation is Relation.SIMILAR
        least = least_signature(scores, settings) if similar else settings.duplicate_signature_jaccard
        return f"signature Jaccard {scores.signature_jaccard:.3f} is at least {least:g}, in a shared bucket"

    def _explain_unrelated(self) -> str:
        scores, settings = self.scores, self._settings
        both = zip((self._a, self._b), self._profiles, strict=True)
        if short := [article.id for article, profile in both if not profile.buckets]:
            return (
                f"{' and '.join(short)} has fewer than {settings.text_min_words} words, so they are"
                " related only if title and text are equal"
            )
        least = least_signature(scores, settings)
        why = f"is below {least:g}" + ("" if scores.shared else ", without a shared sentence")
        if scores.signature_jaccard >= least:
            why = "does not count" if scores.same_bucket else "in no shared bucket"
        low = f"is below {settings.similar_sentence_jaccard:g}"
        if scores.sentence_jaccard >= settings.similar_sentence_jaccard:
            low = f"rests on {counted(scores.shared, 'sentence')}, fewer than {settings.evidence_sentences}"
        said = (
            f"sentence Jaccard {scores.sentence_jaccard:.3f} {low},"
            f" signature Jaccard {scores.signature_jaccard:.3f} {why},"
            f" containment {scores.containment:.3f} is below {settings.similar_containment:g}"
        )
        if self.prints and (value := self.prints.jaccard[0]) < (least := self.prints.least_jaccard[0]):
            said += f", print Jaccard {value:.3f} is below {least:g}"
        return said

    def explain_why_not(self) -> Iterator[str]:
        """Yield reasons why the later article is not a duplicate of the earlier article, one sentence each.
        Yield nothing if it is a duplicate, or if no score is high enough for a duplicate."""
        scores, settings, pin = self.scores, self._settings, self._pin
        by_rules = relate_scored(scores, settings)
        duplicate = by_rules is not None and by_rules.relation is Relation.DUPLICATE
        if (
            duplicate
            or scores.sentence_jaccard >= settings.duplicate_sentence_jaccard
            or scores.signature_jaccard >= settings.duplicate_signature_jaccard
        ):
            if outside := [article.id for article in (self._a, self._b) if article.archived]:
                yield f"{_are(outside)} before the horizon, so no longer compared with other articles"
                return
            if pin is not None and pin is not Relation.DUPLICATE:
                said = "unrelated" if pin is Relation.UNRELATED else f"only {pin.value}"
                yield f"a person has pinned the two as {said}, which overrides every score"
                return
        if pin is Relation.DUPLICATE or (pin is None and duplicate):
            yield from _explain_marks(self._a, self._b)
        elif pin is None:
            yield from self._explain_evidence()
            yield from self._explain_letters()
            if by_rules is None:
                yield from self._explain_containment()

    def _explain_evidence(self) -> Iterator[str]:
        scores, settings = self.scores, self._settings
        near = relate_scored(replace(scores, apart=0), settings)
        if near and near.relation is Relation.DUPLICATE:
            yield (
                f"they were published {scores.apart / DAY:.1f} days apart: after more than"
                f" {settings.reprint_days} days a duplicate needs a score of {settings.reprint_score:g}"
            )
        if (
            scores.sentence_jaccard >= settings.duplicate_sentence_jaccard
            and scores.shared < settings.evidence_sentences
        ):
            yield (
                f"sentence Jaccard {scores.sentence_jaccard:.3f} would make a duplicate, but"
                f" {counted(scores.shared, 'shared sentence is', 'shared sentences are')} too little"
                f" evidence: {settings.evidence_sentences} are needed"
            )
        if scores.signature_jaccard >= settings.duplicate_signature_jaccard:
            figure = f"signature Jaccard {scores.signature_jaccard:.3f} would make a duplicate, but"
            if not scores.same_bucket:
                yield (
                    f"{figure} the two share no bucket, and the signature Jaccard counts only in a shared"
                    " bucket"
                )
            elif not scores.shared and scores.common >= settings.furniture_sentences:
                yield (
                    f"{figure} they share only common sentences, and each article has at least"
                    f" {settings.furniture_sentences} of these"
                )
            if scores.shingles < settings.evidence_shingles:
                yield (
                    f"{figure} the shorter text has {scores.shingles} shingles, which is too little evidence:"
                    f" {settings.evidence_shingles} are needed"
                )

    def find_misread(self) -> list[str]:
        """Return the findings of the rule `damaged`, one sentence each, if the texts look like copies of one
        text with misread letters; otherwise return an empty list."""
        if self.scores.same_content or self.prints is None or self.prints.jaccard[0] < LEAST_ALIGNED:
            return []
        said = self._check_letters(self.prints)
        # Skip the first condition, which demands `least_jaccard` for the print Jaccard. To show differing
        # letters, the lower limit LEAST_ALIGNED is enough.
        return [sentence for sentence, _ in said] if all(holds for _, holds in said[1:]) else []

    def _check_letters(self, prints: PrintPairs) -> list[tuple[str, bool]]:
        """Return each condition of the rule `damaged` as a sentence, and whether the condition holds."""
        equal, differing = max(prints.equal[0], 1), prints.differing[0]
        mended = prints.mended[0] / differing if differing else 1.0
        said = (
            f"each text has a share of {prints.kept[0]:.3f} of the other's {CORE_LETTERS}-letter sequences,"
            f" so the print Jaccard is {prints.jaccard[0]:.3f} (at least {prints.least_jaccard[0]:g})",
            f"the shorter text has {prints.fewer[0] / prints.more[0]:.3f} times the letters of the longer"
            f" text (at least {prints.least_ratio[0]:g})",
            f"the signature Jaccard is {self.scores.signature_jaccard:.3f} (at least"
            f" {max(prints.least_signature[0], 0):.3f}; misread letters make it lower)",
            f"a share of {prints.whole[0] / equal:.3f} of the common sequences has equal letters on both"
            f" sides (at most {prints.most_whole[0]:.3f}, since misread letters make many small differences)",
            f"a share of {prints.in_place[0] / equal:.3f} of the common sequences is at the same place in"
            f" both texts (at least {LEAST_IN_PLACE:g})",
            f"where letters next to a common sequence differ, the letters beyond are equal again in a share"
            f" of {mended:.3f} of the cases (at least {prints.least_mended[0]:.3f})",
        )
        holds = prints.conditions(np.array([self.scores.signature_jaccard]))
        return [(sentence, bool(flags[0])) for sentence, flags in zip(said, holds, strict=True)]

    def _explain_letters(self) -> Iterator[str]:
        """Yield why the rule `damaged` does not hold, although the print Jaccard is high enough."""
        prints = self.prints
        if prints is None or prints.jaccard[0] < prints.least_jaccard[0]:
            return
        lacking = [] if self.scores.same_bucket else ["the two share no bucket"]
        lacking += [sentence for sentence, holds in self._check_letters(prints) if not holds]
        if lacking:
            figure = f"print Jaccard {prints.jaccard[0]:.3f} is enough for a duplicate with misread letters"
            yield f"{figure}, but {'; '.join(lacking)}"

    def _explain_containment(self) -> Iterator[str]:
        scores, settings = self.scores, self._settings
        # Too little evidence makes containment 0. For its real value, score again with minimal requirements.
        without = replace(settings, containment_sentences=1, containment_shingles=1, containment_share=0)
        contained = score(*self._profiles, without).containment
        if contained < settings.similar_containment:
            return
        figure = f"containment {contained:.3f} would make them similar, but"
        enough = scores.shingles >= settings.containment_shingles
        if enough and scores.shared < settings.containment_share * self._sentences:
            yield (
                f"{figure} the texts differ much in length, so that at least"
                f" {settings.containment_share:g} of the shorter one's sentences must be shared:"
                f" {scores.shared} of {self._sentences} are"
            )
        else:
            yield (
                f"{figure} {counted(scores.shared, 'shared sentence')} and"
                f" {scores.shingles} shingles of the shorter text are too little evidence:"
                f" {settings.containment_sentences} sentences or {settings.containment_shingles} shingles are"
                " needed"
            )


def _are(ids: list[str]) -> str:
    return f"{' and '.join(ids)} {'is' if len(ids) == 1 else 'are'}"


def _explain_marks(a: MarkState, b: MarkState) -> Iterator[str]:
    """Yield why the later article is not marked a duplicate of the earlier one, although the rules say so."""
    if b.original == a.id:
        return
    if waiting := [one.id for one in (a, b) if one.stale or one.status == "pending"]:
        yield f"{_are(waiting)} not settled yet: run `dedup backfill`"
    elif a.original is not None:
        both = f", and so is {b.id}" if b.original == a.original else ""
        unlike = f", while {b.id} is not" if b.original is None else ""
        copy = f"{a.id} is a duplicate of {a.original}"
        yield f"only canonical articles can be originals, but {copy}{both}{unlike}"
    elif b.original is not None:
        yield f"{b.id} is a duplicate of {b.original}, the earliest original with the highest score"
