"""Make fingerprints: clean, split, normalise, hash, shingle and sign texts (docs/semantics.md, section 1).

The compiled kernel does all steps in one call (`native.py`). Without the kernel, and for the few texts that
the kernel cannot read, Python modules do the steps. Equal text, title, language, scope, settings and models
give equal fingerprints on every machine whose Python has the same Unicode tables, with the kernel or without.
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

from dedup.base.article import TextTask as TextTask
from dedup.base.settings import PRINT_BYTES, PRINT_KEYS, Settings
from dedup.text import damaged
from dedup.text.batch import BatchMaker
from dedup.text.fingerprints import A_ROW_EACH, Fingerprints
from dedup.text.fingerprints import Fingerprint as Fingerprint
from dedup.text.native import NativeKernel, Prepared, library
from dedup.text.normalize import MOST_GROWTH, normal_size, words
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.sentences import SentenceSplitter

# Increase by one if a change of the code or of the shipped sentence parameters changes fingerprints or marks.
# If fingerprints change, tests/text/test_specification.py fails. Marks change if equal fingerprints and
# settings now lead to different marks.
ALGORITHM_REVISION = 5

# Part of each fingerprint version: Unicode tables decide which characters form words and how case folds.
UNICODE_VERSION = unicodedata.unidata_version

# Texts are hashed in batches of about this size: large enough for fast array operations, small enough for the
# processor's cache. Memory is at most 5 MB for news; a longer text needs 100 bytes per word.
BATCH_CHARACTERS = 1 << 17

LANGUAGES_KEPT = 256  # Maximum number of cached language names; articles can name any number
SCOPES_KEPT = 4_096  # Maximum number of cached hashes of scopes


class UnreadableError(Exception):
    """A text cannot be fingerprinted; the message is stored as the reason of the mark `failed`."""


class _Text(NamedTuple):
    """A text and its place in the batch. `kernel` and `prepared`: None if Python, not C, reads the text."""

    place: int
    text: str
    title: str | None
    language: str | None
    scope: str | None
    version: int
    kernel: NativeKernel | None = None
    prepared: Prepared | None = None


class Fingerprinter:
    """Maker of fingerprints with given settings; `models` has the user's sentence parameters by language."""

    def __init__(
        self, settings: Settings, models: Mapping[str, PunktModel] | None = None, *, compiled: bool = True
    ) -> None:
        self.settings, self._settings_digest = settings, settings.digest("fingerprint")
        self._compiled = compiled and library() is not None
        self._models = dict(models or {})
        # Languages without sentence parameters share the key "": articles can name any number of languages.
        self._splitters: dict[str, SentenceSplitter] = {}
        self._kernels: dict[str, NativeKernel] = {}
        self._versions: dict[str, int] = {}
        self._known = lru_cache(LANGUAGES_KEPT)(self._find_known)
        self._scope = lru_cache(SCOPES_KEPT)(self._hash_scope)

    def language(self, given: str | None) -> str:
        """Return the base language of a code; without a code, the default language of the corpus."""
        return base_language(given) or base_language(self.settings.default_language) or ""

    def model(self, language: str | None) -> PunktModel:
        """Return the sentence parameters for a language: trained by the user, shipped, or neutral."""
        chosen = self._known(language)
        if chosen in self._models:
            return self._models[chosen]
        return english() if chosen else NEUTRAL

    def version(self, language: str | None) -> int:
        """Return the fingerprint version for a language, a signed 64-bit number."""
        chosen = self._known(language)
        if chosen not in self._versions:
            model = self.model(language).checksum
            parts = (str(ALGORITHM_REVISION), UNICODE_VERSION, self._settings_digest, model)
            digest = hashlib.sha256("\n".join(parts).encode()).digest()
            self._versions[chosen] = int(struct.unpack("<q", digest[:8])[0])
        return self._versions[chosen]

    def sentence_hash(self, sentence: str, scope: str | None = None) -> int:
        """Return the hash of a sentence, even if the sentence is too short to count."""
        return self._maker.hasher.words(words(sentence)) ^ self._scope(scope)

    def sentences(
        self, text: str, language: str | None = None, scope: str | None = None
    ) -> list[tuple[str, int | None]]:
        """Return (sentence, hash) pairs, hash None for a short sentence; [] if the text is too long."""
        try:
            self._check_size(text)
        except UnreadableError:
            return []
        found = self.splitter(language).sentences(text)
        changed = self._scope(scope)
        hashes = (key if key is None else key ^ changed for key in self._maker.sentences(found))
        return list(zip(found, hashes, strict=True))

    def sentences_of(self, task: TextTask) -> list[tuple[str, int | None]]:
        """Return the sentences of a stored text, with the hashes under which they are stored."""
        return self.sentences(task.text, task.language, task.scope)

    def fingerprint(
        self, text: str, language: str | None = None, title: str | None = None, scope: str | None = None
    ) -> Fingerprint:
        """Return the fingerprint of a text; a title counts only for a short text. Raises UnreadableError."""
        made = self._gathered([self._read(0, text, language, title, scope)], 1, {})
        one = made.one(0)
        if one is None:
            raise UnreadableError(made.reasons[0])
        return one

    def fingerprint_many(self, tasks: Sequence[TextTask]) -> Fingerprints:
        """Return the fingerprints of many texts, in order. A text that causes an error gets a reason."""
        parts: list[Fingerprints] = []
        given: list[_Text] = []
        reasons: dict[int, str] = {}
        size = count = 0
        for task in tasks:
            try:
                if task.characters is not None:
                    raise too_long(task.characters, self.settings)
                given.append(self._read(count, task.text, task.language, task.title, task.scope))
                size += len(task.text) + len(task.title or "")
            except Exception as error:
                reasons[count] = _reason(error)
            count += 1
            if size >= BATCH_CHARACTERS:
                parts.append(self._safely_gathered(given, count, reasons))
                given, reasons, size, count = [], {}, 0, 0
        parts.append(self._safely_gathered(given, count, reasons))
        return Fingerprints.joined(parts)

    def _read(
        self, place: int, text: str, language: str | None, title: str | None, scope: str | None
    ) -> _Text:
        self._check_size(text)
        version = self.version(language)
        if self._compiled:
            kernel = self._kernel(language)
            if prepared := kernel.prepared(text):
                return _Text(place, text, title, language, scope, version, kernel, prepared)
        return _Text(place, text, title, language, scope, version)

    def _check_size(self, text: str) -> None:
        limit = self.settings.text_max_characters
        if len(text) > limit:
            raise too_long(len(text), self.settings)
        # Normalising can lengthen a text. Counting the new length is slow, and needed only near the limit.
        if len(text) * MOST_GROWTH > limit and (size := normal_size(text)) > limit:
            raise too_long(size, self.settings, " when normalised")

    def _safely_gathered(self, given: list[_Text], count: int, reasons: dict[int, str]) -> Fingerprints:
        try:
            return self._gathered(given, count, reasons)
        except MemoryError:
            raise
        except Exception:
            # A text caused an error: try the texts one by one, to find that text.
            whole: list[_Text] = []
            for one in given:
                try:
                    self._gathered([one._replace(place=0)], 1, {})
                    whole.append(one)
                except Exception as error:
                    reasons[one.place] = _reason(error)
            return self._gathered(whole, count, reasons)

    def _gathered(self, given: list[_Text], count: int, reasons: dict[int, str]) -> Fingerprints:
        """Return the fingerprints of `count` texts. `given`: the texts to hash. `reasons`: by index, why
        another text has no fingerprint."""
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
        if any(one.scope is not None for one in given):
            self._confine(made, given)
        return replace(made, reasons=tuple(map(why.get, range(count))))

    def _with_prints(self, made: Fingerprints, given: list[_Text]) -> Fingerprints:
        """Append the print of a text to its signature and buckets. A text without shingles has no print."""
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

    def _confine(self, made: Fingerprints, given: list[_Text]) -> None:
        """Change the hashes of each text by the hash of its scope, so that two scopes share no hash."""
        changes = np.zeros(len(made), np.int64)
        changes[[one.place for one in given]] = [self._scope(one.scope) for one in given]
        made.content_hash[:] ^= changes
        made.buckets[:] ^= changes[:, None]
        made.sentence_hashes[:] ^= np.repeat(changes, np.diff(made.sentence_starts))

    def _hash_scope(self, scope: str | None) -> int:
        return 0 if scope is None else self._maker.hasher.scope(scope)

    @cached_property
    def _printer(self) -> damaged.Printer:
        return damaged.Printer(self.settings.hash_key, compiled=self._compiled)

    def _placed(self, parts: list[tuple[list[_Text], Fingerprints]], count: int) -> Fingerprints:
        """Put the rows of all parts in the order of the texts; of two rows for a text, use the later one."""
        made = Fingerprints.unmade(count, self.settings.signature_size, self.settings.bands)
        hashes = [made.sentence_hashes] * count
        for texts, part in parts:
            places = [one.place for one in texts]
            for name in A_ROW_EACH:
                getattr(made, name)[places] = getattr(part, name)
            pieces = np.split(part.sentence_hashes, part.sentence_starts[1:-1])
            for place, found in zip(places, pieces, strict=True):
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
            # Cache kernels: making one takes 50 ms, and a worker makes a new Fingerprinter for every round.
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
        """Return the base language, or "" if there are no sentence parameters for that language."""
        chosen = self.language(language)
        return chosen if chosen == "en" or chosen in self._models else ""


_KERNELS: dict[tuple[str, str], NativeKernel] = {}  # Keys: digest of the settings, checksum of the model
KERNELS_KEPT = 8  # Maximum number of cached kernels; a kernel with English parameters takes 1.2 MB


def _reason(error: Exception) -> str:
    """Return the reason to store for a text that caused an error; a MemoryError is raised again."""
    # A lack of memory is a problem of the machine, not of the text.
    if isinstance(error, MemoryError):
        raise error
    return str(error) if isinstance(error, UnreadableError) else f"unreadable: {type(error).__name__}"


def too_long(characters: int, settings: Settings, when: str = "") -> UnreadableError:
    return UnreadableError(
        f"too long: {characters:,} characters{when}, the limit is {settings.text_max_characters:,}"
    )


def base_language(code: str | None) -> str | None:
    """Return the base language code of a language tag: `en` for `en-GB` and `eng`; None for None and ""."""
    if not code:
        return None
    base = code.replace("_", "-").split("-")[0].strip().lower()
    return {"eng": "en"}.get(base, base) or None


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """The result for a text: a fingerprint, or the reason why there is no fingerprint."""

    article_id: int
    revision: int
    fingerprint: Fingerprint | None
    reason: str | None = None


def fingerprint_task(fingerprinter: Fingerprinter, task: TextTask) -> Fingerprinted:
    """Fingerprint a text. An error becomes the reason in the result; only a MemoryError is raised."""
    try:
        if task.characters is not None:
            raise too_long(task.characters, fingerprinter.settings)
        made = fingerprinter.fingerprint(task.text, task.language, task.title, task.scope)
    except Exception as error:
        return Fingerprinted(task.id, task.revision, None, _reason(error))
    return Fingerprinted(task.id, task.revision, made)
