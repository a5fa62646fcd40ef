"""Row 0: the product's own rule, as the marks have it: sentences and signatures, common ones by story.

Its groups are not what is linked, but stories: a canonical article with the duplicates that are directly
like it (SEMANTICS sections 2 to 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dedup.lab.bulk import Scorer, common_sentences, read, stories
from dedup.lab.documents import Corpus
from dedup.lab.method import Method
from dedup.numbers import Flags, Groups, Likeness, Pairs
from dedup.settings import Settings
from dedup.text.punkt import PunktModel


@dataclass
class Product(Method):
    """The larger of sentence Jaccard and signature Jaccard; duplicates also need evidence.

    Attributes:
        threshold: that of the signature, in place of the one in the settings.
        settings: everything else; the defaults unless told.
        models: sentence parameters trained for the corpus, by language.
    """

    row = "0"
    name = "dedup"
    about = "sentences; MinHash of stop-word shingles"
    source = "this project"
    finds = "articles that share a sentence, a bucket or all words"

    threshold: float = Settings().duplicate_signature_jaccard
    floor: float = 0.1
    settings: Settings = field(default_factory=Settings)
    models: Mapping[str, PunktModel] = field(default_factory=dict)

    def fit(self, corpus: Corpus) -> None:
        self._settings = self.settings.with_values({"duplicate_signature_jaccard": self.threshold})
        fingerprints = read(corpus, self._settings, self.models)
        self._orders = [document.order(self._settings.canonical_order) for document in corpus]
        self._scorer = Scorer(fingerprints, common_sentences(fingerprints, self._settings))

    def candidates(self) -> Iterator[Pairs]:
        yield self._scorer.candidates()

    def score(self, pairs: Pairs) -> Likeness:
        return self._scorer.score(pairs).score.astype(np.float32)

    def accepts(self, pairs: Pairs, scores: Likeness) -> Flags:
        return self._scorer.score(pairs).duplicates(self._settings)

    def groups(self, size: int, pairs: Pairs, accepted: Flags) -> Groups:
        return stories(self._orders, self._scorer.score(pairs), accepted)
