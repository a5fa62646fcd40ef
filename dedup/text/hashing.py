"""Words become 64-bit hashes, with or without the key of a corpus (docs/semantics.md, section 1).

Without a key: xxh3_64, fast and public, so equal corpora have equal hashes everywhere. With a key: BLAKE2b
(RFC 7693) keyed with it, so that nobody who does not know the key can look for words that collide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from functools import cache

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

Hashes = npt.NDArray[np.uint64]
"""Shape (n,): unsigned 64-bit hashes of the members of a set."""

DIGEST_BYTES = 8
"""64 bits, as Postgres' bigint holds them."""


class Hasher:
    """Hashes under one key.

    Args:
        key: any text; "" is none.

    Attributes:
        unsigned: bytes, and a number that names what is hashed, to an unsigned 64-bit hash.
    """

    def __init__(self, key: str = "") -> None:
        self.unsigned: Callable[..., int] = _keyed(key) if key else xxh3_64_intdigest

    def text(self, text: str) -> int:
        """The hash of a text as a signed 64-bit integer."""
        return signed(self.unsigned(text.encode()))


def hash64(text: str) -> int:
    """The hash of a text without a key, as a signed 64-bit integer, which is what Postgres' bigint holds."""
    return signed(xxh3_64_intdigest(text.encode()))


def hash_set(items: Collection[str], hasher: Hasher | None = None) -> Hashes:
    """The hash of each string of a set, once each; shape (n,), in no particular order."""
    unsigned = hasher.unsigned if hasher else xxh3_64_intdigest
    return np.array([unsigned(item.encode()) for item in items], np.uint64)


def signed(value: int) -> int:
    """An unsigned 64-bit value as the signed one of the same bits."""
    return value - (1 << 64) if value >> 63 else value


def _keyed(key: str) -> Callable[..., int]:
    secret = hashlib.blake2b(key.encode(), digest_size=32).digest()  # a key of any length

    @cache
    def started(seed: int) -> hashlib.blake2b:
        return hashlib.blake2b(digest_size=DIGEST_BYTES, key=secret, salt=seed.to_bytes(8, "little"))

    def hashed(data: bytes, seed: int = 0) -> int:
        state = started(seed).copy()  # the key is taken in once: a third less time
        state.update(data)
        return int.from_bytes(state.digest(), "little")

    return hashed
