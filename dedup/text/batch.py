"""Make fingerprints of many texts in one batch, given the sentences of each text.

The module follows sections 1.3 to 1.8 of docs/semantics.md with arrays; `tests/reference/plain.py` does the
same word by word. `normalised` turns the texts into one `bytes` object, with spaces between words and line
feeds after sentences. Memory: about 100 bytes for each word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import begins_run, ranges, runs
from dedup.base.settings import Settings
from dedup.text.fingerprints import Fingerprints
from dedup.text.hashing import SHINGLE_WORDS, TITLE_END, Hasher, Hashes, mixed
from dedup.text.normalize import LONG_RUN, MAX_WORD_CHARACTERS, normalised, words
from dedup.text.signature import ShingleHashes, buckets, minhash_many, signature

Places = npt.NDArray[np.int64]

_SPACE, _LINE_END = 0x20, 0x0A
_STEP = 8  # Bytes of a word that are hashed per step, as one 64-bit integer
_CHUNK = 1 << 12  # Words hashed per step: arrays of 32 kB, which fit in the processor's L1 cache

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_UPPER = np.uint64(0xFFFFFFFF << 32)
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_STEP + 1)], np.uint64)
"""Masks that keep the first 0 to 8 bytes of a 64-bit integer."""


class Tokens:
    """The words of texts, read from normalised bytes with a line feed after each sentence.

    Attributes:
        hashes, lengths: shape (words,): hash of each word, and length of each word in characters.
        lines: shape (lines + 1,): index of the first word of each line, then the number of all words.
    """

    def __init__(self, data: bytes, hasher: Hasher) -> None:
        starts, stops, line_ends = _places(data)
        if int((stops - starts).max(initial=0)) > MAX_WORD_CHARACTERS:
            data = LONG_RUN.sub(r"\g<0> ", data.decode()).encode()
            starts, stops, line_ends = _places(data)
        self._hasher = hasher
        self.lengths = sizes = stops - starts
        if not data.isascii():
            # Count characters by their first bytes: in UTF-8 only continuation bytes begin with the bits 10.
            first = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
            total = np.zeros(len(first) + 1, np.int64)
            np.cumsum(first, out=total[1:])
            self.lengths = total[stops] - total[starts]
        # A view with a stride of one byte: numbers[i] has the bytes i to i + 7. The last bytes need padding.
        numbers = np.ndarray((len(data) + 1,), "<u8", data + bytes(_STEP), strides=(1,))
        self.hashes: Hashes = np.empty(len(starts), np.uint64)
        for i in range(0, len(starts), _CHUNK):
            part = slice(i, i + _CHUNK)
            self.hashes[part] = _word_hashes(numbers, starts[part], sizes[part], hasher)
        self.lines: Places = np.concatenate([[0], np.searchsorted(starts, line_ends)])
        self._low, self._high = self.hashes & _LOW, self.hashes >> _HALF

    def sequences(self, starts: Places, stops: Places) -> npt.NDArray[np.int64]:
        """Return the hash of each sequence of words: sequence i has the words `starts[i]` to `stops[i] - 1`.

        The sequences must be in order and must not overlap, and no sequence may be empty.
        """
        if not len(starts):
            return np.empty(0, np.int64)
        counts = stops - starts
        coefficients = self._hasher.of_sequence(int(counts.max()))
        # Adjacent sequences are selected with a slice, because a slice copies no words.
        whole = len(starts) == 1 or bool((starts[1:] == stops[:-1]).all())
        where = slice(int(starts[0]), int(stops[-1])) if whole else ranges(starts, counts)
        low, high = self._low[where], self._high[where]
        begin = np.cumsum(counts) - counts
        position = ranges(1, counts)
        upper, lower = (
            np.add.reduceat(low * half[0::2][position] + high * half[1::2][position], begin)
            + counts.astype(np.uint64) * half[1]
            + half[0]
            for half in coefficients
        )
        found: npt.NDArray[np.int64] = (upper & _UPPER | lower >> _HALF).view(np.int64)
        return found

    def line_characters(self) -> Places:
        """Return the length of each line in characters, with one space between words."""
        total = np.concatenate([[0], np.cumsum(self.lengths)])
        counts = np.diff(self.lines)
        found: Places = np.diff(total[self.lines]) + np.maximum(counts - 1, 0)
        return found

    def shingles(self, at: Places) -> ShingleHashes:
        """Return the hashes of the shingles that begin at the places `at`; two words must follow each."""
        coefficients = self._hasher.of_shingle
        found = np.full(len(at), coefficients[0])
        for i in range(SHINGLE_WORDS):
            word = at + i
            found += self._low[word] * coefficients[2 * i + 1]
            found += self._high[word] * coefficients[2 * i + 2]
        return (found >> _HALF).astype(np.uint32)


def _places(data: bytes) -> tuple[Places, Places, Places]:
    """Return three arrays of positions: starts of words, ends of words, and line feeds."""
    found = np.frombuffer(data, np.uint8)
    inside = np.zeros(len(found) + 2, np.bool_)
    np.greater(found, _SPACE, out=inside[1:-1])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return edges[0::2], edges[1::2], np.flatnonzero(found == _LINE_END)


def _word_hashes(numbers: Hashes, starts: Places, lengths: Places, hasher: Hasher) -> Hashes:
    first = numbers[starts] & _FIRST_BYTES[np.minimum(lengths, _STEP)]
    low, high = first & _LOW, first >> _HALF
    halves = [low * half[1] + high * half[2] + half[0] for half in hasher.of_word]
    longer = np.flatnonzero(lengths > _STEP)
    begin, left, i = starts[longer], lengths[longer], 1
    while len(longer):
        begin, left, i = begin + _STEP, left - _STEP, i + 2
        more = numbers[begin] & _FIRST_BYTES[np.minimum(left, _STEP)]
        low, high = more & _LOW, more >> _HALF
        for half, made in zip(hasher.of_word, halves, strict=True):
            made[longer] += low * half[i] + high * half[i + 1]
        go_on = left > _STEP
        longer, begin, left = longer[go_on], begin[go_on], left[go_on]
    upper, lower = halves
    return mixed(upper & _UPPER | lower >> _HALF)


class BatchMaker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.hasher = Hasher(settings.hash_key)
        self._of_buckets = self.hasher.of_buckets(settings.bands, settings.rows)
        listed = [self.hasher.word(word) for word in words(settings.stop_words)]
        self._stop_words = np.array(sorted(set(listed)), np.uint64)

    def make(self, texts: Sequence[Sequence[str]], titles: Sequence[str | None]) -> Fingerprints:
        """Return the fingerprints of texts, each given as its sentences; zeros for a text without words.

        Versions are 0 and reasons are None; the caller must set both.
        """
        settings = self._settings
        made = Fingerprints.unmade(len(texts), settings.signature_size, settings.bands)
        lines = [normalised("\n".join([*text, ""])) for text in texts]
        tokens = Tokens(b"".join(lines), self.hasher)
        first_lines = np.cumsum([0, *map(len, texts)])
        starts = tokens.lines[first_lines]
        made.word_count[:] = np.diff(starts)
        worded = np.flatnonzero(made.word_count)
        made.content_hash[worded] = tokens.sequences(starts[worded], starts[worded + 1])
        made.banded[:] = made.word_count >= max(settings.text_min_words, 1)
        short = np.flatnonzero((made.word_count > 0) & ~made.banded)
        if len(short):
            made.content_hash[short] = self._short([(titles[i], lines[i]) for i in short.tolist()])
        made.buckets[made.banded] = made.content_hash[made.banded, None]
        self._sign(tokens, starts, made)
        sentence_hashes, made.sentence_starts[:] = self._sentences(tokens, first_lines, made.banded)
        return replace(made, sentence_hashes=sentence_hashes)

    def sentences(self, sentences: Sequence[str]) -> list[int | None]:
        """Return the hashes of the sentences of a text; None for a sentence that is too short to count."""
        tokens = Tokens(normalised("\n".join([*sentences, ""])), self.hasher)
        chosen = np.flatnonzero(tokens.line_characters() >= self._settings.sentence_min_characters)
        hashes = tokens.sequences(tokens.lines[chosen], tokens.lines[chosen + 1])
        found: list[int | None] = [None] * len(sentences)
        for place, sentence_hash in zip(chosen.tolist(), hashes.tolist(), strict=True):
            found[place] = sentence_hash
        return found

    def _short(self, contents: Sequence[tuple[str | None, bytes]]) -> npt.NDArray[np.int64]:
        """Return the content hashes of short texts, given the title and the normalised lines of each text."""
        data = bytearray()
        for title, lines in contents:
            data += normalised(title or "").replace(b"\n", b" ")
            data += f"\n{TITLE_END} ".encode() + lines.replace(b"\n", b" ") + b"\n"
        tokens = Tokens(bytes(data), self.hasher)
        return tokens.sequences(tokens.lines[0:-1:2], tokens.lines[2::2])

    def _sentences(
        self, tokens: Tokens, first_lines: Places, banded: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the distinct sentence hashes of each text, and the index of the first hash of each text."""
        text_of = np.repeat(np.arange(len(banded)), np.diff(first_lines))
        counts = tokens.line_characters() >= self._settings.sentence_min_characters
        chosen = np.flatnonzero(counts & banded[text_of])
        text_of = text_of[chosen]
        hashes = tokens.sequences(tokens.lines[chosen], tokens.lines[chosen + 1])
        # The sort is stable, so that the first of several equal sentences in a text is kept.
        order = np.lexsort((hashes, text_of))
        first = np.empty(len(order), np.bool_)
        first[order] = begins_run(hashes[order], text_of[order])
        hashes, text_of = hashes[first], text_of[first]
        return hashes, np.searchsorted(text_of, np.arange(len(banded) + 1))

    def _sign(self, tokens: Tokens, starts: Places, made: Fingerprints) -> None:
        """Write the shingle counts, the signatures and the bucket keys of all texts into `made`."""
        text_of = np.repeat(np.arange(len(made.banded)), np.diff(starts))
        if len(self._stop_words):
            stops = np.isin(tokens.hashes, self._stop_words)
        else:
            stops = tokens.lengths < self._settings.stop_word_length
        stops &= made.banded[text_of]
        # The last two words of a text begin no shingle: such a shingle would include words of the next text.
        stops[np.maximum(starts[1:] - 1, 0)[made.banded]] = False
        stops[np.maximum(starts[1:] - 2, 0)[made.banded]] = False
        at = np.flatnonzero(stops)
        keys = text_of[at].astype(np.uint64) << np.uint64(32) | tokens.shingles(at)
        keys.sort()
        keys = keys[begins_run(keys)]
        if not len(keys):
            return
        of_keys = (keys >> np.uint64(32)).astype(np.int64)
        begin, counts = runs(of_keys)
        signed = of_keys[begin]
        made.shingle_count[signed] = counts
        values = minhash_many(keys.astype(np.uint32), begin, self._settings.signature_size)
        made.signature[signed] = signature(values)
        made.buckets[signed] = buckets(values, self._of_buckets)
