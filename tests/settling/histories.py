"""Random histories of a corpus: sequences of steps, each determined by a seed.

A history aims at difficult cases: texts near the thresholds, articles that arrive late, sentences that become
common and later are not, several changes in one statement. `OneTransaction` runs a whole history in one
transaction and rolls it back, which is ten times faster than committing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import psycopg

from dedup.base.article import Article
from dedup.db.database import Cursor, Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.store import articles, pins, setting_rows
from dedup.store import window as window_of
from dedup.store.settling import order_parameters
from tests.corpora import (
    PLAIN,
    VARIANTS,
    Code,
    answer,
    article,
    assert_consistent,
    assert_counted,
    assert_right,
    at,
    change_settings,
    code,
    deduplicator,
    fingerprint_waiting,
    left_to_archive,
    load,
    make_function,
    sentence_hash,
    settle_waiting,
    unsettled,
    window,
)

NAMES = ("b", "a", "B", "é", "z", "10", "9", "ß", "c", "d", "e", "f", "g", "h", "ü", "x")
"""source_ids that sort differently by bytes, by language and by arrival."""

RING = 20
"""Number of sentences from which windows are cut."""

BOILERPLATE = (50, 51)
"""Sentences that many texts carry besides their own."""

TITLES = ("Storm", "Calm", None)

MINUTES = (0, 1, 2, 2, 3, 4, 5, 6, 7, 8)
"""Minutes of publication; few, so that several articles have the same minute."""

WRONG_MINUTES = (3 * 24 * 60, -524 * 365 * 24 * 60)
"""Minutes of publication that count as missing: days after the article was added, or before printing existed.
"""


@dataclass(frozen=True)
class Theme:
    """The subject of a history; one history is too short to cover everything.

    Attributes:
        starts: number of sentences at which a window may begin; with few, most articles are related.
        lengths: numbers of sentences in a window.
        common_stories, similar_pairs: values for these settings to choose from.
        edited: share of texts that are made from another text.
        plain: share of texts without shingles.
        boilerplate: share of other texts that carry a sentence of `BOILERPLATE`.
        common: weight of the steps about common sentences.
        dates: weight of edits of times.
        settings: weight of changes of settings.
        pair_pins: weight of pins of pairs.
        short: share of texts that are compared by their content alone.
        prunes: weight of moving the horizon.
        scopes: scopes of articles; with several, some articles move to another scope.
        calm: begin with a settled corpus, and change little at a time.
    """

    starts: int = 14
    lengths: tuple[int, ...] = (4, 5, 6, 6, 7)
    common_stories: tuple[int, ...] = (100,)
    similar_pairs: tuple[int, ...] = (50, 2)
    edited: float = 0.4
    plain: float = 0.03
    boilerplate: float = 0.0
    common: int = 0
    dates: int = 3
    settings: int = 1
    pair_pins: int = 0
    short: float = 0.03
    prunes: int = 0
    scopes: tuple[str | None, ...] = (None,)
    calm: bool = False


THEMES = {
    # Windows of 6 sentences are duplicates at distance 1, similar at 2 and 3, and unrelated at 4 and 5.
    "chains": Theme(starts=6, lengths=(6,), edited=0.05, calm=True),
    # Most pairs are similar, and only a few similar pairs per article are stored. Windows of different
    # lengths have different scores.
    "families": Theme(
        starts=9, lengths=(5, 6, 7, 8), similar_pairs=(1, 1, 2), edited=0.15, dates=6, pair_pins=1, calm=True
    ),
    "dates": Theme(starts=3, lengths=(6,), edited=0.0, dates=12, calm=True),
    "lengths": Theme(starts=5, edited=0.1, calm=True),
    "edits": Theme(edited=0.8, plain=0.15),
    "short": Theme(starts=4, edited=0.3, short=0.6, calm=True),
    # Distant windows share no sentence, so that only a pin relates them.
    "pins": Theme(starts=14, lengths=(4,), edited=0.1, pair_pins=8, calm=True),
    # A window of 4 sentences is inside a window of 12, but is no duplicate of it.
    "containment": Theme(starts=8, lengths=(4, 5, 12), edited=0.1, calm=True),
    "common": Theme(
        starts=8,
        common_stories=(1, 2, 3),
        edited=0.3,
        boilerplate=0.5,
        common=3,
    ),
    # Stories span the horizon. Articles come, are edited and get other dates on both sides of it.
    "window": Theme(
        starts=6,
        common_stories=(2, 100),
        boilerplate=0.2,
        edited=0.4,
        dates=8,
        prunes=5,
        pair_pins=1,
        calm=True,
    ),
    # Windows of 6 sentences would be duplicates if their articles had the same scope.
    "scopes": Theme(
        starts=2, lengths=(5, 6), edited=0.3, scopes=("a", "a", "b", None), pair_pins=1, calm=True
    ),
    "settings": Theme(starts=8, common_stories=(2, 3, 100), boilerplate=0.2, common=1, settings=6),
}

SETTINGS: dict[str, tuple[Any, ...]] = {
    "common_stories": (1, 2, 3, None),
    "duplicate_sentence_jaccard": (0.5, 0.72, None),
    "duplicate_signature_jaccard": (0.6, 0.8, None),
    "similar_sentence_jaccard": (0.2, 0.4, None),
    "canonical_order": ("added", None),
    "similar_pairs": (1, 2, None),
    "evidence_sentences": (1, 4, None),
    "similar_containment": (0.5, 1, None),
    "containment_sentences": (1, 5, None),
    "containment_shingles": (5, None),
    "containment_ratio": (1, 2, None),
    "containment_share": (0.6, None),
    "furniture_sentences": (1, 2, None),
    "reprint_days": (0, None),
    "reprint_score": (0.75, 1, None),
    "similar_signature_alone": (0.3, None),
    "text_min_words": (6, 30),
    "damaged_print": ("on", None),
    "hash_key": ("salt", None),
    "earliest_year": (2025, None),
    "sentence_min_characters": (1, 60, None),
    "stop_word_length": (3, None),
    "bands": (8, None),
}


class OneTransaction:
    """A database in which everything happens in one transaction, which is rolled back at the end."""

    def __init__(self, database: Database, connection: psycopg.Connection[Any]) -> None:
        self._database, self._connection = database, connection
        self.location, self.connect, self.timeouts = database.location, database.connect, database.timeouts
        self.schema = database.schema

    @contextmanager
    def transaction(
        self,
        *,
        settling: bool = False,
        snapshot: bool = False,
        async_commit: bool = False,
        seconds: float | None = None,
    ) -> Iterator[Cursor]:
        with self._connection.transaction(), self._connection.cursor(binary=True) as cursor:
            cursor.execute("SELECT set_config('dedup.settling', %s, true)", ["on" if settling else ""])
            # Nothing commits here, so drop the tables that ON COMMIT DROP would have dropped.
            cursor.execute(
                "DROP TABLE IF EXISTS pg_temp.net_change, pg_temp.touched_sentence, pg_temp.fingerprint_new"
            )
            yield cursor

    def ask(self, statement: bytes, values: Mapping[str, Any], seconds: float) -> list[tuple[Any, ...]]:
        with self.transaction() as cursor:
            return cursor.execute(statement, values).fetchall()

    @contextmanager
    def session(self) -> Iterator[OneTransaction]:
        yield self


@contextmanager
def undone(database: Database, *statements: str) -> Iterator[OneTransaction]:
    """Execute these statements and yield the database, all in one transaction that is rolled back."""
    with database.session() as session:
        connection = session.connection
        with connection.transaction(force_rollback=True):
            for statement in statements:
                connection.execute(statement.encode())
            yield OneTransaction(database, connection)


class CrashError(Exception):
    """Raised in place of a crash of the process; for the database the effect is the same."""


class Doomed:
    """A cursor that raises `CrashError` after some statements."""

    def __init__(self, cursor: Cursor, statements: int) -> None:
        self._cursor, self._left = cursor, statements

    def execute(self, *given: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise CrashError
        return self._cursor.execute(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class History:
    """A random history on a database.

    Args:
        theme: one of `THEMES`; None chooses one at random.
    """

    def __init__(self, database: Any, seed: int, theme: str | None = None) -> None:
        self.database = database
        self.rng = random.Random(seed)
        self.log: list[str] = []
        self._texts: dict[str, list[Code]] = {}
        self._deduplicator = deduplicator(database)
        self._earliest = 0
        self._pins: set[Code] = set()
        self._theme = THEMES[theme or self.rng.choice(list(THEMES))]

    def run(self, steps: int) -> None:
        """Take random steps, then run a backfill; raise an error if the corpus differs from the oracle."""
        stories = self.rng.choice(self._theme.common_stories)
        change_settings(
            self.database,
            common_stories=stories,
            text_min_words=6,
            similar_pairs=self.rng.choice(self._theme.similar_pairs),
        )
        load(self.database, *(self._article() for _ in range(6)))
        if self._theme.calm:
            self.backfill()
        for _ in range(steps):
            self.step()
        self.backfill()

    def step(self) -> None:
        """Take a random step."""
        calm = self._theme.calm
        steps: list[tuple[Callable[[], None], int]] = [
            (self.load, 2 if calm else 5),
            (self.submit, 5),
            (self.come_late, 8 if calm else 3),
            (self.update, 1 if calm else 3),
            (self.redate, self._theme.dates),
            (self.delete, 2),
            (self.settle, 4),
            (self.read, 1),
            (self.backfill, 2 + self._theme.common),
            (self.pin, self._theme.common),
            (self.unpin, self._theme.common),
            (self.change_setting, self._theme.settings),
            (self.pin_pair, self._theme.pair_pins),
            (self.unpin_pair, self._theme.pair_pins // 3),
            (self.retitle, 1 + 8 * (self._theme.short > 0.1)),
            (self.crash, 1),
            (self.prune, self._theme.prunes),
            (self.confine, 6 * (len(self._theme.scopes) > 1)),
        ]
        chosen = self.rng.choices([s for s, _ in steps], [w for _, w in steps])[0]
        self.log.append(chosen.__name__)
        chosen()
        if self._theme.calm and self._pending() and self.rng.random() < 0.5:
            self.backfill()
        if not self._pending():
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
        own = {given.source_id} if verdict.provisional else set()
        left = self._pending() - left_to_archive(self.database)
        assert left <= pending | own, "the hook left work that it could have done"
        assert verdict.provisional == (bool(self._pending() - {given.source_id}) and not verdict.archived)
        if verdict.status in ("unique", "similar"):
            assert not self._overlooked(given.source_id), "a copy must not be marked as an original"

    def _overlooked(self, source_id: str) -> list[str]:
        """Return the earlier articles that have the same content as the given article, may be canonical, and
        have no pin with it."""
        with self.database.transaction() as cursor:
            settings = setting_rows.load_settings(cursor)
            rows = cursor.execute(
                """
                WITH placed AS (
                    SELECT a.source_id, f.content_hash, a.status IN ('unique', 'similar') OR a.stale
                           OR a.status = 'pending' AS possible,
                           dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) AS time
                    FROM dedup.marked_article a
                    JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision
                )
                SELECT o.source_id FROM placed a JOIN placed o USING (content_hash)
                WHERE a.source_id = %(name)s AND o.possible AND (o.time, o.source_id) < (a.time, a.source_id)
                  AND NOT EXISTS (
                      SELECT FROM dedup.pair_pin p
                      WHERE (p.source_id, p.other_source_id) IN ((a.source_id, o.source_id),
                                                                 (o.source_id, a.source_id)))
                """,
                {"name": source_id, **order_parameters(settings)},
            )
            return [row[0] for row in rows.fetchall()]

    def come_late(self) -> None:
        """Add an article that is earlier than all others, or than most."""
        given = self._article()
        self._earliest -= 1
        minute = self.rng.choice((self._earliest, self.rng.random() * 4))
        early = replace(given, published_at=at(minute), added_at=at(minute))
        if self.rng.random() < 0.5:
            self._deduplicator.submit(early)
        else:
            load(self.database, early)

    def update(self) -> None:
        """Edit the texts of one or two articles in one statement of plain SQL."""
        given = [self._article(known=True) for _ in range(self.rng.randint(1, 2))]
        with self.database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article a SET text = n.text FROM unnest(%s::text[], %s::text[]) AS n (id, text)"
                " WHERE a.source_id = n.id",
                [[a.source_id for a in given], [a.text for a in given]],
            )

    def redate(self) -> None:
        """Edit the times of one or two articles by plain SQL or by a load."""
        for name in self._some(self.rng.randint(1, 2)):
            minute = self.rng.choice(WRONG_MINUTES) if self.rng.random() < 0.2 else self.rng.random() * 9
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
        """Delete several articles by plain SQL or by the library."""
        names = self._some(self.rng.randint(1, 3))
        if self.rng.random() < 0.4:
            with self.database.transaction() as cursor:
                # Delete articles with all their duplicates.
                cursor.execute(
                    "DELETE FROM dedup.article a USING dedup.article_mark k, dedup.article o"
                    " WHERE k.id = a.id AND o.source_id = ANY (%s) AND o.id IN (a.id, k.duplicate_of)",
                    [names],
                )
        elif self.rng.random() < 0.5:
            with self.database.transaction() as cursor:
                cursor.execute("DELETE FROM dedup.article WHERE source_id = ANY (%s)", [names])
        else:
            pending = self._pending()
            self._deduplicator.delete_many(names)
            left = self._pending() - left_to_archive(self.database)
            assert left <= pending, "the deletion left work that it could have done"

    def settle(self) -> None:
        self.read()
        for _ in range(self.rng.randint(1, 3)):
            with self.database.transaction(settling=True) as cursor:
                settle_waiting(cursor, self.rng.choice((1, 1, 2, 3, 100)), self.rng.choice((0, 50, 10**6)))

    def read(self) -> None:
        with self.database.transaction(settling=True) as cursor:
            fingerprint_waiting(cursor, self.rng.choice((1, 2, 100)))

    def backfill(self) -> None:
        backfill(
            self.database,
            batch=self.rng.choice((1, 2, 3, 100)),
            workers=0,
            factory=make_function,
            full_count=self.rng.choice((True, False, False, None)),
        )
        assert_right(self.database)
        assert_counted(self.database)

    def prune(self) -> None:
        """Request a later horizon and run a backfill that moves it; the backfill may be stopped midway."""
        with self.database.transaction(settling=True) as cursor:
            present = window_of.load(cursor).horizon or at(-1)
            window_of.request_move(cursor, present + timedelta(minutes=self.rng.random() * 3))
        if self.rng.random() < 0.5:
            left = self.rng.randint(1, 12)

            def stop() -> bool:
                nonlocal left
                left -= 1
                return left < 0

            backfill(self.database, batch=2, workers=0, factory=make_function, stop=stop)
        else:
            self.backfill()

    def pin(self) -> None:
        carried = sorted({c for codes in self._texts.values() for c in codes})
        chosen = self.rng.choice([*carried, code(BOILERPLATE[0])])
        with self.database.transaction() as cursor:
            pins.pin_sentence(cursor, sentence_hash(chosen), self.rng.random() < 0.5, None)
        self._pins.add(chosen)

    def unpin(self) -> None:
        with self.database.transaction() as cursor:
            pins.unpin_sentences(cursor, [sentence_hash(c) for c in self._pins])
        self._pins.clear()

    def change_setting(self) -> None:
        name = self.rng.choice(list(SETTINGS))
        change_settings(self.database, **{name: self.rng.choice(SETTINGS[name])})

    def crash(self) -> None:
        """Begin to store and settle an article, and roll back midway."""
        texts = {name: list(codes) for name, codes in self._texts.items()}
        try:
            with self.database.transaction(settling=True) as cursor:
                doomed: Any = Doomed(cursor, self.rng.randint(1, 20))
                articles.store(doomed, [self._article()])
                fingerprint_waiting(doomed, 3)
                settle_waiting(doomed, 2)
                raise CrashError
        except CrashError:
            self._texts = texts

    def pin_pair(self) -> None:
        """Pin the relation of two articles, stored or not."""
        first, second = self.rng.sample(NAMES, 2)
        with self.database.transaction() as cursor:
            pins.pin_pair(cursor, first, second, self.rng.choice(list(Relation)))

    def unpin_pair(self) -> None:
        """Remove pins of pairs."""
        with self.database.transaction() as cursor:
            for pin in pins.pair_pins(cursor)[:2]:
                pins.unpin_pair(cursor, pin.id, pin.other_id)

    def confine(self) -> None:
        """Move articles to another scope by plain SQL."""
        scope = self.rng.choice(self._theme.scopes)
        with self.database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article SET scope = %s WHERE source_id = ANY (%s)", [scope, self._some(2)]
            )

    def retitle(self) -> None:
        """Change titles, which matter to short texts only."""
        title = self.rng.choice(TITLES)
        with self.database.transaction() as cursor:
            cursor.execute(
                "UPDATE dedup.article SET title = %s WHERE source_id = ANY (%s)", [title, self._some(2)]
            )

    def _pending(self) -> set[str]:
        return unsettled(self.database)

    def _some(self, count: int) -> list[str]:
        known = sorted(self._texts)
        return self.rng.sample(known, min(count, len(known)))

    def _article(self, known: bool = False) -> Article:
        rng = self.rng
        name = rng.choice(sorted(self._texts)) if known and self._texts else rng.choice(NAMES)
        codes = self._text()
        self._texts[name] = codes
        minute = rng.choice((*MINUTES, *MINUTES, None, None, *WRONG_MINUTES))
        title = rng.choice(TITLES)
        added_at = at(rng.choice(MINUTES))
        scopes = self._theme.scopes
        scope = rng.choice(scopes) if len(scopes) > 1 else scopes[0]
        return article(name, codes, minute, added_at=added_at, title=title, scope=scope)

    def _text(self) -> list[Code]:
        rng, theme = self.rng, self._theme
        if rng.random() < theme.short:
            return [code(PLAIN + rng.randrange(3) + i) for i in range(2)]
        if rng.random() < theme.plain:
            return [code(PLAIN + rng.randrange(2) * 10 + i) for i in range(5)]
        if rng.random() < 0.02:
            return []  # this text cannot be read
        if self._texts and rng.random() < theme.edited:
            return self._edited(list(self._texts[rng.choice(sorted(self._texts))]))
        if rng.random() < 0.2 * theme.boilerplate:
            return [code(number) for number in BOILERPLATE]
        codes = window(rng.randrange(theme.starts), rng.choice(theme.lengths), RING)
        if rng.random() < theme.boilerplate:
            codes.append(code(rng.choice(BOILERPLATE)))
        return codes

    def _edited(self, codes: list[Code]) -> list[Code]:
        rng = self.rng
        match rng.randrange(6):
            case 0:  # the same content
                pass
            case 1:  # the same sentences
                codes.reverse()
            case 2:  # one sentence is added or removed
                codes = (
                    codes[1:]
                    if rng.random() < 0.5 and len(codes) > 1
                    else [*codes, code(rng.randrange(RING))]
                )
            case 3:  # a word changed in a few sentences, or in nearly all
                few = rng.sample(
                    range(len(codes)), min(len(codes), rng.choice((1, 2, max(1, len(codes) - 1))))
                )
                codes = [_variant(c, rng) if i in few else c for i, c in enumerate(codes)]
            case 4:  # a word changed in every sentence: only signatures show that the texts are similar
                codes = [_variant(c, rng) for c in codes]
            case _:
                few = rng.sample(range(len(codes)), len(codes) // 2)
                codes = [_variant(c, rng) if i in few else c for i, c in enumerate(codes)]
        return codes


def _variant(given: Code, rng: random.Random) -> Code:
    return given - given % VARIANTS + rng.randrange(VARIANTS)
