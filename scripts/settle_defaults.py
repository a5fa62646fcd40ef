"""Compare the default of each setting of the rules with other values, on real news.

    scripts/settle_defaults.py [SET ...] [--data FOLDER] [--jobs N] [--json]

Measures the marks for each value of each setting, with all other settings at their defaults. The counts are
defined in `recall.py`: recall is the share of near pairs in one story, precision the share of confirmed
duplicates. A value is chosen on one half of the stories (`tuning`), by the mean F1 over all sets with at
least 10 near pairs. The other half (`kept aside`) tests the choice. Uses the rules over arrays
(`dedup/rules/pairs.py`), without a database. Takes about 20 minutes for all sets except the largest.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from recall import CONFIRMING, CONTAINED, NEAR_JACCARD, overlap
from sandbox import DATA, silver_sets

from dedup.base.errors import DedupError
from dedup.base.numbers import Flags, Groups, Pairs, pair_keys
from dedup.base.settings import Settings
from dedup.extras.judging.truth import read_truth
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.evaluation.measures import halves
from dedup.extras.lab.methods.product import fingerprinted
from dedup.rules import oracle
from dedup.rules.pairs import FingerprintArrays, Scored, stories
from dedup.text.fingerprint import Fingerprint
from dedup.text.hashing import TITLE_END, Hasher
from dedup.text.normalize import words
from dedup.text.signature import EMPTY, buckets, minhash, shingles, signature

LEAST_PAIRS = 10
"""Minimum number of near pairs of a set in the mean F1: in a smaller set one pair weighs too much."""

STOP_WORDS = (
    "a an and are as at be been but by can could did do for from had has have he her his in is it its may not"
    " of on or she that the their they this to was we were will with would"
)
"""English function words, chosen like the words that start a shingle in the method SpotSigs."""

Prints = list[Fingerprint | None]
Common = Callable[[Prints, Settings], set[int]]


def by_stories(prints: Prints, settings: Settings) -> set[int]:
    """Return the sentences of more stories than the setting allows: the default rule for common sentences."""
    return set(oracle.common_sentences([p for p in prints if p is not None], settings))


def none(_prints: Prints, _settings: Settings) -> set[int]:
    """Return an empty set: no sentence is common."""
    return set()


def by_articles(limit: int, prints: Prints, _settings: Settings) -> set[int]:
    """Return the sentences that more than `limit` other articles have; copies count as articles, too."""
    counts = Counter(h for p in prints if p is not None for h in p.sentence_hashes)
    return {h for h, count in counts.items() if count - 1 > limit}


@dataclass(frozen=True)
class Variant:
    """A setting, and one value of it to measure.

    Attributes:
        changes: settings that differ from the defaults, with their values.
        anchors: words that start a shingle; if empty, words of fewer than `stop_word_length` letters do.
        common: rule that decides which sentences are common.
    """

    setting: str
    value: str
    changes: tuple[tuple[str, float], ...] = ()
    anchors: frozenset[str] = frozenset()
    common: Common = by_stories

    @property
    def settings(self) -> Settings:
        """Return the defaults with the changes of this variant."""
        return Settings().with_values(dict(self.changes))

    @property
    def default(self) -> bool:
        """Return whether this variant is the default."""
        return self.settings == Settings() and not self.anchors and self.common is by_stories

    @property
    def scoring(self) -> tuple[object, ...]:
        """Return a key of everything that influences scores. Successive variants with equal keys are scored
        once."""
        kept = ("common_stories", "containment_sentences", "containment_shingles")
        kinds = {f.name: f.metadata["kind"] for f in fields(Settings)}
        changes = [(n, v) for n, v in self.changes if kinds[n] == "fingerprint" or n in kept]
        return tuple(changes), self.anchors, self.common is by_stories or self.value


def variants() -> Iterator[Variant]:
    """Yield all variants; the variants of one setting are neighbours."""
    for sentence in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8):
        for likeness in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
            yield Variant(
                "thresholds: sentences, signature",
                f"{sentence:.2f}, {likeness:.2f}",
                (("duplicate_sentence_jaccard", sentence), ("duplicate_signature_jaccard", likeness)),
            )
    single: tuple[tuple[str, Sequence[float]], ...] = (
        ("evidence_sentences", range(1, 7)),
        ("evidence_shingles", (1, 4, 5, 6, 8, 10, 12, 16)),
        ("similar_containment", (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)),
        ("containment_sentences", (1, 2, 3, 4, 6)),
        ("containment_shingles", (1, 10, 20, 30, 40, 60)),
        ("text_min_words", (8, 12, 16, 20, 24, 30, 40)),
        ("stop_word_length", (3, 4, 5, 6)),
        ("common_stories", (3, 5, 7, 10, 15, 20, 50)),
    )
    for name, values in single:
        for value in values:
            yield Variant(name, f"{value:g}", ((name, value),))
    yield Variant("common: other rules", "none is common", common=none)
    for articles in (10, 50):
        rule = partial(by_articles, articles)
        yield Variant("common: other rules", f"more than {articles} other articles", common=rule)
    listed = frozenset(STOP_WORDS.split())
    yield Variant("anchors: a list", f"{len(listed)} English words", anchors=listed)
    for shape in (
        (64, 16, 4),
        (128, 16, 4),
        (256, 16, 4),
        (256, 21, 3),
        (256, 12, 5),
        (256, 64, 4),
        (512, 16, 4),
    ):
        changes = tuple(zip(("signature_size", "bands", "rows"), shape, strict=True))
        yield Variant("values, bands x rows", f"{shape[0]}, {shape[1]} x {shape[2]}", changes)


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of the marks on half of one set, as in `recall.py`."""

    near: int
    together: int
    duplicates: int
    confirmed: int
    contained: int
    related: int
    by_containment: int
    containment_confirmed: int

    @property
    def f1(self) -> float:
        """Return the harmonic mean of recall and precision; without pairs or duplicates these are 1."""
        recall = self.together / self.near if self.near else 1.0
        precision = self.confirmed / self.duplicates if self.duplicates else 1.0
        return 2 * recall * precision / ((recall + precision) or 1)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a variant on one set: the counts on both halves, and the cost.

    Attributes:
        articles: number of articles of the set; compared: number of candidate pairs.
    """

    tuning: Count
    kept: Count
    articles: int
    compared: int


class Silver:
    """The pairs of a set's silver truth, and the exact overlap of these and of any other pairs."""

    def __init__(self, corpus: DocumentSet, file: Path) -> None:
        self._corpus = corpus
        self._truth = read_truth(file, corpus.numbers)
        self._known: dict[int, tuple[float, float]] = {}
        pairs = []
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row["a"] in corpus.numbers and row["b"] in corpus.numbers:
                    pair = sorted((corpus.numbers[row["a"]], corpus.numbers[row["b"]]))
                    pairs.append(pair)
                    self._known[pair[0] * len(corpus) + pair[1]] = row["jaccard5"], row["containment5"]
        self.pairs: Pairs = np.array(pairs, np.int32).reshape(-1, 2)
        self.overlaps = np.array([self._of(a, b) for a, b in pairs]).reshape(-1, 2)

    def half(self, documents: Groups) -> Flags:
        """Return for each document whether it is in the half kept aside. A story is never in both halves."""
        return np.asarray(halves(self._truth, documents), np.bool_)

    def of(self, pairs: Pairs) -> Any:
        """Return Jaccard and containment of each pair; shape (m, 2)."""
        return np.array([self._of(a, b) for a, b in pairs.tolist()]).reshape(-1, 2)

    def _of(self, a: int, b: int) -> tuple[float, float]:
        key = a * len(self._corpus) + b
        if key not in self._known:
            self._known[key] = overlap(self._corpus[a].text, self._corpus[b].text)
        return self._known[key]


def measure(files: tuple[Path, Path]) -> list[Found]:
    """Measure all variants on one set, in the order of `variants`."""
    corpus = DocumentSet.read(files[0])
    silver = Silver(corpus, files[1])
    prints = fingerprinted(corpus, Settings(text_min_words=1))
    texts = [d.words() if made is not None else [] for d, made in zip(corpus, prints, strict=True)]
    titles = [words(d.title or "") for d in corpus]
    orders = [document.order() for document in corpus]
    found = []
    key, scored = None, None
    for variant in variants():
        if scored is None or key != variant.scoring:
            signed = resigned(prints, texts, titles, variant)
            profiles = FingerprintArrays(signed, variant.common(signed, variant.settings))
            key, scored = variant.scoring, profiles.score(profiles.candidates(), variant.settings)
        groups = stories(orders, scored, scored.duplicates(variant.settings))
        readable = np.array([made is not None for made in prints])
        tuned, kept = count(groups, scored, silver, readable, variant.settings)
        found.append(Found(tuned, kept, len(corpus), len(scored.pairs)))
    return found


def resigned(
    prints: Prints, texts: Sequence[list[str]], titles: Sequence[list[str]], variant: Variant
) -> Prints:
    """Adapt fingerprints made with `text_min_words=1` to the settings of a variant; return the new
    fingerprints."""
    settings, hasher = variant.settings, Hasher()
    changed = {name for name, _ in variant.changes} & {"stop_word_length", "signature_size", "bands", "rows"}
    found: Prints = []
    for made, text, title in zip(prints, texts, titles, strict=True):
        if made is None:
            found.append(None)
        elif len(text) < settings.text_min_words:
            content = hasher.words([*title, TITLE_END, *text])
            short = replace(made, content_hash=content, sentence_hashes=(), buckets=(), shingle_count=0)
            found.append(replace(short, signature=EMPTY))
        elif changed or variant.anchors:
            chosen = shingles(text, settings.stop_word_length, variant.anchors)
            hashes = {hasher.shingle(shingle.split(" ")) for shingle in chosen}
            values = minhash(np.array(sorted(hashes), np.uint32), settings.signature_size)
            keys = [made.content_hash] * settings.bands
            if hashes:
                keys = buckets(values[None], hasher.of_buckets(settings.bands, settings.rows))[0].tolist()
            new = replace(made, signature=signature(values), shingle_count=len(hashes))
            found.append(replace(new, buckets=tuple(keys)))
        else:
            found.append(made)
    return found


def count(
    groups: Groups, scored: Scored, silver: Silver, readable: Flags, settings: Settings
) -> tuple[Count, Count]:
    """Count the marks on each half: first on the half for tuning, then on the half kept aside."""
    a, b = silver.pairs.T
    jaccard, containment = silver.overlaps.T
    seen = readable[a] & readable[b]
    near = seen & (jaccard >= NEAR_JACCARD)
    contained = seen & (containment >= CONTAINED) & (jaccard < CONFIRMING)
    same = groups[a] == groups[b]
    canonical = groups == np.arange(len(groups))
    similar = scored.related(settings) & ~scored.duplicates(settings) & canonical[scored.pairs].all(axis=1)
    size = len(groups)
    known = np.sort(groups[silver.pairs], axis=1)
    related = same | np.isin(pair_keys(known, size), pair_keys(scored.pairs[similar], size))
    only = similar & ~(scored.sentence_jaccard >= settings.similar_sentence_jaccard)
    only &= ~(scored.same_bucket & (scored.signature_jaccard >= settings.similar_signature_jaccard))
    added = scored.pairs[only]
    right = silver.of(added)[:, 1] >= CONFIRMING
    marked = np.flatnonzero(~canonical)
    marks = np.sort(np.stack([marked, groups[marked]], axis=1), axis=1).astype(np.int32)
    confirmed = silver.of(marks).max(axis=1, initial=0) >= CONFIRMING
    of_pair, of_mark, of_added = silver.half(a), silver.half(marks[:, 0]), silver.half(added[:, 0])

    def on(half: bool) -> Count:
        return Count(
            *(int((flags & (of_pair == half)).sum()) for flags in (near, near & same)),
            *(int((flags & (of_mark == half)).sum()) for flags in (np.ones(len(marks), np.bool_), confirmed)),
            *(int((flags & (of_pair == half)).sum()) for flags in (contained, contained & related)),
            *(int((flags & (of_added == half)).sum()) for flags in (np.ones(len(added), np.bool_), right)),
        )

    return on(False), on(True)


def main() -> int:
    options = _options()
    try:
        sets = silver_sets(options.data, options.sets)
        # The largest set starts first, so that it does not run alone at the end.
        ordered = sorted(sets, key=lambda name: -sets[name][0].stat().st_size)
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            measured = dict(zip(ordered, pool.map(measure, (sets[name] for name in ordered)), strict=True))
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    rows = [row(variant, [measured[n][i] for n in sets]) for i, variant in enumerate(variants())]
    if options.json:
        print(json.dumps({"sets": list(sets), "rows": rows}, indent=2))
        return 0
    for number, found in enumerate(rows):
        if not number or found["setting"] != rows[number - 1]["setting"]:
            print(f"\n{found['setting']:34}" + "".join(f"{name:>12}" for name in COLUMNS))
        mark = "* " if found["default"] else "  "
        print(f"{mark}{found['value']:32}" + "".join(f"{found[key]:12.{n}f}" for key, n in COLUMNS.values()))
    print(LEGEND)
    return 0


LEGEND = """
* the default. recall, precision: per cent, all sets together, kept aside; contained: per cent of the
contained pairs that are related; added: pairs that only containment relates; added ok: per cent of them
confirmed; least: the set with the lowest F1, kept aside; compared: pairs per article"""

COLUMNS = {
    "tuning F1": ("tuning", 4),
    "kept F1": ("kept_aside", 4),
    "least F1": ("least", 4),
    "recall": ("recall", 2),
    "precision": ("precision", 2),
    "contained": ("contained", 1),
    "added": ("added", 0),
    "added ok": ("added_confirmed", 1),
    "compared": ("compared", 2),
}
"""Columns of the table, by heading: the key in a row, and the number of decimals."""


def row(variant: Variant, found: Sequence[Found]) -> dict[str, Any]:
    """Return the row of the table for a variant, summed over all sets."""
    says = [f for f in found if min(f.tuning.near, f.kept.near) >= LEAST_PAIRS / 2]
    kept = {name: sum(getattr(f.kept, name) for f in found) for name in Count.__slots__}
    articles = sum(f.articles for f in found)
    return {
        "setting": variant.setting,
        "value": variant.value,
        "default": variant.default,
        "tuning": float(np.mean([f.tuning.f1 for f in says])),
        "kept_aside": float(np.mean([f.kept.f1 for f in says])),
        "recall": 100 * kept["together"] / max(kept["near"], 1),
        "precision": 100 * kept["confirmed"] / max(kept["duplicates"], 1),
        "contained": 100 * kept["related"] / max(kept["contained"], 1),
        "added": float(kept["by_containment"]),
        "added_confirmed": 100 * kept["containment_confirmed"] / max(kept["by_containment"], 1),
        "least": min((f.kept.f1 for f in says), default=1.0),
        "compared": sum(f.compared for f in found) / articles,
        "per_set": [[f.tuning.f1, f.kept.f1] for f in found],
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: every set with silver truth")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    parser.add_argument("--jobs", type=int, help="sets measured in parallel; default: one per core")
    parser.add_argument("--json", action="store_true", help="print JSON, with every set")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
