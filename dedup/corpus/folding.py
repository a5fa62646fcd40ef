"""How many bits the keys of the index of fingerprints have, and making that index anew with others.

An article has some 36 keys (sentences and buckets). Folded to few bits they share the entries of the index,
which makes it small; each entry then leads to a few articles that only share the folded key, and a look-up
has to read their rows. Which articles a look-up finds does not depend on it.
"""

from __future__ import annotations

from dedup.corpus.database import Cursor

KEYS_PER_ARTICLE = 36
"""News of 2.8 kB: 20 sentences, and one bucket per band. Only the size of the index depends on it."""

WANTED_SHARERS = 10
"""Keys that share an entry, at most, in an index that is made anew; at least half as many. With 8 it takes
310 bytes an article, and a look-up of all its keys reads 280 rows for nothing, in 0.25 ms."""

MOST_SHARERS = 24
"""With more keys that share an entry the index is made anew: a look-up reads 840 rows for nothing by then."""

FEWEST_BITS = 17
"""Of an empty corpus: enough for 36,000 articles."""

MOST_BITS = 31


def fold_bits(articles: int) -> int:
    """How many bits the keys should have in a corpus of so many articles."""
    slots = max(1, articles * KEYS_PER_ARTICLE // WANTED_SHARERS)
    return min(MOST_BITS, max(FEWEST_BITS, (slots - 1).bit_length()))


def present_bits(cursor: Cursor) -> int:
    """How many bits the keys have."""
    row = cursor.execute("SELECT dedup.folded(ARRAY[2147483647])").fetchone()
    assert row is not None
    return int(row[0][0]).bit_length()


def sharers(articles: int, bits: int) -> float:
    """How many keys share an entry, about, in a corpus of so many articles."""
    return articles * KEYS_PER_ARTICLE / (1 << bits)


def too_coarse(cursor: Cursor, articles: int) -> bool:
    """Whether the index was made for far fewer articles."""
    return sharers(articles, present_bits(cursor)) > MOST_SHARERS


def refold(cursor: Cursor, bits: int) -> None:
    """Make the index anew with keys of so many bits. Takes the settle lock, and 0.07 ms an article."""
    cursor.execute("SELECT dedup.refold(%s)", [bits])
