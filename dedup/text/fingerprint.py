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
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dedup.settings import Settings
from dedup.text.batch import BatchMaker
from dedup.text.fingerprints import Fingerprint as Fingerprint
from dedup.text.fingerprints import Fingerprints
from dedup.text.normalize import MOST_GROWTH, normal_size, words
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.sentences import SentenceSplitter

if TYPE_CHECKING:
    from dedup.text.tasks import TextTask

ALGORITHM_REVISION = 3
"""Raised by one whenever code changes what a fingerprint holds, which `tests/text/test_golden.py` notices, or
what marks follow from it without a setting that does."""

UNICODE_VERSION = unicodedata.unidata_version
"""Of this Python's tables, which decide what a word is and how it is folded."""


BATCH_CHARACTERS = 1 << 17
"""Texts are hashed together up to this size: enough for arrays to pay, and few enough to stay in the
processor's cache. It bounds the memory: 5 MB on news; a longer text takes 100 bytes for each of its words."""


LANGUAGES_KEPT = 256  # Names of languages whose parameters are remembered: articles may name any number


class UnreadableError(Exception):
    """The text has no fingerprint; the message is the reason that is stored with the `failed` mark."""


@dataclass(slots=True)
class _Split:
    """A text on its way: its place in its batch, its sentences, its title and its fingerprint version."""

    place: int
    sentences: list[str]
    title: str | None
    version: int


class Fingerprinter:
    """Makes fingerprints under settings of the kind "fingerprint"; `models` has languages besides English."""

    def __init__(self, settings: Settings, models: Mapping[str, PunktModel] | None = None) -> None:
        self.settings = settings
        self._models = dict(models or {})
        # By the language of the sentence parameters: articles may name any number of others.
        self._splitters: dict[str, SentenceSplitter] = {}
        self._versions: dict[str, int] = {}
        self._known = lru_cache(LANGUAGES_KEPT)(self._find_known)

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
        return self._maker.hasher.words(words(sentence))

    def sentences(self, text: str, language: str | None = None) -> list[tuple[str, int | None]]:
        """Every sentence of a text with its hash, None if it is too short to count. A text too long has
        none."""
        try:
            found = self._sentences(text, language)
        except UnreadableError:
            return []
        return list(zip(found, self._maker.sentences(found), strict=True))

    def fingerprint(self, text: str, language: str | None = None, title: str | None = None) -> Fingerprint:
        """The fingerprint of a text; the title is part of the content of a short text, and of no other.

        Raises UnreadableError: the text is empty or too long; the message says which.
        """
        sentences = self._sentences(text, language)
        made = self._gathered([_Split(0, sentences, title, self.version(language))], 1, {})
        one = made.one(0)
        if one is None:
            raise UnreadableError(made.reasons[0])
        return one

    def fingerprint_many(self, tasks: Sequence[TextTask]) -> Fingerprints:
        """The fingerprints of many texts, in order. Whatever a text can do, it does not stop the others.

        Raises MemoryError: that is a matter of the machine, and says nothing about a text.
        """
        parts: list[Fingerprints] = []
        split: list[_Split] = []
        reasons: dict[int, str] = {}
        size = count = 0
        for task in tasks:
            try:
                if task.characters is not None:
                    raise too_long(task.characters, self.settings)
                sentences = self._sentences(task.text, task.language)
                split.append(_Split(count, sentences, task.title, self.version(task.language)))
                size += len(task.text) + len(task.title or "")
            except UnreadableError as error:
                reasons[count] = str(error)
            except MemoryError:
                raise
            except Exception as error:
                reasons[count] = _unreadable(error)
            count += 1
            if size >= BATCH_CHARACTERS:
                parts.append(self._safely_gathered(split, count, reasons))
                split, reasons, size, count = [], {}, 0, 0
        parts.append(self._safely_gathered(split, count, reasons))
        return Fingerprints.joined(parts)

    def _sentences(self, text: str, language: str | None) -> list[str]:
        limit = self.settings.text_max_characters
        if len(text) > limit:
            raise too_long(len(text), self.settings)
        # Most texts are so short that they need not be counted.
        if len(text) * MOST_GROWTH > limit and (size := normal_size(text)) > limit:
            raise too_long(size, self.settings, " when normalised")
        return self.splitter(language).sentences(text)

    def _safely_gathered(self, split: list[_Split], count: int, reasons: dict[int, str]) -> Fingerprints:
        """The same, also where a text breaks the program: then each is tried alone."""
        try:
            return self._gathered(split, count, reasons)
        except MemoryError:
            raise
        except Exception:
            whole: list[_Split] = []
            for one in split:
                try:
                    self._gathered([replace(one, place=0)], 1, {})
                    whole.append(one)
                except MemoryError:
                    raise
                except Exception as error:
                    reasons[one.place] = _unreadable(error)
            return self._gathered(whole, count, reasons)

    def _gathered(self, split: list[_Split], count: int, reasons: dict[int, str]) -> Fingerprints:
        """The fingerprints of so many texts: of those that were split, and the reasons of the others."""
        # The others have no sentences here, so they come out as rows of zeros.
        sentences: list[Sequence[str]] = [()] * count
        titles: list[str | None] = [None] * count
        for one in split:
            sentences[one.place], titles[one.place] = one.sentences, one.title
        made = self._maker.make(sentences, titles)
        found = dict.fromkeys(np.flatnonzero(made.word_count == 0).tolist(), "empty: the text has no words")
        found |= reasons
        for one in split:
            made.version[one.place] = 0 if one.place in found else one.version
        return replace(made, reasons=tuple(map(found.get, range(count))))

    @cached_property
    def _maker(self) -> BatchMaker:
        return BatchMaker(self.settings)

    @cached_property
    def _settings_digest(self) -> str:
        return self.settings.digest("fingerprint")

    def splitter(self, language: str | None) -> SentenceSplitter:
        chosen = self._known(language)
        if chosen not in self._splitters:
            self._splitters[chosen] = SentenceSplitter(self.model(language))
        return self._splitters[chosen]

    def _find_known(self, language: str | None) -> str:
        """The language of a text if it has sentence parameters, else ""."""
        chosen = self.language(language)
        return chosen if chosen == "en" or chosen in self._models else ""


def _unreadable(error: Exception) -> str:
    return f"unreadable: {type(error).__name__}"


def too_long(characters: int, settings: Settings, when: str = "") -> UnreadableError:
    """Why a text of so many characters has no fingerprint."""
    return UnreadableError(
        f"too long: {characters:,} characters{when}, the limit is {settings.text_max_characters:,}"
    )


def base_language(code: str | None) -> str | None:
    """The plain language code of a tag: `en-GB` and `eng` are `en`; None and "" are None."""
    if not code:
        return None
    base = code.replace("_", "-").split("-")[0].strip().lower()
    return {"eng": "en"}.get(base, base) or None
