"""Stores pins: sentences that are always or never common, and relations of two articles.

Pins of sentences take effect with the next backfill. A trigger makes both articles of a pinned pair stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_column
from dedup.db.statements import Statements
from dedup.rules.pair import Relation
from dedup.store.articles import load_texts
from dedup.text.fingerprint import Fingerprinter

_sql = Statements("store/pins")

Key = tuple[str, str]
"""Two source_ids, the smaller first."""


def key(one: str, other: str) -> Key:
    return (one, other) if one < other else (other, one)


def pin_sentence(
    cursor: Cursor, sentence_hash: int, common: bool, example: str | None, scope: str | None = None
) -> None:
    """Pin a sentence as always or never common. `scope`: the scope that `sentence_hash` was made for."""
    values = {"hash": sentence_hash, "common": common, "example": example, "scope": scope}
    cursor.execute(_sql("pin_sentence"), values)


Words = tuple[str, str | None]
"""The full text of a pinned sentence, and the scope that its hash was made for."""


def pinned_words(cursor: Cursor, fingerprinter: Fingerprinter) -> dict[int, Words | None]:
    """Return the words of pinned sentences by hash; None if no pin and no article has the full text."""
    found: dict[int, Words | None] = {}
    for wanted, example, scope in cursor.execute(_sql("examples")).fetchall():
        # Long examples are shortened when they are stored, and then have a different hash.
        if example is not None and fingerprinter.sentence_hash(example, scope) == wanted:
            found[wanted] = example, scope
            continue
        found[wanted] = None
        for task in load_texts(cursor, one_column(cursor, _sql("carrier"), {"sentences": bigints([wanted])})):
            for words, made in fingerprinter.sentences_of(task):
                if made == wanted:
                    found[wanted] = words, task.scope
    return found


def keep_words(cursor: Cursor, fingerprinter: Fingerprinter) -> None:
    """Store the full texts of pinned sentences, while fingerprints still lead to articles with the texts."""
    words = _known(pinned_words(cursor, fingerprinter))
    cursor.execute(_sql("write_examples"), {"hashes": bigints(list(words)), **_columns(words)})


def rehash(cursor: Cursor, old: Fingerprinter, new: Fingerprinter) -> None:
    """Replace the hashes of pinned sentences by their hashes under a new hash key."""
    # A pin without its full text keeps the old hash, and has no effect until the old key is set again.
    words = _known(pinned_words(cursor, old))
    after = bigints([new.sentence_hash(*found) for found in words.values()])
    cursor.execute(_sql("rehash"), {"old": bigints(list(words)), "new": after, **_columns(words)})


def _known(words: Mapping[int, Words | None]) -> dict[int, Words]:
    return {key: found for key, found in words.items() if found is not None}


def _columns(words: Mapping[int, Words]) -> dict[str, list[str | None]]:
    return {
        "examples": [text for text, _ in words.values()],
        "scopes": [scope for _, scope in words.values()],
    }


def unpin_sentences(cursor: Cursor, keys: list[int]) -> int:
    """Delete pins of sentences; return the number of deleted pins."""
    return cursor.execute(_sql("unpin_sentences"), {"sentences": bigints(keys)}).rowcount


@dataclass(frozen=True, slots=True)
class PairPin(Answer):
    """A pin of a pair: the relation of two articles as a person decided it."""

    id: str
    other_id: str
    relation: str
    pinned_by: str
    reason: str | None
    pinned_at: datetime


def pair_pins(cursor: Cursor) -> list[PairPin]:
    """Return the pinned pairs, the newest first."""
    return [PairPin(*row) for row in cursor.execute(_sql("pair_pins")).fetchall()]


def relation_of(cursor: Cursor, a: str, b: str) -> Relation | None:
    first, second = key(a, b)
    row = cursor.execute(_sql("relation_of"), {"a": first, "b": second}).fetchone()
    return Relation(row[0]) if row else None


def pin_pair(
    cursor: Cursor, a: str, b: str, relation: Relation, by: str | None = None, reason: str | None = None
) -> None:
    """Pin the relation of two articles, in place of an earlier pin."""
    first, second = _ordered(a, b)
    cursor.execute(
        _sql("pin_pair"), {"a": first, "b": second, "relation": relation.value, "by": by, "reason": reason}
    )


def unpin_pair(cursor: Cursor, a: str, b: str) -> bool:
    """Delete the pin of a pair, so that the rules apply again; return False if the pair had no pin."""
    first, second = _ordered(a, b)
    return cursor.execute(_sql("unpin_pair"), {"a": first, "b": second}).rowcount > 0


def _ordered(a: str, b: str) -> tuple[str, str]:
    if a == b:
        raise InputError("a pair has two articles; both ids are the same")
    return key(a, b)
