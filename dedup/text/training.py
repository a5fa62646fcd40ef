"""Punkt parameters from a corpus of one language, with NLTK's own trainer.

Unsupervised: it needs text, not labels. Used by `dedup train-sentences` and by the script that makes
the shipped English model.

`import nltk` imports scikit-learn and SciPy if they are there, as they are with the lab: 85 MB and a second
for every process, and nothing that Punkt needs. So they are hidden from it here.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable

from dedup.text.clean import blocks
from dedup.text.punkt import PunktModel

_HIDDEN = [name for name in ("scipy", "sklearn") if name not in sys.modules]

for _name in _HIDDEN:
    sys.modules[_name] = None  # type: ignore[assignment]  # an import of it now fails, as if it were absent
try:
    from nltk.tokenize import punkt as punkt
finally:
    for _name in _HIDDEN:
        del sys.modules[_name]


ORTHO_MIN_COUNT = 8
"""Words seen less often are left out of the orthographic context: a name seen twice says nothing, and
most of the vocabulary of a corpus is such names. It also keeps the shipped files small."""

COLLOCATION_MIN_COUNT = 4  # Pairs seen this often or less are no evidence of a collocation

ABBREV_MIN_COUNT = 5
"""An abbreviation must be seen this often: rarer ones are mostly typing errors and web addresses."""

_WORD = re.compile(r"[^\W\d_]+([.-][^\W\d_]+)*")

TRAINER_BATCH_CHARACTERS = 2_000_000
"""Texts are handed to the trainer in pieces of this size, which bounds its token lists in memory."""


def train(texts: Iterable[str]) -> PunktModel:
    """Punkt parameters learnt from `texts` (bodies of articles, one language).

    Memory grows with the vocabulary, not with the number of texts. About 0.3 MB of text a second.
    """
    trainer = punkt.PunktTrainer()
    # NLTK's penalty drops every abbreviation that is also seen without its period. That suits a small
    # corpus of one house style; among millions of words "Mr" and "Inc" always occur both ways.
    trainer.IGNORE_ABBREV_PENALTY = True
    trainer.MIN_COLLOC_FREQ = COLLOCATION_MIN_COUNT
    counts: Counter[str] = Counter()
    batch: list[str] = []
    size = 0
    for text in texts:
        found = blocks(text)
        batch.extend(found)
        size += sum(map(len, found))
        if size >= TRAINER_BATCH_CHARACTERS:
            _train_batch(trainer, counts, batch)
            batch, size = [], 0
    _train_batch(trainer, counts, batch)
    parameters = trainer.get_params()
    return PunktModel(
        frozenset(
            word
            for word in parameters.abbrev_types
            if _WORD.fullmatch(word) and counts[word + "."] >= ABBREV_MIN_COUNT
        ),
        frozenset(parameters.collocations),
        frozenset(parameters.sent_starters),
        {
            word: flags
            for word, flags in parameters.ortho_context.items()
            if flags and counts[word] >= ORTHO_MIN_COUNT
        },
    )


def _train_batch(trainer: punkt.PunktTrainer, counts: Counter[str], batch: list[str]) -> None:
    if not batch:
        return
    text = "\n\n".join(batch)
    trainer.train(text, finalize=False)
    counts.update(token.type for token in trainer._tokenize_words(text))


def to_nltk(model: PunktModel) -> punkt.PunktParameters:
    """The parameters of a model as NLTK's own class."""
    parameters = punkt.PunktParameters()
    parameters.abbrev_types = set(model.abbrev_types)
    parameters.collocations = set(model.collocations)
    parameters.sent_starters = set(model.sent_starters)
    # NLTK's own defaultdict would keep every unknown word it is asked about, and grow with the corpus.
    parameters.ortho_context = Counter(model.ortho_context)
    return parameters
