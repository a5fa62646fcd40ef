"""Random histories of a corpus: what happens to it, step by step, from a seed.

A history aims at what is delicate: texts whose likeness is near the thresholds, articles that arrive
late, sentences that become common and stop being it, several changes in one statement. `OneTransaction`
lets a whole history run in one transaction that is rolled back, ten times faster than committing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from tests.corpora import (
    PLAIN,
    VARIANTS,
    Code,
    answer,
    article,
    assert_consistent,
    assert_right,
    at,
    change_settings,
    code,
    deduplicator,
    load,
    make_reader,
    read_pending,
    sentence_hash,
    settle_pending,
    window,
)

from dedup.article import Article
from dedup.corpus import articles, overview
from dedup.corpus.database import Cursor, Database
from dedup.engine.backfill import backfill

NAMES = ("b", "a", "B", "é", "z", "10", "9", "ß", "c", "d", "e", "f")
"""source_ids whose order by bytes is neither that of any language nor that of arrival."""

BOILERPLATE = (50, 51)
"""Sentences that many texts carry besides their own."""

MINUTES = (0, 1, 1, 2, 3, 5, 8)
"""Times of publication; few, so that articles meet at the same minute."""

@dataclass(frozen=True)
class Theme:
    """What a history is about: it is short, so it cannot be about everything.

    Attributes:
        common_stories: choices for that setting.
        ring: how many sentences the windows are cut from; in a small ring most articles are related.
        edited: share of texts that are made from another one.
        boilerplate: share of other texts that carry a sentence of many.
        common: weight of the steps about common sentences.
    """

    common_stories: tuple[int, ...]
    ring: int
    edited: float
    boilerplate: float
    common: int


THEMES = (
    Theme((100,), ring=12, edited=0.1, boilerplate=0.0, common=0),  # who is whose duplicate, by sentences
    Theme((100,), ring=30, edited=0.7, boilerplate=0.0, common=0),  # the same by signatures and content
    Theme((1, 2, 3), ring=14, edited=0.3, boilerplate=0.5, common=3),  # common sentences
    Theme((2, 3, 100), ring=14, edited=0.4, boilerplate=0.2, common=1),
)

SETTINGS: dict[str, tuple[Any, ...]] = {
    "common_stories": (1, 2, 3, None),
    "duplicate_sentence_jaccard": (0.5, 0.72, None),
    "duplicate_signature_jaccard": (0.6, 0.8, None),
    "similar_sentence_jaccard": (0.2, 0.4, None),
    "canonical_order": ("added", None),
    "evidence_sentences": (1, 4, None),
    "sentence_min_characters": (1, 60, None),
    "bands": (8, None),
}


class OneTransaction:
    """A database in which everything happens in one transaction that is rolled back at the end."""

    def __init__(self, database: Database, connection: psycopg.Connection[Any]) -> None:
        self._database, self._connection = database, connection
        self.place, self.connect = database.place, database.connect

    @contextmanager
    def transaction(self, *, settling: bool = False) -> Iterator[Cursor]:
        with self._connection.transaction(), self._connection.cursor(binary=True) as cursor:
            # What ON COMMIT DROP would have removed.
            cursor.execute("DROP TABLE IF EXISTS pg_temp.counted, pg_temp.dirty, pg_temp.unsettled")
            yield cursor

    @contextmanager
    def session(self) -> Iterator[OneTransaction]:
        yield self


@contextmanager
def undone(database: Database, *statements: str) -> Iterator[OneTransaction]:
    """The database in one transaction, in which these statements were executed first."""
    with database.session() as session:
        connection = session._connection
        with connection.transaction(force_rollback=True):
            for statement in statements:
                connection.execute(statement.encode())
            yield OneTransaction(database, connection)


class Crash(Exception):
    """The process ends here, as far as the database can tell."""


class _Doomed:
    """A cursor that crashes after some statements."""

    def __init__(self, cursor: Cursor, statements: int) -> None:
        self._cursor, self._left = cursor, statements

    def execute(self, *given: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise Crash
        return self._cursor.execute(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class History:
    """One history at work.

    Args:
        check: compare with the oracle wherever nothing is pending, not only after a backfill.
    """

    def __init__(self, database: Any, seed: int, *, check: bool = True) -> None:
        self.database = database
        self.rng = random.Random(seed)
        self.log: list[str] = []
        self._check = check
        self._texts: dict[str, list[Code]] = {}
        self._deduplicator = deduplicator(database)
        self._pins: set[Code] = set()
        self._theme = self.rng.choice(THEMES)

    def run(self, steps: int) -> None:
        """Some steps, then a backfill; raises where the corpus is not as the oracle says."""
        stories = self.rng.choice(self._theme.common_stories)
        change_settings(self.database, common_stories=stories, text_min_words=6)
        for _ in range(steps):
            self.step()
        self.backfill()

    def step(self) -> None:
        """One random step."""
        steps: list[tuple[Callable[[], None], int]] = [
            (self.load, 5), (self.submit, 6), (self.update, 3), (self.redate, 4), (self.delete, 2),
            (self.settle, 4), (self.read, 1), (self.backfill, 2 + self._theme.common),
            (self.pin, self._theme.common), (self.unpin, self._theme.common),
            (self.change_setting, 1), (self.crash, 1),
        ]  # fmt: skip
        chosen = self.rng.choices([s for s, _ in steps], [w for _, w in steps])[0]
        self.log.append(chosen.__name__)
        chosen()
        if self._check and not self._pending():
            assert_consistent(self.database)

    def load(self) -> None:
        load(self.database, *(self._article() for _ in range(self.rng.randint(1, 3))))

    def submit(self) -> None:
        given = self._article()
        pending = self._pending()
        verdict = self._deduplicator.submit(given)
        marked = answer(self.database).marks[given.source_id]
        assert (verdict.status, verdict.duplicate_of, verdict.score) == marked[:3]
        assert verdict.status != "pending"
        assert self._pending() <= pending, "the hook left work that it could have done"

    def update(self) -> None:
        """An edit of texts by plain SQL, of several rows at once."""
        given = [self._article(known=True) for _ in range(self.rng.randint(1, 2))]
        with self.database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article a SET text = n.text FROM unnest(%s::text[], %s::text[]) AS n (id, text)"
                " WHERE a.source_id = n.id",
                [[a.source_id for a in given], [a.text for a in given]],
            )

    def redate(self) -> None:
        """An edit of the times by plain SQL or by a load."""
        for name in self._some(2):
            minute = self.rng.choice(MINUTES)
            if self.rng.random() < 0.3:
                load(self.database, article(name, self._texts[name], minute))
                continue
            column = self.rng.choice(("published_at", "published_at", "added_at"))
            with self.database.transaction() as cursor:
                cursor.execute(
                    f"UPDATE dedup.article SET {column} = %s WHERE source_id = %s".encode(),
                    [at(minute), name],
                )

    def delete(self) -> None:
        """A deletion by the library, or by plain SQL, of several rows at once."""
        names = self._some(self.rng.randint(1, 3))
        if self.rng.random() < 0.4:
            with self.database.transaction() as cursor:
                # An article and all its duplicates.
                cursor.execute(
                    "DELETE FROM dedup.article a USING dedup.article o"
                    " WHERE o.source_id = ANY (%s) AND (a.id = o.id OR a.duplicate_of = o.id)",
                    [names],
                )
        elif self.rng.random() < 0.5:
            with self.database.transaction() as cursor:
                cursor.execute("DELETE FROM dedup.article WHERE source_id = ANY (%s)", [names])
        else:
            pending = self._pending()
            self._deduplicator.delete_all(names)
            assert self._pending() <= pending, "the deletion left work that it could have done"

    def settle(self) -> None:
        self.read()
        for _ in range(self.rng.randint(1, 3)):
            with self.database.transaction(settling=True) as cursor:
                settle_pending(cursor, self.rng.choice((1, 1, 2, 3, 100)))

    def read(self) -> None:
        with self.database.transaction(settling=True) as cursor:
            read_pending(cursor, self.rng.choice((1, 2, 100)))

    def backfill(self) -> None:
        backfill(
            self.database,
            batch=self.rng.choice((1, 2, 3, 100)),
            workers=0,
            factory=make_reader,
            full_count=self.rng.choice((True, False, False, None)),
        )
        assert_right(self.database)

    def pin(self) -> None:
        chosen = code(self.rng.choice((*range(self._theme.ring), *BOILERPLATE)))
        with self.database.transaction() as cursor:
            overview.pin(cursor, sentence_hash(chosen), self.rng.random() < 0.5, None)
        self._pins.add(chosen)

    def unpin(self) -> None:
        with self.database.transaction() as cursor:
            overview.unpin(cursor, [sentence_hash(c) for c in self._pins])
        self._pins.clear()

    def change_setting(self) -> None:
        name = self.rng.choice(list(SETTINGS))
        change_settings(self.database, **{name: self.rng.choice(SETTINGS[name])})

    def crash(self) -> None:
        """A write, or half of one, that is rolled back."""
        texts = {name: list(codes) for name, codes in self._texts.items()}
        try:
            with self.database.transaction(settling=True) as cursor:
                doomed: Any = _Doomed(cursor, self.rng.randint(1, 20))
                articles.store(doomed, [self._article()])
                read_pending(doomed, 3)
                settle_pending(doomed, 2)
                raise Crash
        except Crash:
            self._texts = texts

    def _pending(self) -> set[str]:
        with self.database.transaction() as cursor:
            rows = cursor.execute("SELECT source_id FROM dedup.article WHERE status = 'pending'").fetchall()
        return {row[0] for row in rows}

    def _some(self, count: int) -> list[str]:
        known = sorted(self._texts)
        return self.rng.sample(known, min(count, len(known)))

    def _article(self, known: bool = False) -> Article:
        rng = self.rng
        name = rng.choice(sorted(self._texts)) if known and self._texts else rng.choice(NAMES)
        codes = self._text()
        self._texts[name] = codes
        minute = rng.choice((*MINUTES, None))
        return article(name, codes, minute, added_at=at(rng.choice(MINUTES)))

    def _text(self) -> list[Code]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.03:
            return [code(PLAIN + rng.randrange(2) * 10 + i) for i in range(5)]
        if kind < 0.05:
            return []  # cannot be read
        if self._texts and rng.random() < self._theme.edited:
            return self._edited(list(self._texts[rng.choice(sorted(self._texts))]))
        if rng.random() < 0.2 * self._theme.boilerplate:
            return [code(number) for number in BOILERPLATE]
        codes = window(rng.randrange(self._theme.ring), rng.choice((4, 5, 6, 6, 7)), self._theme.ring)
        if rng.random() < self._theme.boilerplate:
            codes.append(code(rng.choice(BOILERPLATE)))
        return codes

    def _edited(self, codes: list[Code]) -> list[Code]:
        rng = self.rng
        match rng.randrange(6):
            case 0:  # the same content
                pass
            case 1:  # the same sentences
                codes.reverse()
            case 2:  # one sentence more, or less
                codes = (
                    codes[1:] if rng.random() < 0.5 and len(codes) > 1 else [*codes, code(rng.randrange(self._theme.ring))]
                )
            case 3:  # a word changed in a few sentences, or in nearly all
                few = rng.sample(
                    range(len(codes)), min(len(codes), rng.choice((1, 2, max(1, len(codes) - 1))))
                )
                codes = [_variant(c, rng) if i in few else c for i, c in enumerate(codes)]
            case 4:  # a word changed in every sentence: only signatures can tell
                codes = [_variant(c, rng) for c in codes]
            case _:
                few = rng.sample(range(len(codes)), len(codes) // 2)
                codes = [_variant(c, rng) if i in few else c for i, c in enumerate(codes)]
        return codes


def _variant(given: Code, rng: random.Random) -> Code:
    return given - given % VARIANTS + rng.randrange(VARIANTS)
