"""A text becomes a fingerprint: all that later steps know of it (SEMANTICS section 1).

`Fingerprinter` ties the steps together: clean, split, normalise, hash, shingle, sign. Pure: equal text,
language, settings and models give equal fingerprints, on every machine. Read next: `rules/pair.py`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dedup.settings import Settings
from dedup.text.normalize import words
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.shingles import shingles
from dedup.text.signature import Signature, buckets, hash64, hash_set, minhash, sketch

if TYPE_CHECKING:
    from dedup.text.sentences import SentenceSplitter

ALGORITHM_REVISION = 1
"""Raised by one whenever code changes what a fingerprint holds; `tests/text/test_golden.py` notices."""


class UnreadableError(Exception):
    """The text has no fingerprint; the message is the reason that is stored with the `failed` mark."""


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """What is kept of a text.

    Attributes:
        version: which algorithm, settings and sentence parameters made it; signed 64 bits.
        content_hash: of all normalised words in order; signed 64 bits.
        sentence_hashes: distinct hashes of the sentences that count, in order of appearance.
        signature: shape (k,) of uint32, or (0,) for a text without shingles.
        buckets: one key per band, or none.
        sketch: the smallest shingle hash (of the words where there is no shingle).
        word_count, shingle_count: how much evidence the text offers.
    """

    version: int
    content_hash: int
    sentence_hashes: tuple[int, ...]
    signature: Signature
    buckets: tuple[int, ...]
    sketch: int
    word_count: int
    shingle_count: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (
            self.version,
            self.content_hash,
            self.sentence_hashes,
            self.signature.astype("<u4").tobytes(),
            self.buckets,
            self.sketch,
            self.word_count,
            self.shingle_count,
        )


class Fingerprinter:
    """Makes fingerprints under one set of settings.

    Args:
        settings: the corpus settings; only those of the kind "fingerprint" matter here.
        models: Punkt parameters per language besides the shipped English ones.
    """

    def __init__(self, settings: Settings, models: Mapping[str, PunktModel] | None = None) -> None:
        self.settings = settings
        self._models = dict(models or {})
        self._splitters: dict[str, SentenceSplitter] = {}
        self._versions: dict[str, int] = {}

    def language(self, given: str | None) -> str:
        """The language whose sentence parameters a text gets: the given one or the corpus default."""
        return base_language(given) or base_language(self.settings.default_language) or ""

    def model(self, language: str | None) -> PunktModel:
        """The sentence parameters for a language: trained by the user, shipped, or neutral."""
        chosen = self.language(language)
        if chosen in self._models:
            return self._models[chosen]
        return english() if chosen == "en" else NEUTRAL

    def version(self, language: str | None) -> int:
        """The fingerprint version for a language: one signed 64-bit number."""
        chosen = self.language(language)
        if chosen not in self._versions:
            parts = (str(ALGORITHM_REVISION), self._settings_digest, self.model(chosen).checksum)
            digest = hashlib.sha256("\n".join(parts).encode()).digest()
            self._versions[chosen] = int(struct.unpack("<q", digest[:8])[0])
        return self._versions[chosen]

    def sentences(self, text: str, language: str | None = None) -> list[tuple[str, int | None]]:
        """Every sentence of a text with its hash, or None where it is too short to count."""
        found = []
        for sentence in self._splitter(language).sentences(text):
            normal = " ".join(words(sentence))
            counts = len(normal) >= self.settings.sentence_min_characters
            found.append((sentence, hash64(normal) if counts else None))
        return found

    def fingerprint(self, text: str, language: str | None = None) -> Fingerprint:
        """The fingerprint of a text.

        Raises:
            UnreadableError: the text is empty, too long or too short; the message says which.
        """
        settings = self.settings
        if len(text) > settings.text_max_characters:
            raise UnreadableError(
                f"too long: {len(text):,} characters, the limit is {settings.text_max_characters:,}"
            )
        hashes: dict[int, None] = {}
        all_words: list[str] = []
        for sentence in self._splitter(language).sentences(text):
            found = words(sentence)
            all_words += found
            normal = " ".join(found)
            if len(normal) >= settings.sentence_min_characters:
                hashes[hash64(normal)] = None
        if not all_words:
            raise UnreadableError("empty: the text has no words")
        if len(all_words) < settings.text_min_words:
            raise UnreadableError(
                f"too short: {len(all_words)} words, the limit is {settings.text_min_words}"
            )
        shingle_set = shingles(all_words, settings.stop_word_length, self._stop_words)
        shingle_hashes = hash_set(shingle_set)
        signature = minhash(shingle_hashes, settings.signature_size)
        return Fingerprint(
            version=self.version(language),
            content_hash=hash64(" ".join(all_words)),
            sentence_hashes=tuple(hashes),
            signature=signature,
            buckets=tuple(buckets(signature, settings.bands, settings.rows)),
            sketch=sketch(shingle_hashes if shingle_set else hash_set(set(all_words))),
            word_count=len(all_words),
            shingle_count=len(shingle_set),
        )

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(words(self.settings.stop_words))

    @cached_property
    def _settings_digest(self) -> str:
        return self.settings.digest("fingerprint")

    def _splitter(self, language: str | None) -> SentenceSplitter:
        chosen = self.language(language)
        if chosen not in self._splitters:
            from dedup.text.sentences import SentenceSplitter  # NLTK takes half a second to import

            self._splitters[chosen] = SentenceSplitter(self.model(chosen))
        return self._splitters[chosen]


def base_language(code: str | None) -> str | None:
    """The plain language code of a tag: `en-GB` and `eng` are `en`; None and "" are None."""
    if not code:
        return None
    base = code.replace("_", "-").split("-")[0].strip().lower()
    return {"eng": "en"}.get(base, base) or None
