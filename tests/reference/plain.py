"""The definition of fingerprints, word by word and without shortcuts.

`dedup/text/batch.py` makes the same fingerprints of many texts with arrays; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dedup.base.settings import Settings
from dedup.text.fingerprints import Fingerprint
from dedup.text.hashing import TITLE_END, Hasher
from dedup.text.normalize import words
from dedup.text.signature import EMPTY, minhash, shingles, signature


class PlainMaker:
    """A maker of fingerprints in plain Python, with one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.hasher = Hasher(settings.hash_key)

    def sentence(self, sentence: str) -> int | None:
        """Return the hash of a sentence, or None if the sentence is too short to count."""
        found = words(sentence)
        counts = len(" ".join(found)) >= self.settings.sentence_min_characters
        return self.hasher.words(found) if counts else None

    def make(self, sentences: Sequence[str], title: str | None, version: int) -> Fingerprint | None:
        """Return the fingerprint of a text, or None if the text has no word."""
        settings = self.settings
        found = [word for sentence in sentences for word in words(sentence)]
        if not found:
            return None
        if len(found) < settings.text_min_words:
            content = self.hasher.words([*words(title or ""), TITLE_END, *found])
            return Fingerprint(version, content, (), EMPTY, (), len(found), 0)
        content = self.hasher.words(found)
        hashes = dict.fromkeys(map(self.sentence, sentences))
        hashes.pop(None, None)
        shingle_set = shingles(found, settings.stop_word_length, self._stop_words)
        shingle_hashes = {self.hasher.shingle(shingle.split(" ")) for shingle in shingle_set}
        values = minhash(np.array(sorted(shingle_hashes), np.uint32), settings.signature_size)
        return Fingerprint(
            version=version,
            content_hash=content,
            sentence_hashes=tuple(found for found in hashes if found is not None),
            signature=signature(values),
            buckets=self._buckets(values.tolist()) or (content,) * settings.bands,
            word_count=len(found),
            shingle_count=len(shingle_hashes),
        )

    def _buckets(self, values: Sequence[int]) -> tuple[int, ...]:
        rows = self.settings.rows
        bands = range(self.settings.bands) if values else ()
        return tuple(self.hasher.bucket(values[band * rows : (band + 1) * rows], band) for band in bands)

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(words(self.settings.stop_words))
