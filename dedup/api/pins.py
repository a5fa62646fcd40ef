"""`Deduplicator.pins` and `Deduplicator.common_sentences`: what people say, which holds whatever is measured.

A pin acts with the next backfill; that of a pair also at once, by `PairPins.settle`.
"""

from __future__ import annotations

from dedup.api import OfCorpus, checks
from dedup.base.errors import InputError
from dedup.base.timeouts import check_seconds
from dedup.db.database import Cursor, retried
from dedup.rules.relation import Relation
from dedup.settling import hook
from dedup.store import articles, overview, pins, rulebooks, verdicts
from dedup.store.overview import CommonSentence
from dedup.store.pins import PairPin
from dedup.store.verdicts import MarkedArticle


class PairPins(OfCorpus):
    """What people say two articles are to each other, under the callers' own ids."""

    def set(
        self, a: str, b: str, relation: Relation | str, *, by: str | None = None, reason: str | None = None
    ) -> list[str]:
        """Pin a pair, in place of what was said before; the next backfill settles both again, `settle` at
        once.

        `relation` is "duplicate", "similar" or "unrelated"; `by` says who decides (None: the database user),
        `reason` why. Returns those of the two ids that are not stored yet: the pin waits for them. Raises
        InputError if both are one article, or if there is no such relation.
        """
        try:
            wanted = Relation(relation)
        except ValueError:
            known = ", ".join(item.value for item in Relation)
            raise InputError(f"there is no relation {relation!r}; there are {known}") from None
        with self._database.transaction() as cursor:
            pins.pin_pair(cursor, a, b, wanted, by, reason)
            return [name for name in (a, b) if articles.find(cursor, name) is None]

    def remove(self, a: str, b: str) -> bool:
        """Take a pin back, which restores the rules; false if there was none."""
        return self._transact(pins.unpin_pair, a, b)

    def settle(self, a: str, b: str, *, timeout: float | None = None) -> tuple[MarkedArticle, ...]:
        """Settle both articles of a pair now, so that a pin or its removal shows at once; returns those
        stored.

        What rests on their marks is settled by the next backfill; the verdicts say how many articles that is.
        `timeout` is as in `Deduplicator.submit`. Raises BusyError if others hold the corpus for so long (the
        next backfill settles both), RightsError if this role may not settle.
        """
        names = [checks.text("source_id", name) for name in (a, b)]
        wait = self._database.timeouts.hook if timeout is None else timeout
        check_seconds("the timeout", wait)

        def attempt() -> tuple[MarkedArticle, ...]:
            with self._database.transaction(settling=True, seconds=wait) as cursor:
                known = [found for name in names if (found := articles.find(cursor, name))]
                hook.settle_some(cursor, rulebooks.load_settings(cursor), [found.id for found in known])
                marked = (verdicts.marked_article(cursor, name) for name in names)
                return tuple(found for found in marked if found is not None)

        return retried(attempt)

    def list(self) -> list[PairPin]:
        """The pinned pairs, the newest first."""
        return self._transact(pins.pair_pins)


class CommonSentences(OfCorpus):
    """The sentences that are ignored, and those that people say shall be, or shall not be."""

    def list(self, limit: int | None = None) -> list[CommonSentence]:
        """The common and the pinned sentences, those of most effective stories first."""
        return self._transact(overview.common_sentences, limit)

    def pin(self, sentence: str | int, *, common: bool, language: str | None = None) -> None:
        """Declare a sentence always (`common`) or never common.

        `sentence`: the sentence itself, or its hash. Raises InputError: it is not one sentence that counts,
        or no hash.
        """
        with self._database.transaction() as cursor:
            key, example = _hashed(cursor, sentence, language)
            pins.pin_sentence(cursor, key, common, example)

    def unpin(self, sentence: str | int, *, language: str | None = None) -> bool:
        """Take a pin back; false if there was none. Raises InputError: as of `pin`."""
        with self._database.transaction() as cursor:
            key, _ = _hashed(cursor, sentence, language)
            return bool(pins.unpin_sentences(cursor, [key]))


def _hashed(cursor: Cursor, sentence: str | int, language: str | None) -> tuple[int, str | None]:
    """The hash of a sentence, and its words if they were given."""
    if isinstance(sentence, int):
        if not -(2**63) <= sentence < 2**63:
            raise InputError("that is no sentence hash: it does not fit in 64 bits")
        return sentence, None
    fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
    found = [(key, text) for text, key in fingerprinter.sentences(sentence, language) if key is not None]
    if len(found) != 1:
        minimum = fingerprinter.settings.sentence_min_characters
        raise InputError(
            f"give one sentence of at least {minimum} characters, or a hash; this has {len(found)}"
        )
    return found[0]
