"""Stores pins: sentences that are always or never common, and relations of two articles.

Pins of sentences take effect with the next backfill. A trigger makes both articles of a pinned pair stale.
"""

from __future__ import annotations

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


def pin_sentence(cursor: Cursor, sentence_hash: int, common: bool, example: str | None) -> None:
    """Pin a sentence as always or never common."""
    cursor.execute(_sql("pin_sentence"), {"hash": sentence_hash, "common": common, "example": example})


def pinned_words(cursor: Cursor, fingerprinter: Fingerprinter) -> dict[int, str | None]:
    """Return the full texts of pinned sentences by hash; None if no pin and no article contains the text."""
    found: dict[int, str | None] = {}
    for wanted, example in cursor.execute(_sql("examples")).fetchall():
        # Long examples are shortened when they are stored, and then have a different hash.
        if example is not None and fingerprinter.sentence_hash(example) == wanted:
            found[wanted] = example
            continue
        tasks = load_texts(cursor, one_column(cursor, _sql("carrier"), {"sentences": bigints([wanted])}))
        sentences = (pair for task in tasks for pair in fingerprinter.sentences(task.text, task.language))
        found[wanted] = next((words for words, made in sentences if made == wanted), None)
    return found


def keep_words(cursor: Cursor, fingerprinter: Fingerprinter) -> None:
    """Store the full texts of pinned sentences, while fingerprints still lead to articles with the texts."""
    words = {key: text for key, text in pinned_words(cursor, fingerprinter).items() if text is not None}
    cursor.execute(_sql("write_examples"), {"hashes": bigints(list(words)), "examples": list(words.values())})


def rehash(cursor: Cursor, old: Fingerprinter, new: Fingerprinter) -> None:
    """Replace the hashes of pinned sentences by their hashes under a new hash key."""
    # A pin without its full text keeps the old hash, and has no effect until the old key is set again.
    words = {key: text for key, text in pinned_words(cursor, old).items() if text is not None}
    after = bigints([new.sentence_hash(text) for text in words.values()])
    values = {"old": bigints(list(words)), "new": after, "examples": list(words.values())}
    cursor.execute(_sql("rehash"), values)


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
