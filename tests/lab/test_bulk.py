"""The rule over arrays equals the oracle and the rule of one pair, on corpora near every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dedup.lab import bulk
from dedup.lab.documents import Corpus
from dedup.rules import oracle
from dedup.rules.marks import Status
from dedup.rules.pair import Profile, Relation, judge, score
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint
from tests import corpora

RULES = Settings(common_stories=2, evidence_sentences=2, evidence_shingles=6)
START = datetime(2024, 5, 1, tzinfo=UTC)


@st.composite
def fingerprints(draw: st.DrawFn) -> list[Fingerprint | None]:
    """Articles of a few sentences and signatures each, so that many pairs lie close to the thresholds."""
    found: list[Fingerprint | None] = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.integers(0, 9)) == 0:
            found.append(None)
            continue
        sentences = draw(st.lists(st.integers(1, 9), max_size=6, unique=True))
        signature = draw(st.lists(st.integers(1, 3), min_size=10, max_size=10))
        if draw(st.integers(0, 4)) == 0:
            signature = []
        found.append(
            Fingerprint(
                version=1,
                content_hash=draw(st.integers(1, 12)),
                sentence_hashes=tuple(sentences),
                signature=np.array(signature, np.uint32),
                buckets=tuple(10 * i + signature[i] for i in range(0, len(signature), 5)),
                sketch=draw(st.integers(1, 4)),
                word_count=100,
                shingle_count=draw(st.integers(3, 9)),
            )
        )
    return found


def orders(count: int, minutes: Sequence[int]) -> list[tuple[datetime, bytes]]:
    """A time for each, some of them equal."""
    return [(START + timedelta(minutes=minutes[i]), b"%d" % i) for i in range(count)]


@given(fingerprints())
def test_every_score_is_that_of_the_pair_rule(made: list[Fingerprint | None]) -> None:
    common = bulk.common_sentences(made, RULES)
    pairs = np.array(list(combinations(range(len(made)), 2)), np.int32).reshape(-1, 2)
    scored = bulk.Scorer(made, common).score(pairs)
    duplicates, related = scored.duplicates(RULES), scored.related(RULES)
    for row, (i, j) in enumerate(pairs.tolist()):
        a, b = made[i], made[j]
        if a is None or b is None:
            assert scored.score[row] == 0
            assert not related[row]
            continue
        profiles = Profile.of(a, common), Profile.of(b, common)
        expected = score(*profiles)
        assert scored.shared_sentences[row] == expected.shared
        assert scored.sentence_jaccard[row] == expected.sentence_jaccard
        assert scored.containment[row] == expected.containment
        assert scored.signature_jaccard[row] == expected.signature_jaccard
        assert scored.score[row] == expected.score
        judgement = judge(*profiles, RULES)
        assert duplicates[row] == (judgement is not None and judgement.relation is Relation.DUPLICATE)
        assert related[row] == (judgement is not None)


@given(fingerprints(), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_stories_are_the_oracles(made: list[Fingerprint | None], minutes: list[int]) -> None:
    times = orders(len(made), minutes)
    common = bulk.common_sentences(made, RULES)
    scorer = bulk.Scorer(made, common)
    scored = scorer.score(scorer.candidates())
    found = bulk.stories(times, scored, scored.duplicates(RULES))
    subjects = [oracle.Subject(i, times[i], f) for i, f in enumerate(made) if f is not None]
    marks, _ = oracle.marks(subjects, common, RULES)
    expected = [
        marks[i].duplicate_of if i in marks and marks[i].status is Status.DUPLICATE else i
        for i in range(len(made))
    ]
    assert found.tolist() == expected


@given(fingerprints())
def test_no_related_pair_is_missing_from_the_candidates(made: list[Fingerprint | None]) -> None:
    scorer = bulk.Scorer(made, bulk.common_sentences(made, RULES))
    candidates = {tuple(pair) for pair in scorer.candidates().tolist()}
    assert all(i < j for i, j in candidates)
    everything = np.array(list(combinations(range(len(made)), 2)), np.int32).reshape(-1, 2)
    related = everything[scorer.score(everything).related(RULES)]
    assert {tuple(pair) for pair in related.tolist()} <= candidates


def test_a_corpus_of_texts() -> None:
    texts = [corpora.text(corpora.window(start, 6)) for start in (0, 1, 7)]
    made = bulk.read(Corpus.of_texts([*texts, "Too short."]), Settings())
    assert [f is not None for f in made] == [True, True, True, False]
    scorer = bulk.Scorer(made, set())
    assert scorer.score(np.array([[0, 1]], np.int32)).sentence_jaccard.tolist() == [5 / 7]


def test_nothing_at_all() -> None:
    scorer = bulk.Scorer([], set())
    scored = scorer.score(scorer.candidates())
    assert bulk.stories([], scored, scored.duplicates(RULES)).tolist() == []
