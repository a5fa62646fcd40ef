"""How many bits the keys of the index of fingerprints have, and when it should be made again with others.

An article has some 36 keys (sentences and buckets). Folded to few bits they share the entries of the index,
which makes it small. Each is folded twice, and a look-up wants both, so it reads hardly a row for nothing: of
n articles s * s / n for each key, where s share an entry. Which articles it finds does not depend on that.
"""

from __future__ import annotations

from dedup.corpus.database import Cursor
from dedup.corpus.statements import Statements

_sql = Statements("memory_engine")

KEYS_PER_ARTICLE = 72
"""News of 2.8 kB: 20 sentences, and one bucket per band, each folded twice. Only the size depends on it."""

WANTED_SHARERS = 256
"""Keys that share an entry, at most, in an index that is made again; at least half as many. A quarter as many
make a look-up a third quicker, and the index a quarter larger."""

MOST_SHARERS = 1_024
"""With more of them the index is made again: to add an article costs the more, the longer the lists are."""

FEWEST_BITS = 16
"""Of an empty corpus, as `migrations/sql/fingerprints.sql` makes it: enough for 233,000 articles."""

MOST_BITS = 31


def fold_bits(articles: int) -> int:
    slots = max(1, articles * KEYS_PER_ARTICLE // WANTED_SHARERS)
    return min(MOST_BITS, max(FEWEST_BITS, (slots - 1).bit_length()))


def present_bits(cursor: Cursor) -> int:
    row = cursor.execute(_sql("largest_key")).fetchone()
    assert row is not None
    return int(row[0][0]).bit_length()


def sharers(articles: int, bits: int) -> float:
    """How many keys share an entry, about, in a corpus of so many articles."""
    return articles * KEYS_PER_ARTICLE / (1 << bits)


def too_coarse(cursor: Cursor, articles: int) -> bool:
    return sharers(articles, present_bits(cursor)) > MOST_SHARERS
