"""Call `native.c`, the compiled kernel, which makes the same fingerprints as the reference in Python.

Python classifies characters for C (`native_characters.py`), and normalises texts that are not ASCII to NFC.
Only the reference can read the few texts whose NFKC form depends on neighbouring characters. While C runs,
ctypes lets other Python threads run.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
import unicodedata
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int64, c_uint8, c_void_p
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dedup.base.article import storable
from dedup.base.settings import Settings
from dedup.text import clean, normalize
from dedup.text.fingerprints import Fingerprints
from dedup.text.hashing import Hasher
from dedup.text.native_characters import CODES, COMBINES, NOT_STORABLE, PAGES, is_simple, kinds
from dedup.text.normalize import composed, words
from dedup.text.punkt import PunktModel
from dedup.text.signature import _functions

log = logging.getLogger(__name__)

LIBRARY = Path(__file__).with_name("libnative.so")

_WIDE = f"utf-32-{sys.byteorder[0]}e"
_DONE, _REFERENCE, _EMPTY, _SHORT, _ROOM_WANTED, _PAGE_WANTED, _SEQUENCE = range(7)
ROOM_BYTES, ROOM_KEPT = 1 << 18, 1 << 22
"""Bytes of working memory per thread: at first, and the maximum that is kept after a text."""
_ABBREVIATION, _STARTER, _UNCERTAIN, _FIRST, _COLLOCATION = (1 << bit for bit in range(5))
_CONTEXT_BITS = 8


class _Parameters(ctypes.Structure):
    _fields_ = [
        *[(n, c_void_p) for n in ("of_word", "of_shingle", "of_buckets", "stop_words", "multipliers")],
        *[(name, c_void_p) for name in ("increments", "slots", "pool")],
        *[(name, c_int64) for name in ("mask", "stop_words_count", "stop_length", "min_characters")],
        *[(name, c_int64) for name in ("min_words", "signature_size", "bands", "rows")],
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        *[(name, c_void_p) for name in ("pages", "of_sequence")],
        *[(name, c_char_p) for name in ("text", "title")],
        *[(name, c_int64) for name in ("size", "width", "title_size", "has_title", "sequence_stride")],
        *[(name, c_int64) for name in ("sequence_words", "ideographs", "sentence_ends")],
        ("room", c_void_p),
        ("room_size", c_int64),
        *[(name, c_void_p) for name in ("buckets", "signature")],
        *[(name, c_int64) for name in ("sentence_count", "content_hash", "word_count", "shingle_count")],
        ("wanted", c_int64),
    ]


class _Many(ctypes.Structure):
    _fields_ = [
        *[(name, c_void_p) for name in ("texts", "sizes", "widths", "ideographs", "sentence_ends")],
        *[(name, c_int64) for name in ("count", "next")],
        *[(name, c_void_p) for name in ("content_hash", "sentences", "sentence_starts", "buckets")],
        *[(name, c_void_p) for name in ("signature", "word_count", "shingle_count")],
    ]


class Prepared(NamedTuple):
    """A text encoded for C: `size` characters of `width` bytes each."""

    text: str
    data: bytes
    size: int
    width: int
    ideographs: int  # not 0 if the text has ideographs
    sentence_ends: int


@dataclass(frozen=True, slots=True, eq=False)
class NativeText:
    """The kernel's result for a text; all zeros for a text without words. A short text has no buckets."""

    content_hash: int
    sentence_hashes: npt.NDArray[np.int64]
    signature: npt.NDArray[np.uint8]
    buckets: npt.NDArray[np.int64] | None
    word_count: int
    shingle_count: int


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled kernel; None if this installation lacks it."""
    try:
        found = ctypes.CDLL(str(LIBRARY))
        found.dedup_print.argtypes = [c_void_p, c_int64, c_void_p, c_void_p, c_void_p, c_void_p]
        found.dedup_find_words.argtypes = [c_char_p, c_void_p, c_int64, c_void_p, c_void_p, c_uint8, c_void_p]
        found.dedup_find_words.restype = None
    except (OSError, AttributeError):  # The library is missing, or is of an older version
        return None
    found.dedup_fingerprint.argtypes = [POINTER(_Parameters), POINTER(_Call)]
    found.dedup_fingerprints.argtypes = [POINTER(_Parameters), POINTER(_Call), POINTER(_Many)]
    return found


@cache
def tell_if_missing() -> None:
    """Warn once if the kernel is missing: Python makes the fingerprints more slowly."""
    if library() is None:
        log.warning(
            "dedup has no compiled kernel here and reads texts with Python, more slowly: install dedup"
            " again from a wheel, or on a machine with a C compiler"
        )


class NativeKernel:
    """The kernel, with settings and sentence parameters. Raises OSError: the compiled library is missing."""

    def __init__(self, settings: Settings, model: PunktModel) -> None:
        found = library()
        if found is None:
            raise OSError(f"{LIBRARY.name} is missing: run scripts/setup")
        self._fingerprint, self._fingerprints = found.dedup_fingerprint, found.dedup_fingerprints
        self._settings, self._hasher = settings, Hasher(settings.hash_key)
        self._sequence = _Sequence(self._hasher, 0)
        self._desks = threading.local()
        stop_words = sorted({self._hasher.word(word) for word in words(settings.stop_words)})
        slots, pool, mask = _slots(found, model)
        arrays = [
            self._hasher.of_word,
            self._hasher.of_shingle,
            self._hasher.of_buckets(settings.bands, settings.rows),
            np.array(stop_words, np.uint64),
            *_functions(settings.signature_size),
            slots,
            pool,
        ]
        # Keep the arrays alive, since C has only the addresses.
        self._kept = [np.ascontiguousarray(array) for array in arrays]
        self._parameters = _Parameters(
            *(array.ctypes.data for array in self._kept),
            mask,
            len(stop_words),
            settings.stop_word_length,
            settings.sentence_min_characters,
            settings.text_min_words,
            settings.signature_size,
            settings.bands,
            settings.rows,
        )

    def prepared(self, text: str) -> Prepared | None:
        """Return a text encoded for C; None if the reference must read it. The caller checks the length."""
        if text.isascii() and "\0" not in text:
            return Prepared(text, text.encode(), len(text), 1, 0, 0)
        data = text.encode(_WIDE, "surrogatepass")
        found = kinds(data)
        if found & NOT_STORABLE:
            return self.prepared(storable(text))
        given = text
        if found & normalize.INVISIBLE:
            text = clean._INVISIBLE.sub("", text)
        text = composed(text) if found & normalize.MARK else unicodedata.normalize("NFC", text)
        # NFC and `composed` return the same object for a text that needs no change.
        if text is not given:
            if text.isascii():
                return Prepared(text, text.encode(), len(text), 1, 0, 0)
            data = text.encode(_WIDE)
        if (text is not given or found & COMBINES) and not is_simple(text):
            return None
        some = found & normalize.IDEOGRAPH, found & normalize.SENTENCE_END
        return Prepared(text, data, len(text), 4, *some)

    def make(self, given: Prepared, title: str | None = None) -> NativeText | None:
        """Return the result for a text; None if the reference must read the text."""
        desk = self._desk()
        call, sequence = desk.call, self._sequence
        call.text, call.size, call.width = given.data, given.size, given.width
        call.ideographs, call.sentence_ends = given.ideographs, given.sentence_ends
        call.has_title = call.title_size = 0
        while True:
            pages = desk.take_up(sequence)
            status = self._fingerprint(self._parameters, desk.reference)
            # Keep the page table until C has read it: another thread can replace the shared table meanwhile.
            del pages
            if status == _ROOM_WANTED:
                desk.make_room(call.wanted)
            elif status == _PAGE_WANTED:
                PAGES.with_page(call.wanted)
            elif status == _SEQUENCE:
                sequence = _Sequence(self._hasher, call.wanted)
            elif status == _SHORT and not call.has_title:
                title = unicodedata.normalize("NFKC", normalize.without_mark_runs(title or ""))
                # C needs the same character width for the text and the title.
                call.text = given.text.encode(_WIDE)
                call.title = title.encode(_WIDE, "surrogatepass")
                call.width, call.title_size, call.has_title = 4, len(title), 1
            else:
                return desk.clear(status)

    def make_many(
        self, given: Sequence[Prepared], titles: Sequence[str | None]
    ) -> tuple[Fingerprints, list[int]]:
        """Return fingerprints (without versions and reasons), and places of texts that need the reference."""
        count, places = len(given), len(Prepared._fields)
        made = Fingerprints.unmade(count, self._settings.signature_size, self._settings.bands)
        of_texts = [np.array([one[i] for one in given], np.int64) for i in range(2, places)]
        sentences = np.empty(of_texts[0].sum(), np.int64)  # Room for the maximum: a sentence per character
        rows: list[npt.NDArray[Any]] = [made.content_hash, sentences, made.sentence_starts, made.buckets]
        rows += [made.signature, made.word_count, made.shingle_count]
        texts = (c_char_p * count)(*(one.data for one in given))
        addresses = (ctypes.addressof(texts), *(a.ctypes.data for a in of_texts))
        many = _Many(*addresses, count, 0, *(a.ctypes.data for a in rows))
        desk, others = self._desk(), dict[int, NativeText | None]()
        while True:
            pages = desk.take_up(self._sequence)
            if self._fingerprints(self._parameters, desk.reference, byref(many)) == _DONE:
                break
            del pages
            # C stops at a text that needs more memory, a table of characters or its title: `make` adds these.
            place = many.next
            others[place] = one = self.make(given[place], titles[place])
            _set_row(made, place, sentences, one)
            many.next = place + 1
        made.banded[:] = made.word_count > 0
        for place, one in others.items():
            made.banded[place] = one is not None and one.buckets is not None
        kept = sentences[: made.sentence_starts[count]].copy()
        return replace(made, sentence_hashes=kept), [place for place, one in others.items() if one is None]

    def _desk(self) -> _Desk:
        desk: _Desk | None = getattr(self._desks, "desk", None)
        if desk is None:
            desk = self._desks.desk = _Desk(self._settings)
        return desk


def _set_row(
    made: Fingerprints, place: int, sentences: npt.NDArray[np.int64], one: NativeText | None
) -> None:
    """Write the result of one text, or zeros, into a row; append the sentence hashes to the previous ones."""
    one = one or NativeText(0, _NONE, np.zeros_like(made.signature[place]), None, 0, 0)
    start = made.sentence_starts[place]
    made.sentence_starts[place + 1] = stop = start + len(one.sentence_hashes)
    sentences[start:stop] = one.sentence_hashes
    made.content_hash[place], made.signature[place] = one.content_hash, one.signature
    made.buckets[place] = 0 if one.buckets is None else one.buckets
    made.word_count[place], made.shingle_count[place] = one.word_count, one.shingle_count


class _Sequence:
    """Coefficients to hash sequences of up to `words` words, and their address for C."""

    def __init__(self, hasher: Hasher, words: int) -> None:
        self._kept = np.ascontiguousarray(hasher.of_sequence(words))
        stride = self._kept.shape[1]
        self.shown = self._kept.ctypes.data, stride, (stride - 2) // 2


_NONE = np.empty(0, np.int64)


class _Desk:
    """The arguments, results and working memory with which one thread calls the kernel."""

    def __init__(self, settings: Settings) -> None:
        self.call = _Call()
        self.reference = byref(self.call)
        self._buckets = np.zeros(settings.bands, np.int64)
        self._signature = np.zeros(settings.signature_size, np.uint8)
        self.call.buckets, self.call.signature = self._buckets.ctypes.data, self._signature.ctypes.data
        self.make_room(ROOM_BYTES)

    def take_up(self, sequence: _Sequence) -> npt.NDArray[np.uint64]:
        """Set the arguments that all texts share; return the page table, which must live while C runs."""
        pages, call = PAGES.table, self.call
        call.pages = pages.ctypes.data
        call.of_sequence, call.sequence_stride, call.sequence_words = sequence.shown
        return pages

    def make_room(self, size: int) -> None:
        # Free the old memory before the new memory is taken: together they could be too much.
        self._room = _NONE
        self._room = np.empty(-(-size // 8), np.int64)
        self.call.room, self.call.room_size = self._room.ctypes.data, self._room.nbytes

    def clear(self, status: int) -> NativeText | None:
        """Return a copy of the result, and clear the results for the next text."""
        call, made = self.call, None
        if status == _EMPTY:
            made = NativeText(0, _NONE, np.zeros_like(self._signature), None, 0, 0)
        elif status == _SHORT:
            made = NativeText(
                call.content_hash, _NONE, np.zeros_like(self._signature), None, call.word_count, 0
            )
        elif status == _DONE:
            made = NativeText(
                call.content_hash,
                self._room[: call.sentence_count].copy(),
                self._signature.copy() if call.shingle_count else np.zeros_like(self._signature),
                self._buckets.copy(),
                call.word_count,
                call.shingle_count,
            )
        call.text = call.title = None
        if self._room.nbytes > ROOM_KEPT:
            self.make_room(ROOM_BYTES)
        return made


def _slots(found: ctypes.CDLL, model: PunktModel) -> tuple[Any, npt.NDArray[np.uint32], int]:
    """Return the words in sentence parameters as a hash table for C: slots, characters and index mask."""
    flags: dict[tuple[int, ...], int] = {}

    def add(word: str, flag: int, second: str | None = None) -> None:
        key = tuple(map(ord, word)) + (() if second is None else (CODES, *map(ord, second)))
        flags[key] = flags.get(key, 0) | flag

    for word in model.abbrev_types:
        add(word, _ABBREVIATION | _UNCERTAIN)
    for word in model.sent_starters:
        add(word, _STARTER)
    for first, second in model.collocations:
        add(first, _FIRST | _UNCERTAIN)
        add(first, _COLLOCATION, second)
    for word, seen in model.ortho_context.items():
        add(word, (seen & 127) << _CONTEXT_BITS)
    size = 1 << (2 * len(flags) + 1).bit_length()
    slots = np.zeros((size, 3), np.uint64)
    pool = np.array([code for key in flags for code in key] or [0], np.uint32)
    ends = np.cumsum([len(key) for key in flags], dtype=np.int64)
    values = np.array(list(flags.values()), np.uint32)
    arrays = [c_void_p(array.ctypes.data) for array in (pool, ends, values)]
    found.dedup_fill_slots(c_void_p(slots.ctypes.data), c_int64(size - 1), *arrays, c_int64(len(flags)))
    return slots, pool, size - 1
