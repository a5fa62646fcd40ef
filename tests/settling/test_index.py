"""Candidates and relations, few and many at a time, are those of the pair rule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.rules.marks import Partner, kept_similar
from dedup.rules.pair import Profile, Related, Relation, relate
from dedup.rules.pairs import RULES
from dedup.settling import index
from dedup.settling.best_match import by_likeness
from dedup.settling.index import Nodes
from dedup.store.settling import FingerprintRow, PairPins
from dedup.text.fingerprint import Fingerprint
from tests.rules.test_pairs import SETTINGS, fingerprints

START = datetime(2024, 5, 1, tzinfo=UTC)

PINS = st.dictionaries(
    st.sets(st.integers(0, 9), min_size=2, max_size=2).map(lambda pair: frozenset(b"%d" % i for i in pair)),
    st.sampled_from(Relation),
    max_size=3,
)


def rows_of(made: Sequence[Fingerprint]) -> list[FingerprintRow]:
    return [
        FingerprintRow(
            id=100 + i,
            order=(START - timedelta(minutes=i % 3), b"%d" % i),
            stored_canonical=True,
            canonical=True,
            settled=True,
            pinned=False,
            content_hash=f.content_hash,
            sentence_hashes=np.array(f.sentence_hashes, np.int64),
            signature=f.signature,
            buckets=np.array(f.buckets, np.int64),
            shingle_count=f.shingle_count,
        )
        for i, f in enumerate(made)
    ]


@pytest.mark.long("dedup", "migrations")
@given(fingerprints(10), PINS, SETTINGS, st.booleans(), st.integers(0, 1_023))
def test_relations_are_those_of_the_pair_rule(
    given_ones: list[Fingerprint | None], pins: PairPins, settings: Settings, many: bool, among: int
) -> None:
    made = [f for f in given_ones if f is not None]
    rows = rows_of(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "MANY", 0 if many else 10**9)
        nodes = Nodes(rows, [row.sentence_hashes for row in rows], pins, settings)
        assert nodes.orders == sorted(row.order for row in rows)
        profiles = [Profile.of(made[row.id - 100], ()) for row in nodes.rows]
        for place, row in enumerate(nodes.rows):
            chosen = np.array([bool(among >> i & 1) and i != place for i in range(len(rows))], np.bool_)
            expected: dict[int, Related] = {}
            for other in np.flatnonzero(chosen).tolist():
                pin = pins.get(frozenset((row.order[1], nodes.orders[other][1])))
                found = relate(profiles[place], profiles[other], settings, pin)
                if found:
                    expected[other] = found
            relations = nodes.related(place, chosen)
            assert relations.places.tolist() == sorted(expected)
            for i, other in enumerate(relations.places.tolist()):
                related = expected[other]
                assert nodes.relation(place, other) == related
                assert relations.duplicate[i] == (related.relation is Relation.DUPLICATE)
                assert RULES[relations.rule[i]] is related.rule
                assert relations.score[i] == related.scores.score
                assert relations.sentence_jaccard[i] == related.scores.sentence_jaccard
                assert relations.signature_jaccard[i] == related.scores.signature_jaccard
                assert relations.containment[i] == related.scores.containment
            # And the best of them are those of the rule of marks.
            partners: list[Partner] = [(nodes.orders[other], other, r) for other, r in expected.items()]
            for count in (1, 2, 5):
                best = by_likeness(relations, count)
                ranked = kept_similar(partners, Settings(similar_pairs=count))[:count]
                assert relations.places[best].tolist() == [other for _, other, _ in ranked]


def test_nothing_is_compared_with_what_it_shares_nothing_with() -> None:
    made = [Fingerprint(1, i, (i,), np.full(8, i, np.uint8), (i, i), 50, 9) for i in range(20)]
    rows = rows_of(made)
    nodes = Nodes(rows, [row.sentence_hashes for row in rows], {}, Settings())
    for place in range(20):
        assert not len(nodes.related(place, np.arange(20) != place))
    assert (nodes.compared, nodes.hits.tolist()) == (0, [0] * 20)
    assert not len(Nodes([], [], {}, Settings()))
