"""Words become shingles: a stop word followed by the next two words (SpotSigs).

Prose is full of stop words, navigation and advertisements have hardly any, so these shingles follow
the story and not the page around it. Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008, with
antecedents at distance 1 and chains of 2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def shingles(words: Sequence[str], stop_word_length: int, stop_words: Collection[str] = ()) -> set[str]:
    """The shingles of normalised words, each as its three words joined by spaces.

    Stop words are the explicit list or, without one, words of fewer characters than `stop_word_length`.

    >>> sorted(shingles("now is the time for all good men".split(), 4))
    ['all good men', 'for all good', 'is the time', 'now is the', 'the time for']
    """
    triples = zip(words, words[1:], words[2:], strict=False)
    if stop_words:
        return {f"{a} {b} {c}" for a, b, c in triples if a in stop_words}
    return {f"{a} {b} {c}" for a, b, c in triples if len(a) < stop_word_length}
