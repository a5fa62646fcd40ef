"""Train Punkt parameters on a corpus of one language, with NLTK's trainer, which needs no labels."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable

from dedup.text.clean import blocks
from dedup.text.punkt import PunktModel

# Hide scikit-learn and SciPy, which the extra `lab` installs and `import nltk` would load. Loading them takes
# 85 MB and a second per process, and Punkt does not need them.
_HIDDEN = [name for name in ("scipy", "sklearn") if name not in sys.modules]

for _name in _HIDDEN:
    sys.modules[_name] = None  # type: ignore[assignment]  # Makes an import fail
try:
    from nltk.tokenize import punkt as punkt
finally:
    for _name in _HIDDEN:
        del sys.modules[_name]


# Minimum count of a word with an orthographic context: a name that occurs twice gives no evidence, and most
# words in a vocabulary are rare names. The minimum also keeps the shipped files small.
ORTHO_MIN_COUNT = 8
COLLOCATION_MIN_COUNT = 4  # Collocations that occur at most this often are left out
# Minimum count of an abbreviation; rarer ones are mostly typing errors and web addresses.
ABBREV_MIN_COUNT = 5

_WORD = re.compile(r"[^\W\d_]+([.-][^\W\d_]+)*")

# The trainer is called when a batch has this many characters, to limit the memory for its tokens.
TRAINER_BATCH_CHARACTERS = 2_000_000


def train(texts: Iterable[str]) -> PunktModel:
    """Train a model on article texts, at 0.3 MB per second; memory grows with the vocabulary."""
    trainer = punkt.PunktTrainer()
    # NLTK's penalty drops every abbreviation that also occurs without its period. The penalty suits a small
    # corpus of one house style; in millions of words, "Mr" and "Inc" occur with and without period.
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
