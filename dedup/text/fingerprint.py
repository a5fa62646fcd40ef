"""A text becomes a fingerprint: all that later steps know of it (docs/semantics.md, section 1).

`Fingerprinter` ties the steps together: clean, split, normalise, hash, shingle, sign. Pure: equal text,
title, language, settings and models give equal fingerprints on every machine whose Python has the same
Unicode tables.
"""

from __future__ import annotations

import hashlib
import struct
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from dedup.settings import Settings
from dedup.text.fingerprints import Fingerprint as Fingerprint
from dedup.text.fingerprints import Fingerprints
from dedup.text.hashing import Hasher, hash_set
from dedup.text.normalize import words
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.shingles import shingles
from dedup.text.signature import EMPTY, buckets, minhash, signature

if TYPE_CHECKING:
    from dedup.text.sentences import SentenceSplitter
    from dedup.text.tasks import TextTask

ALGORITHM_REVISION = 1
"""Raised by one whenever code changes what a fingerprint holds; `tests/text/test_golden.py` notices."""

UNICODE_VERSION = unicodedata.unidata_version
"""Of this Python's tables, which decide what a word is and how it is folded."""


class UnreadableError(Exception):
    """The text has no fingerprint; the message is the reason that is stored with the `failed` mark."""


class Fingerprinter:
    """Makes fingerprints under one set of settings.

    Args:
        settings: the corpus settings; only those of the kind "fingerprint" matter here.
        models: Punkt parameters per language besides the shipped English ones.
    """

    def __init__(self, settings: Settings, models: Mapping[str, PunktModel] | None = None) -> None:
        self.settings = settings
        self._hasher = Hasher(settings.hash_key)
        self._models = dict(models or {})
        # By the language of the sentence parameters: articles may name any number of others.
        self._splitters: dict[str, SentenceSplitter] = {}
        self._versions: dict[str, int] = {}

    def language(self, given: str | None) -> str:
        """The language whose sentence parameters a text gets: the given one or the corpus default."""
        return base_language(given) or base_language(self.settings.default_language) or ""

    def model(self, language: str | None) -> PunktModel:
        """The sentence parameters for a language: trained by the user, shipped, or neutral."""
        chosen = self._known(language)
        if chosen in self._models:
            return self._models[chosen]
        return english() if chosen else NEUTRAL

    def version(self, language: str | None) -> int:
        """The fingerprint version for a language: one signed 64-bit number."""
        chosen = self._known(language)
        if chosen not in self._versions:
            model = self.model(language).checksum
            parts = (str(ALGORITHM_REVISION), UNICODE_VERSION, self._settings_digest, model)
            digest = hashlib.sha256("\n".join(parts).encode()).digest()
            self._versions[chosen] = int(struct.unpack("<q", digest[:8])[0])
        return self._versions[chosen]

    def sentence_hash(self, sentence: str) -> int:
        """The hash of one sentence, whether it counts or not."""
        return self._hasher.text(" ".join(words(sentence)))

    def sentences(self, text: str, language: str | None = None) -> list[tuple[str, int | None]]:
        """Every sentence of a text with its hash, or None where it is too short to count."""
        found = []
        for sentence in self._splitter(language).sentences(text):
            normal = " ".join(words(sentence))
            counts = len(normal) >= self.settings.sentence_min_characters
            found.append((sentence, self._hasher.text(normal) if counts else None))
        return found

    def fingerprint(self, text: str, language: str | None = None, title: str | None = None) -> Fingerprint:
        """The fingerprint of a text.

        Args:
            title: part of the content of a short text, and of no other.

        Raises:
            UnreadableError: the text is empty or too long; the message says which.
        """
        settings = self.settings
        if len(text) > settings.text_max_characters:
            raise too_long(len(text), settings)
        hashes: dict[int, None] = {}
        all_words: list[str] = []
        for sentence in self._splitter(language).sentences(text):
            found = words(sentence)
            all_words += found
            normal = " ".join(found)
            if len(normal) >= settings.sentence_min_characters:
                hashes[self._hasher.text(normal)] = None
        if not all_words:
            raise UnreadableError("empty: the text has no words")
        content = " ".join(all_words)
        if len(all_words) < settings.text_min_words:
            return self._short(content, title, len(all_words), language)
        content_hash = self._hasher.text(content)
        shingle_set = shingles(all_words, settings.stop_word_length, self._stop_words)
        values = minhash(hash_set(shingle_set, self._hasher), settings.signature_size)
        keys = buckets(values, settings.bands, settings.rows, self._hasher)
        return Fingerprint(
            version=self.version(language),
            content_hash=content_hash,
            sentence_hashes=tuple(hashes),
            signature=signature(values),
            buckets=tuple(keys or [content_hash] * settings.bands),
            word_count=len(all_words),
            shingle_count=len(shingle_set),
        )

    def fingerprint_many(self, tasks: Sequence[TextTask]) -> Fingerprints:
        """The fingerprints of many texts, in order. Whatever a text can do, it does not stop the others.

        Raises:
            MemoryError: that is a matter of the machine, and says nothing about a text.
        """
        return Fingerprints.from_list(
            map(self._attempt, tasks), self.settings.signature_size, self.settings.bands
        )

    def _attempt(self, task: TextTask) -> Fingerprint | str:
        """The fingerprint of a text, or the reason why it has none."""
        try:
            if task.characters is not None:
                raise too_long(task.characters, self.settings)
            return self.fingerprint(task.text, task.language, task.title)
        except UnreadableError as error:
            return str(error)
        except MemoryError:
            raise
        except Exception as error:
            return f"unreadable: {type(error).__name__}"

    def _short(self, content: str, title: str | None, count: int, language: str | None) -> Fingerprint:
        """A text too short to be compared by its parts. No normalised word holds a line break, so the one
        between title and text keeps this content apart from that of every longer text."""
        whole = " ".join(words(title or "")) + "\n" + content
        return Fingerprint(self.version(language), self._hasher.text(whole), (), EMPTY, (), count, 0)

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(words(self.settings.stop_words))

    @cached_property
    def _settings_digest(self) -> str:
        return self.settings.digest("fingerprint")

    def _splitter(self, language: str | None) -> SentenceSplitter:
        chosen = self._known(language)
        if chosen not in self._splitters:
            from dedup.text.sentences import SentenceSplitter  # NLTK takes half a second to import

            self._splitters[chosen] = SentenceSplitter(self.model(language))
        return self._splitters[chosen]

    def _known(self, language: str | None) -> str:
        """The language of a text if it has sentence parameters, else ""."""
        chosen = self.language(language)
        return chosen if chosen == "en" or chosen in self._models else ""


def too_long(characters: int, settings: Settings) -> UnreadableError:
    """Why a text of so many characters has no fingerprint."""
    return UnreadableError(
        f"too long: {characters:,} characters, the limit is {settings.text_max_characters:,}"
    )


def base_language(code: str | None) -> str | None:
    """The plain language code of a tag: `en-GB` and `eng` are `en`; None and "" are None."""
    if not code:
        return None
    base = code.replace("_", "-").split("-")[0].strip().lower()
    return {"eng": "en"}.get(base, base) or None
