"""Texts that are split into sentences become fingerprints, many at a time.

Sections 1.3 to 1.8 of docs/semantics.md, over arrays; `plain.py` says the same word by word. It does not
split, and a text that is unreadable does not come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.numbers import begins_run, runs
from dedup.settings import Settings
from dedup.text.hashing import TITLE_END, Hasher
from dedup.text.kernel import Places, Tokens
from dedup.text.normalize import normalised, words
from dedup.text.signature import buckets, minhash_many, signature


@dataclass(frozen=True, slots=True)
class Made:
    """What became of n texts; as in `Fingerprints`, without versions and reasons."""

    content_hash: npt.NDArray[np.int64]
    sentence_hashes: npt.NDArray[np.int64]
    sentence_starts: npt.NDArray[np.int64]
    signature: npt.NDArray[np.uint8]
    buckets: npt.NDArray[np.int64]
    banded: npt.NDArray[np.bool_]
    word_count: npt.NDArray[np.int32]
    shingle_count: npt.NDArray[np.int32]


class BatchMaker:
    """Makes fingerprints under one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._hasher = Hasher(settings.hash_key)
        self._of_buckets = self._hasher.of_buckets(settings.bands, settings.rows)
        listed = [self._hasher.word(word) for word in words(settings.stop_words)]
        self._stop_words = np.array(sorted(set(listed)), np.uint64)

    def make(self, texts: Sequence[Sequence[str]], titles: Sequence[str | None]) -> Made:
        """The fingerprints of some texts, each given by its sentences; one without words has zeros."""
        settings = self._settings
        lines = [normalised("\n".join([*text, ""])) for text in texts]
        tokens = Tokens(b"".join(lines), self._hasher)
        first_lines = np.cumsum([0, *map(len, texts)])
        starts = tokens.lines[first_lines]
        word_count = np.diff(starts)
        content_hash = np.zeros(len(texts), np.int64)
        worded = np.flatnonzero(word_count)
        content_hash[worded] = tokens.sequences(starts[worded], starts[worded + 1])
        banded = word_count >= max(settings.text_min_words, 1)
        short = np.flatnonzero((word_count > 0) & ~banded)
        if len(short):
            content_hash[short] = self._short([(titles[i], lines[i]) for i in short.tolist()])
        sentence_hashes, sentence_starts = self._sentences(tokens, first_lines, banded)
        made = Made(
            content_hash,
            sentence_hashes,
            sentence_starts,
            np.zeros((len(texts), settings.signature_size), np.uint8),
            np.where(banded[:, None], content_hash[:, None], 0).repeat(settings.bands, axis=1),
            banded,
            word_count.astype(np.int32),
            np.zeros(len(texts), np.int32),
        )
        self._sign(tokens, starts, made)
        return made

    def sentences(self, sentences: Sequence[str]) -> list[int | None]:
        """The hashes of the sentences of a text; None of those too short to count."""
        tokens = Tokens(normalised("\n".join([*sentences, ""])), self._hasher)
        chosen = np.flatnonzero(tokens.line_characters() >= self._settings.sentence_min_characters)
        hashes = tokens.sequences(tokens.lines[chosen], tokens.lines[chosen + 1])
        found: list[int | None] = [None] * len(sentences)
        for place, sentence_hash in zip(chosen.tolist(), hashes.tolist(), strict=True):
            found[place] = sentence_hash
        return found

    def _short(self, contents: Sequence[tuple[str | None, bytes]]) -> npt.NDArray[np.int64]:
        """The content hashes of short texts from their titles and lines."""
        data = bytearray()
        for title, lines in contents:
            data += normalised(title or "").replace(b"\n", b" ")
            data += f"\n{TITLE_END} ".encode() + lines.replace(b"\n", b" ") + b"\n"
        tokens = Tokens(bytes(data), self._hasher)
        return tokens.sequences(tokens.lines[0:-1:2], tokens.lines[2::2])

    def _sentences(
        self, tokens: Tokens, first_lines: Places, banded: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The distinct hashes of the sentences that count, and where those of each text start."""
        text_of = np.repeat(np.arange(len(banded)), np.diff(first_lines))
        counts = tokens.line_characters() >= self._settings.sentence_min_characters
        chosen = np.flatnonzero(counts & banded[text_of])
        text_of = text_of[chosen]
        hashes = tokens.sequences(tokens.lines[chosen], tokens.lines[chosen + 1])
        # Equal ones of a text beside each other, the first one first: the others go.
        order = np.lexsort((hashes, text_of))
        first = np.empty(len(order), np.bool_)
        first[order] = begins_run(hashes[order], text_of[order])
        hashes, text_of = hashes[first], text_of[first]
        return hashes, np.searchsorted(text_of, np.arange(len(banded) + 1))

    def _sign(self, tokens: Tokens, starts: Places, made: Made) -> None:
        """Shingles, signatures and buckets, written where they belong."""
        text_of = np.repeat(np.arange(len(made.banded)), np.diff(starts))
        if len(self._stop_words):
            stops = np.isin(tokens.hashes, self._stop_words)
        else:
            stops = tokens.lengths < self._settings.stop_word_length
        stops &= made.banded[text_of]
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
