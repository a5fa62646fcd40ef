"""Why two articles that are alike enough are no duplicates: what the pair lacks, or what the marks say; and
what the letters of two prints say.

Pure, and for `explain.py`. It decides nothing: that is for `rules/pair.py` and `rules/marks.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dedup.base.settings import Settings
from dedup.rules.pair import Profile, Relation, Scores, relate_scored, score
from dedup.text.damaged import CORE_LETTERS, LEAST_IN_PLACE, LEAST_JACCARD, LEAST_RATIO, PrintPairs
from dedup.text.fingerprint import Fingerprint

LEAST_ALIGNED = 0.1
"""Print Jaccard from which two texts may be shown as one that was misread, though it makes no duplicate. Of
10,000 pairs of news drawn at random one has more, and what else is asked for tells it apart."""


@dataclass(frozen=True, slots=True)
class Marked:
    """What an article is at the moment. `original`: source_id of the one that it duplicates."""

    id: str
    status: str
    stale: bool
    archived: bool
    original: str | None


def why_not(
    a: Marked,
    b: Marked,
    profiles: tuple[Profile, Profile],
    scores: Scores,
    settings: Settings,
    pin: Relation | None,
) -> Iterator[str]:
    """The reasons, each in a sentence; none where the marks say duplicate, or where no score is high enough.

    `a`, `b`: in canonical order. `profiles`, `scores`: theirs.
    """
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
        yield from _not_damaged(profiles, scores, settings)
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


def print_pair(a: Profile | Fingerprint, b: Profile | Fingerprint, settings: Settings) -> PrintPairs | None:
    """The figures of two prints; None where one of the two has none."""
    one, other = (made.signature[None, settings.signature_size :] for made in (a, b))
    if not settings.prints or not one.size or not other.size:
        return None
    found = PrintPairs.of(one, other)
    return found if found.fewer[0] else None


def misread(profiles: tuple[Profile, Profile], scores: Scores, settings: Settings) -> list[str]:
    """What the rule `damaged` finds in the letters, each in a sentence; none where they do not look like
    those of one text, misread."""
    prints = None if scores.same_content else print_pair(*profiles, settings)
    if prints is None or prints.jaccard[0] < LEAST_ALIGNED:
        return []
    said = _letters(prints, scores)
    return [sentence for sentence, _ in said] if all(holds for _, holds in said[1:]) else []


def _letters(prints: PrintPairs, scores: Scores) -> list[tuple[str, bool]]:
    """What the rule asks for of the letters of a pair, each in a sentence, and whether the pair has it."""
    equal, differing = max(prints.equal[0], 1), prints.differing[0]
    mended = prints.mended[0] / differing if differing else 1.0
    said = (
        f"each has {prints.kept[0]:.3f} of the other one's runs of {CORE_LETTERS} letters: print Jaccard"
        f" {prints.jaccard[0]:.3f} (at least {LEAST_JACCARD:g})",
        f"the shorter one has {prints.fewer[0] / prints.more[0]:.3f} of the letters of the longer one"
        f" (at least {LEAST_RATIO:g})",
        f"the signature Jaccard, which misread letters lower, is {scores.signature_jaccard:.3f} (at least"
        f" {max(prints.least_signature[0], 0):.3f})",
        f"{prints.whole[0] / equal:.3f} of the common runs have the same letters on both sides (at most"
        f" {prints.most_whole[0]:.3f}: differences are to be many and small)",
        f"{prints.in_place[0] / equal:.3f} of the common runs stand at the same place of both texts"
        f" (at least {LEAST_IN_PLACE:g})",
        f"behind {mended:.3f} of the differences beside common runs the text goes on as before (at least"
        f" {prints.least_mended[0]:.3f})",
    )
    holds = prints.conditions(np.array([scores.signature_jaccard]))
    return [(sentence, bool(flags[0])) for sentence, flags in zip(said, holds, strict=True)]


def _not_damaged(profiles: tuple[Profile, Profile], scores: Scores, settings: Settings) -> Iterator[str]:
    """What keeps two prints with enough letters in common from being those of one text."""
    prints = print_pair(*profiles, settings)
    if prints is None or prints.jaccard[0] < LEAST_JACCARD:
        return
    lacking = [] if scores.same_bucket else ["the two share no bucket"]
    lacking += [sentence for sentence, holds in _letters(prints, scores) if not holds]
    if lacking:
        figure = f"print Jaccard {prints.jaccard[0]:.3f} would make a duplicate of a misread text"
        yield f"{figure}, but {'; '.join(lacking)}"


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
