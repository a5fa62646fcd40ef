"""Why two articles that are alike enough are no duplicates: what the pair lacks, or what the marks say.

Pure, and for `explain.py`. It decides nothing: that is for `rules/pair.py` and `rules/marks.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dedup.base.settings import Settings
from dedup.rules.pair import Profile, Relation, Scores, relate_scored, score


@dataclass(frozen=True, slots=True)
class Marked:
    """What an article is at the moment. `original`: source_id of the one that it duplicates."""

    id: str
    status: str
    stale: bool
    archived: bool
    original: str | None


def why_not(
    a: Marked, b: Marked, profiles: tuple[Profile, Profile], settings: Settings, pin: Relation | None
) -> Iterator[str]:
    """The reasons, each in a sentence; none where the marks say duplicate, or where no score is high enough.

    `a`, `b`: in canonical order. `profiles`: theirs.
    """
    scores = score(*profiles, settings)
    by_rules = relate_scored(scores, settings)
    duplicate = by_rules is not None and by_rules.relation is Relation.DUPLICATE
    if duplicate or _above(scores, settings):
        if outside := [article.id for article in (a, b) if article.archived]:
            verb = "is" if len(outside) == 1 else "are"
            yield f"{' and '.join(outside)} {verb} before the horizon, and so compared with nothing any more"
            return
        if pin is not None and pin is not Relation.DUPLICATE:
            said = "unrelated" if pin is Relation.UNRELATED else f"only {pin.value}"
            yield f"a person has pinned the two as {said}, which comes before every score"
            return
    if pin is Relation.DUPLICATE or (pin is None and duplicate):
        yield from _by_marks(a, b)
    elif pin is None:
        yield from _lacking(scores, settings)
        yield from _not_contained(profiles, scores, settings)


def _above(scores: Scores, settings: Settings) -> bool:
    return (
        scores.sentence_jaccard >= settings.duplicate_sentence_jaccard
        or scores.signature_jaccard >= settings.duplicate_signature_jaccard
    )


def _lacking(scores: Scores, settings: Settings) -> Iterator[str]:
    """What keeps a score above the threshold of a duplicate from making one."""
    if scores.sentence_jaccard >= settings.duplicate_sentence_jaccard:
        yield (
            f"sentence Jaccard {scores.sentence_jaccard:.3f} would make a duplicate, but"
            f" {_shared(scores.shared, 'is')} too little evidence: {settings.evidence_sentences} are needed"
        )
    if scores.signature_jaccard >= settings.duplicate_signature_jaccard:
        figure = f"signature Jaccard {scores.signature_jaccard:.3f} would make a duplicate, but"
        if not scores.same_bucket:
            yield f"{figure} the two share no bucket, and only articles in a shared bucket are compared by it"
        if scores.shingles < settings.evidence_shingles:
            yield (
                f"{figure} the shorter one has {scores.shingles} shingles, which is too little evidence:"
                f" {settings.evidence_shingles} are needed"
            )


def _not_contained(profiles: tuple[Profile, Profile], scores: Scores, settings: Settings) -> Iterator[str]:
    """What keeps a short article that is inside a longer one from being similar to it."""
    if scores.containment >= settings.similar_containment or relate_scored(scores, settings):
        return
    without = replace(settings, containment_sentences=1, containment_shingles=1)
    contained = score(*profiles, without).containment
    if contained >= settings.similar_containment:
        yield (
            f"containment {contained:.3f} would make them similar, but {_shared(scores.shared, 'and')}"
            f" {scores.shingles} shingles of the shorter one are too little evidence:"
            f" {settings.containment_sentences} sentences or {settings.containment_shingles} shingles are"
            " needed"
        )


def _shared(count: int, verb: str) -> str:
    return f"{count} shared sentence{'' if count == 1 else 's'} {verb}"


def _by_marks(a: Marked, b: Marked) -> Iterator[str]:
    """Why the later one has another mark than to be a duplicate of the earlier one, as the rules have it."""
    if b.original == a.id:
        return
    if waiting := [one.id for one in (a, b) if one.stale or one.status == "pending"]:
        verb = "is" if len(waiting) == 1 else "are"
        yield f"{' and '.join(waiting)} {verb} not settled yet: run `dedup backfill`"
    elif a.original is not None:
        both = f", and so is {b.id}" if b.original == a.original else ""
        unlike = f", which {b.id} is not like enough" if b.original is None else ""
        copy = f"{a.id} is a duplicate of {a.original}"
        yield f"only canonical articles are originals, and {copy}{both}{unlike}"
    elif b.original is not None:
        yield f"{b.id} is a duplicate of {b.original}, which is more like it, or as much and earlier"
