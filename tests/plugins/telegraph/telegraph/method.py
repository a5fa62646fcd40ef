"""A method for the lab. Its module is separate, because only the lab needs NumPy."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.extras.lab.algorithms.same_key import SameKey
from dedup.extras.lab.documents import Document


@dataclass
class FirstWords(SameKey):
    """A method that scores 1 if both texts begin with the same words, else 0."""

    row = "T"
    name = "first-words"
    about = "the same first words"
    source = "an example"
    finds = "articles of the same beginning"

    words: int = 3

    def key(self, document: Document) -> tuple[str, ...] | None:
        """Return the first words of a text."""
        return tuple(document.text.split()[: self.words]) or None
