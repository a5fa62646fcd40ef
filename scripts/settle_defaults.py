"""Every default of the rule against its alternatives, on real news, with half of it kept aside.

    scripts/settle_defaults.py [SET ...] [--data FOLDER] [--jobs N] [--json]

For each setting and each of its values, all others at their defaults: how good are the marks? Recall: of the
pairs whose word-5-shingle Jaccard is at least 0.8, how many are in one story. Precision: of the duplicates,
how many have their pair (article, duplicate_of) in the silver truth. F1 is their harmonic mean, and the mean
over all sets that have 10 such pairs or more is what a value is chosen by: on one half of the stories
(`tuning`); the other half (`kept aside`) tells what the choice is worth. Uses the rule over arrays
(`dedup/lab/bulk.py`), no database. About 20 minutes for all sets. Read next: `dedup/settings.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sandbox import DATA, silver_sets

from dedup.errors import DedupError
from dedup.judging.truth import DIFFERENT, DUPLICATE, Truth, read_truth
from dedup.lab import bulk
from dedup.lab.algorithms.incidence import carriers, incidence, shared_of
from dedup.lab.documents import Corpus
from dedup.lab.evaluation.measures import halves
from dedup.lab.methods.weighted_sentences import form_weight
from dedup.numbers import Groups
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint, Fingerprinter
from dedup.text.shingles import shingles
from dedup.text.signature import buckets, hash_set, minhash, sketch

LEAST_PAIRS = 10
"""A set with fewer near-duplicate pairs has no say in the mean: one pair would be a tenth of it."""

STOP_WORDS = (
    "a an and are as at be been but by can could did do for from had has have he her his in is it its may not"
    " of on or she that the their they this to was we were will with would"
)
"""English function words, as the authors of SpotSigs choose antecedents."""

Prints = list[Fingerprint | None]
Common = Callable[[Prints, Settings], set[int]]


@dataclass(frozen=True)
class Variant:
    """One value of one setting.

    Attributes:
        changes: settings that differ from the defaults, of the kind "rule".
        signing: settings that make another signature; anchors: a list of them in place of the length rule.
        common: another rule for which sentences do not count.
        weighted: whether sentences weigh by rarity, length and names (method 1w).
    """

    setting: str
    value: str
    changes: tuple[tuple[str, float], ...] = ()
    signing: tuple[tuple[str, int], ...] = ()
    anchors: frozenset[str] = frozenset()
    common: Common | None = None
    weighted: bool = False
    default: bool = False

    @property
    def scoring(self) -> tuple[object, ...]:
        """What the scores of the pairs depend on: variants that agree in it are scored once, if in a row."""
        return self.signing, self.anchors, self.common and self.value, self.weighted


def by_stories(limit: int, concentration: float, prints: Prints, settings: Settings) -> set[int]:
    """Sentences of more than `limit` stories, and not copies of few: the rule of the product."""
    values = {"common_stories": limit, "common_concentration": concentration}
    return bulk.common_sentences(prints, settings.with_values(values))


def none(_prints: Prints, _settings: Settings) -> set[int]:
    """No sentence."""
    return set()


def by_articles(limit: int, prints: Prints, _settings: Settings) -> set[int]:
    """Sentences of more than `limit` other articles: the plain cut-off of method 1."""
    counts = Counter(h for p in prints if p is not None for h in p.sentence_hashes)
    return {h for h, count in counts.items() if count - 1 > limit}


DEFAULT_COMMON = partial(by_stories, Settings().common_stories, Settings().common_concentration)


def variants() -> Iterator[Variant]:
    """Everything that is tried."""
    default = Settings()
    for sentence in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8):
        for signature in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
            yield Variant(
                "thresholds: sentences, signature",
                f"{sentence:.2f}, {signature:.2f}",
                (("duplicate_sentence_jaccard", sentence), ("duplicate_signature_jaccard", signature)),
                default=(sentence, signature)
                == (default.duplicate_sentence_jaccard, default.duplicate_signature_jaccard),
            )
    for name, values in (
        ("evidence_sentences", range(1, 7)),
        ("evidence_shingles", (1, 4, 5, 6, 8, 10, 12, 16)),
    ):
        for value in values:
            yield Variant(name, str(value), ((name, value),), default=value == getattr(default, name))
    for length in (3, 4, 5, 6):
        own = length == default.stop_word_length
        yield Variant(
            "anchors", f"under {length} characters", signing=(("stop_word_length", length),), default=own
        )
    words = frozenset(STOP_WORDS.split())
    yield Variant("anchors", f"{len(words)} English words", anchors=words)
    shapes = [
        (32, 8, 4),
        (64, 16, 4),
        (64, 21, 3),
        (64, 12, 5),
        (64, 8, 8),
        (128, 32, 4),
        (128, 25, 5),
        (256, 64, 4),
    ]
    for size, bands, rows in shapes:
        yield Variant(
            "values, bands x rows",
            f"{size}, {bands} x {rows}",
            signing=(("signature_size", size), ("bands", bands), ("rows", rows)),
            default=(size, bands, rows) == (default.signature_size, default.bands, default.rows),
        )
    for limit in (5, 10, 20, 50):
        for concentration in (0.02, 0.08, 0.3, 1):
            yield Variant(
                "common: stories, concentration",
                f"more than {limit}, below {concentration}",
                common=partial(by_stories, limit, concentration),
                default=(limit, concentration) == (default.common_stories, default.common_concentration),
            )
    yield Variant("common: stories, concentration", "none is common", common=none)
    for articles in (10, 50):
        value = f"more than {articles} other articles"
        yield Variant("common: stories, concentration", value, common=partial(by_articles, articles))
    for weighted in (False, True):
        for threshold in (0.5, 0.6, 0.7, 0.8):
            yield Variant(
                "weights, threshold of sentences",
                f"{'by rarity, length, names' if weighted else 'none'}, {threshold}",
                (("duplicate_sentence_jaccard", threshold),),
                weighted=weighted,
                default=not weighted and threshold == default.duplicate_sentence_jaccard,
            )


@dataclass(frozen=True, slots=True)
class Count:
    """What the marks are worth on half of one set: pairs of silver truth, duplicates."""

    pairs: int
    together: int
    marks: int
    confirmed: int

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision; 1 for what cannot be divided."""
        recall = self.together / self.pairs if self.pairs else 1.0
        precision = self.confirmed / self.marks if self.marks else 1.0
        return 2 * recall * precision / ((recall + precision) or 1)


@dataclass(frozen=True, slots=True)
class Found:
    """One variant on one set: its marks on either half, and what finding them took.

    Attributes:
        articles: in the set; compared: candidate pairs; similar: those related without being duplicates.
    """

    tuning: Count
    kept: Count
    articles: int
    compared: int
    similar: int


def measure(files: tuple[Path, Path]) -> list[Found]:
    """Every variant on one set, in the order of `variants`."""
    corpus = Corpus.read(files[0])
    truth = read_truth(files[1], corpus.numbers)
    prints = bulk.read(corpus, Settings())
    texts = [
        document.words() if made is not None else [] for document, made in zip(corpus, prints, strict=True)
    ]
    orders = [document.order() for document in corpus]
    forms = sentence_forms(corpus)
    found = []
    key, made = None, None
    for variant in variants():
        if made is None or key != variant.scoring:
            signed = resigned(prints, texts, variant)
            common = (variant.common or DEFAULT_COMMON)(signed, Settings().with_values(dict(variant.signing)))
            scorer = bulk.Scorer(signed, common)
            key, made = variant.scoring, scorer.score(scorer.candidates())
            if variant.weighted:
                made = weighed(made, signed, common, forms, len(corpus))
        settings = Settings().with_values(dict(variant.changes))
        duplicates = made.duplicates(settings)
        similar = int((made.related(settings) & ~duplicates).sum())
        halves = count(bulk.stories(orders, made, duplicates), truth, prints)
        found.append(Found(*halves, len(corpus), len(made.pairs), similar))
    return found


def sentence_forms(corpus: Corpus) -> dict[int, float]:
    """What each sentence weighs by its length and names, as it was first written."""
    read = Fingerprinter(Settings()).sentences
    forms: dict[int, float] = {}
    for document in corpus:
        for sentence, key in read(document.text, document.language):
            if key is not None and key not in forms:
                forms[key] = form_weight(sentence)
    return forms


def resigned(prints: Prints, texts: Sequence[list[str]], variant: Variant) -> Prints:
    """The fingerprints with the signature of a variant."""
    if not variant.signing and not variant.anchors:
        return prints
    settings = Settings().with_values(dict(variant.signing))
    found: Prints = []
    for made, words in zip(prints, texts, strict=True):
        if made is None:
            found.append(None)
            continue
        chosen = shingles(words, settings.stop_word_length, variant.anchors)
        hashes = hash_set(chosen)
        signature = minhash(hashes, settings.signature_size)
        found.append(
            replace(
                made,
                signature=signature,
                buckets=tuple(buckets(signature, settings.bands, settings.rows)),
                sketch=sketch(hashes if chosen else hash_set(set(words))),
                shingle_count=len(chosen),
            )
        )
    return found


def weighed(
    made: bulk.Scored, prints: Prints, common: set[int], forms: Mapping[int, float], documents: int
) -> bulk.Scored:
    """The same pairs with the weight of the shared sentences over that of all sentences of both."""
    sets = [[] if p is None else [h for h in p.sentence_hashes if h not in common] for p in prints]
    columns = list(dict.fromkeys(h for hashes in sets for h in hashes))  # as `incidence` numbers them
    roots = incidence(sets).astype(np.float64)
    rarity = np.log((documents + 1) / carriers(roots))
    roots.data = np.sqrt(rarity * np.array([forms[h] for h in columns]))[roots.indices]
    total = roots.multiply(roots).sum(axis=1)
    both = shared_of(roots, made.pairs)
    either = total[made.pairs].sum(axis=1) - both
    return replace(made, sentence_jaccard=np.divide(both, either, out=np.zeros(len(both)), where=either > 0))


def count(groups: Groups, truth: Truth, prints: Prints) -> tuple[Count, Count]:
    """What the stories are worth on each half."""
    readable = np.array([p is not None for p in prints])
    near = truth.pairs[(truth.grades == DUPLICATE) & readable[truth.pairs].all(axis=1)]
    together = groups[near[:, 0]] == groups[near[:, 1]]
    marked = np.flatnonzero(groups != np.arange(len(groups)))
    marks = np.sort(np.stack([marked, groups[marked]], axis=1), axis=1).astype(np.int32)
    confirmed = truth.grade(marks) != DIFFERENT
    of_pair, of_mark = halves(truth, near[:, 0]), halves(truth, marks[:, 0])
    kept, tuned = (
        Count(
            int((of_pair == half).sum()),
            int((together & (of_pair == half)).sum()),
            int((of_mark == half).sum()),
            int((confirmed & (of_mark == half)).sum()),
        )
        for half in (True, False)
    )
    return tuned, kept


def main() -> int:
    options = _options()
    try:
        sets = silver_sets(options.data, options.sets)
        # The largest first, so that no process is left alone with it at the end.
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
            print(f"\n{found['setting']:34}" + "".join(f"{name:>13}" for name in COLUMNS))
        mark = "* " if found["default"] else "  "
        print(f"{mark}{found['value']:32}" + "".join(f"{found[key]:13.{n}f}" for key, n in COLUMNS.values()))
    print(
        "\n* the default. recall, precision: per cent, all sets together, kept aside; least: the set with the"
    )
    print("lowest F1, kept aside; compared, similar: pairs per article, similar ones without duplicates")
    return 0


COLUMNS = {
    "tuning F1": ("tuning", 4),
    "kept aside F1": ("kept_aside", 4),
    "least F1": ("least", 4),
    "recall": ("recall", 2),
    "precision": ("precision", 2),
    "compared": ("compared", 2),
    "similar": ("similar", 3),
}
"""Heading -> the key of a row, and digits after the point."""


def row(variant: Variant, found: Sequence[Found]) -> dict[str, Any]:
    """One value of one setting over all sets."""
    says = [f for f in found if min(f.tuning.pairs, f.kept.pairs) >= LEAST_PAIRS / 2]
    total = [sum(getattr(f.kept, name) for f in found) for name in Count.__slots__]
    articles = sum(f.articles for f in found)
    return {
        "setting": variant.setting,
        "value": variant.value,
        "default": variant.default,
        "tuning": float(np.mean([f.tuning.f1 for f in says])),
        "kept_aside": float(np.mean([f.kept.f1 for f in says])),
        "recall": 100 * total[1] / max(total[0], 1),
        "precision": 100 * total[3] / max(total[2], 1),
        "least": min((f.kept.f1 for f in says), default=1.0),
        "compared": sum(f.compared for f in found) / articles,
        "similar": sum(f.similar for f in found) / articles,
        "per_set": [[f.tuning.f1, f.kept.f1] for f in found],
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: every set with silver truth")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the sets; default: {DATA}")
    parser.add_argument("--jobs", type=int, help="sets at a time; default: one per core")
    parser.add_argument("--json", action="store_true", help="print JSON, with every set")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
