"""Row 0 of `dedup lab methods`: the product's own rule, which gives the marks (docs/semantics.md).

The groups of this rule are stories: an original with its own duplicates, not all articles that pairs link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dedup.base.numbers import Flags, Groups, Likeness, Pairs
from dedup.base.settings import Settings
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.rules import oracle
from dedup.rules.marks import published_second
from dedup.rules.pairs import FingerprintArrays, Scored, stories
from dedup.text.fingerprint import Fingerprint, Fingerprinter, TextTask
from dedup.text.punkt import PunktModel


@dataclass
class Product(Method):
    row = "0"
    name = "dedup"
    about = "sentences; MinHash of stop-word shingles"
    source = "this project"
    finds = "articles that share a sentence, a bucket or all words"

    threshold: float = Settings().duplicate_signature_jaccard  # replaces this setting
    floor: float = 0.1
    settings: Settings = field(default_factory=Settings)
    models: Mapping[str, PunktModel] = field(default_factory=dict)  # language -> model trained for the corpus

    def fit(self, corpus: DocumentSet) -> None:
        self._settings = self.settings.with_values({"duplicate_signature_jaccard": self.threshold})
        fingerprints = fingerprinted(corpus, self._settings, self.models)
        self._orders = [document.order(self._settings) for document in corpus]
        made = [fingerprint for fingerprint in fingerprints if fingerprint is not None]
        common = oracle.common_sentences(made, self._settings).keys()
        published = [
            published_second(self._settings, order[0], document.published_at)
            for order, document in zip(self._orders, corpus, strict=True)
        ]
        self._profiles = FingerprintArrays(fingerprints, common, published)
        self._last: Scored | None = None

    def candidates(self) -> Iterator[Pairs]:
        yield self._profiles.candidates()

    def score(self, pairs: Pairs) -> Likeness:
        return self._scored(pairs).score.astype(np.float32)

    def accepts(self, pairs: Pairs, scores: Likeness) -> Flags:  # noqa: ARG002  # evidence decides too
        return self._scored(pairs).duplicates(self._settings)

    def groups(self, size: int, pairs: Pairs, accepted: Flags) -> Groups:  # noqa: ARG002  # stories, not links
        return stories(self._orders, self._scored(pairs), accepted)

    def _scored(self, pairs: Pairs) -> Scored:
        # Keep the last scores, because `accepts` and `groups` are called with the same pairs.
        if self._last is None or self._last.pairs is not pairs:
            self._last = self._profiles.score(pairs, self._settings)
        return self._last


@dataclass
class DamagedPrints(Product):
    """Row 0p of `dedup lab methods`: the product's rule for scanned papers, `damaged_print=on`."""

    row = "0p"
    name = "dedup-prints"
    about = "row 0, also for misread letters of scans"
    finds = "articles that share a sentence, a bucket (of shingles or of damaged prints) or all words"

    settings: Settings = field(default_factory=lambda: Settings(damaged_print="on"))


def fingerprinted(
    corpus: DocumentSet, settings: Settings, models: Mapping[str, PunktModel] | None = None
) -> list[Fingerprint | None]:
    """Return the fingerprint of every document; None if a document cannot have one."""
    tasks = [TextTask(i, 0, d.language, d.title, d.text) for i, d in enumerate(corpus)]
    made = Fingerprinter(settings, models).fingerprint_many(tasks)
    return [made.one(i) for i in range(len(corpus))]
