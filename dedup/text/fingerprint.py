"""A text becomes a fingerprint: all that later steps know of it (docs/semantics.md, section 1).

`Fingerprinter` ties the steps together: clean, split, normalise, hash, shingle, sign. The compiled kernel
does all of them at once (`native.py`); where there is none, and for the few texts that it hands back, the
Python modules do them one by one. Pure: equal text, title, language, settings and models give equal
fingerprints on every machine whose Python has the same Unicode tables, with the kernel and without.
"""

from __future__ import annotations

import hashlib
import struct
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dedup.base.settings import PRINT_BYTES, PRINT_KEYS, Settings
from dedup.text import damaged
from dedup.text.batch import BatchMaker
from dedup.text.fingerprints import A_ROW_EACH, Fingerprints
from dedup.text.fingerprints import Fingerprint as Fingerprint
from dedup.text.native import NativeKernel, Prepared, library
from dedup.text.normalize import MOST_GROWTH, normal_size, words
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.sentences import SentenceSplitter

ALGORITHM_REVISION = 4
"""Raised by one whenever code or the shipped sentence parameters change what a fingerprint holds, which
`tests/text/test_golden.py` notices, or what marks follow from it without a setting that does."""

UNICODE_VERSION = unicodedata.unidata_version
"""Of this Python's tables, which decide what a word is and how it is folded."""


BATCH_CHARACTERS = 1 << 17
"""Texts are hashed together up to this size: enough for arrays to pay, and few enough to stay in the
processor's cache. It bounds the memory: 5 MB on news; a longer text takes 100 bytes for each of its words."""


LANGUAGES_KEPT = 256  # Names of languages whose parameters are remembered: articles may name any number


class UnreadableError(Exception):
    """The text has no fingerprint; the message is the reason that is stored with the `failed` mark."""


class _Text(NamedTuple):
    """A text on its way: its place in its batch, its fingerprint version, and with what it is read: a kernel,
    for which it is prepared, or the reference.
    """

    place: int
    text: str
    title: str | None
    language: str | None
    version: int
    kernel: NativeKernel | None = None
    prepared: Prepared | None = None


class Fingerprinter:
    """Makes fingerprints under settings of the kind "fingerprint".

    Args:
        models: the sentence parameters of languages besides English.
        compiled: whether to use the compiled kernel where there is one.
    """

    def __init__(
        self, settings: Settings, models: Mapping[str, PunktModel] | None = None, *, compiled: bool = True
    ) -> None:
        self.settings, self._settings_digest = settings, settings.digest("fingerprint")
        self._compiled = compiled and library() is not None
        self._models = dict(models or {})
        # By the language of the sentence parameters: articles may name any number of others.
        self._splitters: dict[str, SentenceSplitter] = {}
        self._kernels: dict[str, NativeKernel] = {}
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
        """Every sentence with its hash, None if it is too short to count; none of a text too long."""
        try:
            self._check_size(text)
        except UnreadableError:
            return []
        found = self.splitter(language).sentences(text)
        return list(zip(found, self._maker.sentences(found), strict=True))

    def fingerprint(self, text: str, language: str | None = None, title: str | None = None) -> Fingerprint:
        """The fingerprint of a text; the title is part of the content of a short text, and of no other.

        Raises UnreadableError: the text is empty or too long; the message says which.
        """
        made = self._gathered([self._read(0, text, language, title)], 1, {})
        one = made.one(0)
        if one is None:
            raise UnreadableError(made.reasons[0])
        return one

    def fingerprint_many(self, tasks: Sequence[TextTask]) -> Fingerprints:
        """The fingerprints of many texts, in order. Whatever a text can do, it does not stop the others.

        Raises MemoryError: that is a matter of the machine, and says nothing about a text.
        """
        parts: list[Fingerprints] = []
        given: list[_Text] = []
        reasons: dict[int, str] = {}
        size = count = 0
        for task in tasks:
            try:
                if task.characters is not None:
                    raise too_long(task.characters, self.settings)
                given.append(self._read(count, task.text, task.language, task.title))
                size += len(task.text) + len(task.title or "")
            except UnreadableError as error:
                reasons[count] = str(error)
            except MemoryError:
                raise
            except Exception as error:
                reasons[count] = _unreadable(error)
            count += 1
            if size >= BATCH_CHARACTERS:
                parts.append(self._safely_gathered(given, count, reasons))
                given, reasons, size, count = [], {}, 0, 0
        parts.append(self._safely_gathered(given, count, reasons))
        return Fingerprints.joined(parts)

    def _read(self, place: int, text: str, language: str | None, title: str | None) -> _Text:
        self._check_size(text)
        version = self.version(language)
        if self._compiled:
            kernel = self._kernel(language)
            if prepared := kernel.prepared(text):
                return _Text(place, text, title, language, version, kernel, prepared)
        return _Text(place, text, title, language, version)

    def _check_size(self, text: str) -> None:
        limit = self.settings.text_max_characters
        if len(text) > limit:
            raise too_long(len(text), self.settings)
        # Most texts are so short that they need not be counted.
        if len(text) * MOST_GROWTH > limit and (size := normal_size(text)) > limit:
            raise too_long(size, self.settings, " when normalised")

    def _safely_gathered(self, given: list[_Text], count: int, reasons: dict[int, str]) -> Fingerprints:
        """The same, also where a text breaks the program: then each is tried alone."""
        try:
            return self._gathered(given, count, reasons)
        except MemoryError:
            raise
        except Exception:
            whole: list[_Text] = []
            for one in given:
                try:
                    self._gathered([one._replace(place=0)], 1, {})
                    whole.append(one)
                except MemoryError:
                    raise
                except Exception as error:
                    reasons[one.place] = _unreadable(error)
            return self._gathered(whole, count, reasons)

    def _gathered(self, given: list[_Text], count: int, reasons: dict[int, str]) -> Fingerprints:
        """The fingerprints of so many texts: of those that were read, and the reasons of the others."""
        by_kernel: dict[NativeKernel | None, list[_Text]] = {}
        for one in given:
            by_kernel.setdefault(one.kernel, []).append(one)
        rest = by_kernel.pop(None, [])
        parts: list[tuple[list[_Text], Fingerprints]] = []
        for kernel, some in by_kernel.items():
            assert kernel
            prepared = [one.prepared for one in some if one.prepared]
            found, left = kernel.make_many(prepared, [one.title for one in some])
            parts.append((some, found))
            rest += [some[place] for place in left]
        if rest:
            sentences = [self.splitter(one.language).sentences(one.text) for one in rest]
            parts.append((rest, self._maker.make(sentences, [one.title for one in rest])))
        whole = len(parts) == 1 and len(parts[0][0]) == count
        made = parts[0][1] if whole else self._placed(parts, count)
        why = dict.fromkeys(np.flatnonzero(made.word_count == 0).tolist(), "empty: the text has no words")
        why |= reasons
        for one in given:
            made.version[one.place] = 0 if one.place in why else one.version
        if self.settings.prints:
            made = self._with_prints(made, given)
        return replace(made, reasons=tuple(map(why.get, range(count))))

    def _with_prints(self, made: Fingerprints, given: list[_Text]) -> Fingerprints:
        """Signatures go on with the prints of the texts, and buckets with their keys; a text without shingles
        has no print."""
        places = np.array([one.place for one in given if made.shingle_count[one.place]], np.int64)
        prints = np.zeros((len(made), PRINT_BYTES), np.uint8)
        keys = np.repeat(made.buckets[:, :1], PRINT_KEYS, axis=1)
        texts = {one.place: one.text for one in given}
        prints[places], found = self._printer.prints([texts[place] for place in places.tolist()])
        printed = prints[places, : damaged.SIZE_BYTES].any(axis=1)
        keys[places[printed]] = found[printed]
        return replace(
            made,
            signature=np.concatenate([made.signature, prints], axis=1),
            buckets=np.concatenate([made.buckets, keys], axis=1),
        )

    @cached_property
    def _printer(self) -> damaged.Printer:
        return damaged.Printer(self.settings.hash_key, compiled=self._compiled)

    def _placed(self, parts: list[tuple[list[_Text], Fingerprints]], count: int) -> Fingerprints:
        """So many fingerprints, each at its place; later parts count, and where there is none are zeros."""
        made = Fingerprints.unmade(count, self.settings.signature_size, self.settings.bands)
        hashes = [made.sentence_hashes] * count
        for texts, part in parts:
            places = [one.place for one in texts]
            for name in A_ROW_EACH:
                getattr(made, name)[places] = getattr(part, name)
            for place, found in zip(
                places, np.split(part.sentence_hashes, part.sentence_starts[1:-1]), strict=True
            ):
                hashes[place] = found
        starts = np.cumsum([0, *map(len, hashes)], dtype=np.int64)
        return replace(
            made, sentence_hashes=np.concatenate([made.sentence_hashes, *hashes]), sentence_starts=starts
        )

    @cached_property
    def _maker(self) -> BatchMaker:
        return BatchMaker(self.settings)

    def _kernel(self, language: str | None) -> NativeKernel:
        chosen = self._known(language)
        if chosen not in self._kernels:
            model = self.model(language)
            made_by = self._settings_digest, model.checksum
            if made_by not in _KERNELS and len(_KERNELS) >= KERNELS_KEPT:
                _KERNELS.clear()
            kernel = _KERNELS.get(made_by) or NativeKernel(self.settings, model)
            self._kernels[chosen] = _KERNELS[made_by] = kernel
        return self._kernels[chosen]

    def splitter(self, language: str | None) -> SentenceSplitter:
        chosen = self._known(language)
        if chosen not in self._splitters:
            self._splitters[chosen] = SentenceSplitter(self.model(language))
        return self._splitters[chosen]

    def _find_known(self, language: str | None) -> str:
        """The language of a text if it has sentence parameters, else ""."""
        chosen = self.language(language)
        return chosen if chosen == "en" or chosen in self._models else ""


_KERNELS: dict[tuple[str, str], NativeKernel] = {}
"""To make one takes 50 ms, and a worker has new settings, mostly equal ones, at every batch."""
KERNELS_KEPT = 8  # Each has the words of a language: 1.2 MB for English


def _unreadable(error: Exception) -> str:
    return f"unreadable: {type(error).__name__}"


def too_long(characters: int, settings: Settings, when: str = "") -> UnreadableError:
    return UnreadableError(
        f"too long: {characters:,} characters{when}, the limit is {settings.text_max_characters:,}"
    )


def base_language(code: str | None) -> str | None:
    """The plain language code of a tag: `en-GB` and `eng` are `en`; None and "" are None."""
    if not code:
        return None
    base = code.replace("_", "-").split("-")[0].strip().lower()
    return {"eng": "en"}.get(base, base) or None


class TextTask(NamedTuple):
    """A stored text to be fingerprinted. A tuple, which costs a quarter of what a frozen dataclass does.

    Attributes:
        id, revision: of the article, and of what its fingerprint is made from.
        characters: of a text that is too long and was left in the database, how long it is; `text` is empty.
        byline: for its credits; no part of the fingerprint.
    """

    id: int
    revision: int
    language: str | None
    title: str | None
    text: str
    characters: int | None = None
    byline: str | None = None


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """What became of a text: a fingerprint, or the reason why there is none."""

    article_id: int
    revision: int
    fingerprint: Fingerprint | None
    reason: str | None = None


def fingerprint_task(fingerprinter: Fingerprinter, task: TextTask) -> Fingerprinted:
    """Fingerprint a text. Whatever a text can do, it must not stop the others, but for a MemoryError."""
    try:
        if task.characters is not None:
            raise too_long(task.characters, fingerprinter.settings)
        made = fingerprinter.fingerprint(task.text, task.language, task.title)
    except UnreadableError as error:
        return Fingerprinted(task.id, task.revision, None, str(error))
    except MemoryError:
        raise
    except Exception as error:
        return Fingerprinted(task.id, task.revision, None, _unreadable(error))
    return Fingerprinted(task.id, task.revision, made)
