"""What a corpus is told: `Deduplicator.settings`, and `pins` and `common_sentences`, which people decide.

Changes wait for the next backfill, which puts them in force (docs/semantics.md, section 6); the pin of a pair
acts also at once, by `PairPins.settle`. What a change takes away for good is counted first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedup.api import OfCorpus, checks, transacted
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.later import Later
from dedup.base.settings import Settings, masked
from dedup.base.timeouts import check_seconds
from dedup.base.words import counted
from dedup.db.database import Cursor, retry
from dedup.files.record import record_bytes
from dedup.rules.relation import Relation
from dedup.settling import hook, window
from dedup.store import articles, overview, pins, rulebooks, verdicts
from dedup.store.verdicts import MarkedArticle
from dedup.text.fingerprint import base_language

if TYPE_CHECKING:
    from dedup.text import training
else:
    training = Later("dedup.text.training")  # it loads NLTK, which no other setting needs


@dataclass(frozen=True, slots=True)
class Trained(Answer):
    """Sentence parameters that were learnt."""

    language: str  # ISO 639 code
    articles: int  # how many they were learnt from
    abbreviations: int  # how many were found


@dataclass(frozen=True, slots=True)
class Losses(Answer):
    """What a change of settings takes away for good; false where it takes nothing."""

    archived: int  # articles that the next backfill archives, by the new window
    of: int  # how many articles there are
    hash_key: bool  # whether the present hash key is replaced, which is stored nowhere else
    pins: int  # pinned sentences whose words are nowhere, so that no new hash key can find them

    def __bool__(self) -> bool:
        return bool(self.archived or self.hash_key or self.pins)

    def __str__(self) -> str:
        told = []
        if self.archived:
            told.append(
                f"the next backfill archives {self.archived:,} of {counted(self.of, 'article')}, which are"
                " never compared again"
            )
        if self.hash_key:
            told.append("the present hash key is replaced, and is stored nowhere else")
        if self.pins:
            told.append(f"{counted(self.pins, 'pinned sentence ends', 'pinned sentences end')} with the key")
        return "; ".join(told)


class CorpusSettings(OfCorpus):
    """The settings of one corpus."""

    in_force = transacted(rulebooks.load_settings)
    wanted = transacted(rulebooks.load_wanted)
    adoption = transacted(rulebooks.find_adoption)
    sentence_models = transacted(rulebooks.load_models)

    def max_record_bytes(self) -> int:
        """The bound of a line of a file: room for the longest text that the corpus can read, or will."""
        return record_bytes(max(found.text_max_characters for found in (self.in_force(), self.wanted())))

    def change(self, values: Mapping[str, Any], *, for_good: bool = False) -> None:
        """Change settings, from the next backfill on; None goes back to the default.

        `for_good`: also where the change takes something away that no other change brings back; `losses`
        counts it. Raises SettingError: an unknown name, or a value out of its range. Raises InputError: it
        takes something away, and `for_good` is false. Nothing was changed.
        """
        with self._database.transaction(settling=True) as cursor:
            if not for_good and (lost := _losses(cursor, values)):
                raise InputError(f"{lost}; say for_good=True to `settings.change` if that is meant")
            rulebooks.change_settings(cursor, values)

    def losses(self, values: Mapping[str, Any]) -> Losses:
        """What such a change would take away for good. Raises SettingError: as of `change`."""
        return self._transact(_losses, values)

    def give_hash_key(self, key: str, *, keep: bool) -> bool:
        """Give a corpus a hash key; returns whether it is new to it.

        `keep`: leave it its key if it has another one. Raises InputError: it has another key, and `keep` is
        false.
        """
        with self._database.transaction(settling=True) as cursor:
            present = rulebooks.load_wanted(cursor).hash_key
            if present == key or (present and keep):
                return False
            if present:
                raise InputError(
                    f"{self._database.location} has another hash key, {masked(present)};"
                    " `dedup settings set hash_key=-` replaces it"
                )
            rulebooks.change_settings(cursor, {"hash_key": key})
        return True

    def pins_left_behind(self) -> list[int]:
        """The hashes of pinned sentences that cannot follow a new hash key: their words are nowhere."""
        with self._database.transaction() as cursor:
            if not rulebooks.find_adoption(cursor):
                return []
            fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
            return [key for key, words in pins.pinned_words(cursor, fingerprinter).items() if words is None]

    def train_sentences(self, language: str, texts: Iterable[str]) -> Trained:
        """Learn from texts where sentences of a language end; the next backfill reads its texts again.

        `language`: ISO 639 code, such as `de`. Raises InputError: this is no language code, or there are no
        texts.
        """
        code = language_code(language)
        count = 0

        def passing() -> Iterable[str]:
            nonlocal count
            for text in texts:
                count += 1
                yield text

        model = training.train(passing())
        if not count:
            raise InputError(f"no articles of language {code!r} to learn from")
        with self._database.transaction(settling=True) as cursor:
            rulebooks.store_model(cursor, code, model, count)
        return Trained(code, count, len(model.abbrev_types))


def _losses(cursor: Cursor, values: Mapping[str, Any]) -> Losses:
    before = rulebooks.load_wanted(cursor)
    after = before.with_values({n: getattr(Settings(), n) if v is None else v for n, v in values.items()})
    archived, of = window.leaving(cursor, after) if "keep_window" in values else (0, 0)
    replaced, pins_lost = False, 0
    if after.hash_key != before.hash_key:
        replaced = bool(before.hash_key) and rulebooks.has_articles(cursor)
        words = pins.pinned_words(cursor, rulebooks.load_rulebook(cursor).fingerprinter)
        pins_lost = sum(found is None for found in words.values())
    return Losses(archived, of, replaced, pins_lost)


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

        return retry(attempt)

    remove = transacted(pins.unpin_pair)
    list = transacted(pins.pair_pins)


class CommonSentences(OfCorpus):
    """The sentences that are ignored, and those that people say shall be, or shall not be."""

    list = transacted(overview.common_sentences)

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


def language_code(language: str) -> str:
    """The ISO 639 code in a tag such as `de` or `de-AT`."""
    code = base_language(language)
    if not code or not code.isalpha():
        raise InputError(f"{language!r} is no language code; write for example `de`")
    return code


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
