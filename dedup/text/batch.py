"""Texts that are split into sentences become fingerprints, many at a time.

Sections 1.3 to 1.8 of docs/semantics.md, over arrays; `tests/reference/plain.py` is the same word by word. It
does not split, and a text that is unreadable does not come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import begins_run, runs
from dedup.base.settings import Settings
from dedup.text.fingerprints import Fingerprints
from dedup.text.hashing import TITLE_END, Hasher
from dedup.text.kernel import Places, Tokens
from dedup.text.normalize import normalised, words
from dedup.text.signature import buckets, minhash_many, signature


class BatchMaker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.hasher = Hasher(settings.hash_key)
        self._of_buckets = self.hasher.of_buckets(settings.bands, settings.rows)
        listed = [self.hasher.word(word) for word in words(settings.stop_words)]
        self._stop_words = np.array(sorted(set(listed)), np.uint64)

    def make(self, texts: Sequence[Sequence[str]], titles: Sequence[str | None]) -> Fingerprints:
        """The fingerprints of some texts, each given by its sentences; one without words has zeros.

        Versions and reasons are the caller's: here they are 0 and None.
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
        """The hashes of the sentences of a text; None of those too short to count."""
        tokens = Tokens(normalised("\n".join([*sentences, ""])), self.hasher)
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
        tokens = Tokens(bytes(data), self.hasher)
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

    def _sign(self, tokens: Tokens, starts: Places, made: Fingerprints) -> None:
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
