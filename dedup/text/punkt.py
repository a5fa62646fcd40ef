"""Parameters of Punkt for a language, which tell periods of abbreviations from ends of sentences.

A `PunktModel` has the content of NLTK's `PunktParameters`, is comparable, and is stored in NLTK's tab format.
An English model is shipped; other languages use a neutral model until the user trains one (`training.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from dedup.base.errors import InputError

# The checksum reads the files in this order.
FILES = ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab")
ENGLISH_SHA256 = "f0917c1b09cc85614113fe9910d0751653dc3a9ad9287d3a5df8969bbe906c3b"


@dataclass(frozen=True)
class PunktModel:
    """Parameters of Punkt (Kiss and Strunk 2006) for one language.

    Attributes:
        abbrev_types: abbreviations, in lower case and without period; their period ends no sentence.
        collocations: pairs of words; between them, the period of the first word ends no sentence.
        sent_starters: words that often start a sentence.
        ortho_context: for each word, NLTK's bit mask of the cases and positions in which the word occurs.
    """

    abbrev_types: frozenset[str] = frozenset()
    collocations: frozenset[tuple[str, str]] = frozenset()
    sent_starters: frozenset[str] = frozenset()
    ortho_context: Mapping[str, int] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        """SHA-256 of the four files, in the order of `FILES`; 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for name, content in self.to_files().items():
            digest.update(f"{name}\0{content}\0".encode())
        return digest.hexdigest()

    def to_files(self) -> dict[str, str]:
        """Return the file contents by file name, in NLTK's tab format."""
        # Sort the lines, so that equal models give equal bytes.
        return {
            "abbrev_types.txt": "\n".join(sorted(self.abbrev_types)),
            "collocations.tab": "\n".join(f"{a}\t{b}" for a, b in sorted(self.collocations)),
            "sent_starters.txt": "\n".join(sorted(self.sent_starters)),
            "ortho_context.tab": "\n".join(f"{t}\t{n}" for t, n in sorted(self.ortho_context.items())),
        }

    @classmethod
    def from_files(cls, files: Mapping[str, str]) -> PunktModel:
        """Read a model from the file contents of `to_files`. Raises InputError: missing file or bad line."""
        try:
            lines = {name: [line for line in files[name].split("\n") if line] for name in FILES}
            pairs = [line.split("\t") for line in lines["collocations.tab"]]
            contexts = [line.split("\t") for line in lines["ortho_context.tab"]]
            return cls(
                frozenset(lines["abbrev_types.txt"]),
                frozenset((first, second) for first, second in pairs),
                frozenset(lines["sent_starters.txt"]),
                {word: int(flags) for word, flags in contexts},
            )
        except (KeyError, ValueError) as error:
            raise InputError(f"sentence parameters are damaged: {error}") from None

    def __or__(self, other: PunktModel) -> PunktModel:
        """Join two models that were trained on corpora with different house styles."""
        starters = self.sent_starters | other.sent_starters
        words = self.ortho_context.keys() | other.ortho_context.keys()
        return PunktModel(
            self.abbrev_types | other.abbrev_types,
            # As NLTK does, leave out pairs whose second word is a frequent sentence starter.
            frozenset(pair for pair in self.collocations | other.collocations if pair[1] not in starters),
            starters,
            {word: self.ortho_context.get(word, 0) | other.ortho_context.get(word, 0) for word in words},
        )


NEUTRAL = PunktModel()
"""Model without parameters: periods end sentences, except in ellipses and after some initials and numbers."""


@cache
def english() -> PunktModel:
    """Return the shipped English model. Raises InputError: its files are damaged."""
    folder = resources.files("dedup.text") / "punkt_english"
    model = PunktModel.from_files({name: (folder / name).read_text("utf-8") for name in FILES})
    if model.checksum != ENGLISH_SHA256:
        raise InputError("the shipped English sentence parameters are damaged; reinstall dedup")
    return model
