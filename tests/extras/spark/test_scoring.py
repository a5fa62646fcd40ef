"""Scores and relations computed for arrays of pairs equal those that the rule gives each single pair.

These tests need no Spark.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest

from dedup.base.settings import Settings
from dedup.rules.pair import DAY, Profile, Related, Relation, relate
from dedup.rules.pairs import RULES
from dedup.rules.relation import Rule
from dedup.text.fingerprint import Fingerprint
from tests.corpora import fingerprint, misread, text, window
from tests.extras.spark.corpora import FingerprintMaker

pa = pytest.importorskip("pyarrow")

from dedup.extras.spark.schema import BUCKET, CONTENT, EDGE, PIN_KINDS, SENTENCE, columns  # noqa: E402  # noqa: E402
from dedup.extras.spark.scoring import related  # noqa: E402


def profile(made: Fingerprint) -> Profile:
    """Return the profile of an article. Some sentences are common; some articles have a publication date."""
    common = {sentence for sentence in made.sentence_hashes if sentence % 5 == 0}
    return Profile.of(made, common, made.content_hash % 3 * 4 * DAY)


def batch(pairs: list[tuple[int, Fingerprint, Fingerprint, Relation | None]]) -> Any:
    """Return pairs as a batch of Arrow, in the form in which Spark passes them."""
    rows = []
    for number, a, b, pin in pairs:
        shared = len(profile(a).sentences & profile(b).sentences)
        kinds = (shared > 0) << SENTENCE | (not {*a.buckets}.isdisjoint(b.buckets)) << BUCKET
        if not a.buckets:
            kinds |= (a.content_hash == b.content_hash) << CONTENT
        if pin:
            kinds |= 1 << PIN_KINDS[pin]
        row: dict[str, Any] = {"a": 2 * number, "b": 2 * number + 1, "shared": shared, "kinds": kinds}
        for end, made in (("a", a), ("b", b)):
            row[f"packed_{end}"] = len(profile(made).sentences) << 32 | made.shingle_count
            row[f"sentences_{end}"] = len(made.sentence_hashes)
            row[f"published_{end}"] = profile(made).published
            row[f"content_{end}"] = made.content_hash
            row[f"signature_{end}"] = made.signature.tobytes()
        rows.append(row)
    return pa.RecordBatch.from_pylist(rows)


def texts_of(settings: Settings) -> list[Fingerprint]:
    """Return fingerprints of misread stories and short texts if the settings have prints; otherwise invented
    fingerprints."""
    if not settings.prints:
        return [
            e.made
            for e in FingerprintMaker(5, settings).corpus(60, "a").entries
            if isinstance(e.made, Fingerprint)
        ]
    stories = [text(window(start, 14, ring=60)) for start in (0, 1, 4, 9, 30)]
    bodies = [
        misread(body, every, copy) for body in stories for copy, every in enumerate((10_000, 50, 25, 14))
    ]
    made = [
        fingerprint(settings, body)
        for body in [*bodies, *stories, text(window(0, 3, ring=60)), "Rain.", "Rain."]
    ]
    return [one for one in made if isinstance(one, Fingerprint)]


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(signature_size=200),
        Settings(signature_size=64, containment_shingles=10),
        Settings(damaged_print="on"),
    ],
)
def test_related_pairs_are_those_of_the_rule(settings: Settings) -> None:
    rng = random.Random(3)
    texts = texts_of(settings)
    said = [None, None, None, None, *Relation]
    pairs = [(i, a, b, rng.choice(said)) for i, (a, b) in enumerate(combinations(texts, 2))]
    found = {row["a"] // 2: row for made in related([batch(pairs)], settings) for row in made.to_pylist()}
    wanted: dict[int, Related] = {}
    for i, a, b, pin in pairs:
        relation = relate(profile(a), profile(b), settings, pin)
        if relation:
            wanted[i] = relation
    assert found.keys() == wanted.keys()
    for i, relation in wanted.items():
        row, scores = found[i], relation.scores
        assert list(row) == columns(EDGE)
        assert row["duplicate"] == (relation.relation is Relation.DUPLICATE)
        assert RULES[row["rule"]] is relation.rule
        assert (row["score"], row["sentence_jaccard"], row["signature_jaccard"], row["containment"]) == (
            *(scores.score, scores.sentence_jaccard, scores.signature_jaccard, scores.containment),
        )
    assert {relation.rule for relation in wanted.values()} == (
        set(RULES) if settings.prints else set(RULES) - {Rule.DAMAGED}
    )


def test_an_empty_batch_has_no_edges() -> None:
    text = FingerprintMaker(1, Settings()).short(0)
    (made,) = related([batch([(0, text, text, None)]).slice(0, 0)], Settings())
    assert made.num_rows == 0
    assert made.schema.names == columns(EDGE)
