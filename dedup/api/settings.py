"""Settings, pins and common sentences: `settings`, `pins` and `common_sentences` of a `Deduplicator`.

The next backfill puts changes in force (docs/semantics.md, section 6); `PairPins.settle` settles a pinned
pair at once.
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
from dedup.db import roles
from dedup.db.database import Cursor, retry
from dedup.files.record import record_bytes
from dedup.rules.relation import Relation
from dedup.settling import hook, window
from dedup.store import articles, overview, pins, rulebooks, setting_rows, verdicts
from dedup.store.verdicts import MarkedArticle
from dedup.text.fingerprint import base_language

if TYPE_CHECKING:
    from dedup.text import training
else:
    training = Later("dedup.text.training")  # this module loads NLTK, which no other setting needs


@dataclass(frozen=True, slots=True)
class Trained(Answer):
    """Result of `CorpusSettings.train_sentences`.

    Attributes:
        language: ISO 639 code.
        articles: number of articles read.
        abbreviations: number of abbreviations found.
    """

    language: str
    articles: int
    abbreviations: int


@dataclass(frozen=True, slots=True)
class Losses(Answer):
    """Data that a change of settings would lose for good. The object is false if nothing is lost.

    Attributes:
        archived: number of articles that the next backfill would archive.
        of: number of all articles.
        hash_key: true if the present hash key would be replaced, which is stored nowhere else.
        pins: number of sentence pins that a new hash key loses, as the words of the sentences are not stored.
    """

    archived: int
    of: int
    hash_key: bool
    pins: int

    def __bool__(self) -> bool:
        return bool(self.archived or self.hash_key or self.pins)

    def __str__(self) -> str:
        parts = []
        if self.archived:
            parts.append(
                f"the next backfill archives {self.archived:,} of {counted(self.of, 'article')}, which are"
                " never compared again"
            )
        if self.hash_key:
            parts.append("the present hash key is replaced, and is stored nowhere else")
        if self.pins:
            parts.append(f"{counted(self.pins, 'sentence pin is', 'sentence pins are')} lost with the key")
        return "; ".join(parts)


class CorpusSettings(OfCorpus):
    """Settings of one corpus."""

    in_force = transacted(setting_rows.load_settings)
    wanted = transacted(setting_rows.load_wanted)
    adoption = transacted(rulebooks.find_adoption)
    sentence_models = transacted(rulebooks.load_models)

    def max_record_bytes(self) -> int:
        """Return the maximum bytes of a record in a file. The longest allowed text fits in such a record."""
        return record_bytes(max(found.text_max_characters for found in (self.in_force(), self.wanted())))

    def change(self, values: Mapping[str, Any], *, for_good: bool = False) -> None:
        """Change settings, from the next backfill on; None restores a default.

        `for_good`: accept the losses that `losses` counts. Raises SettingError: a name is unknown, or a value
        is out of range. Raises InputError: data would be lost, and `for_good` is false; nothing was changed.
        Raises RightsError: the connected role does not own the schema.
        """
        with self._database.transaction(settling=True) as cursor:
            # Postgres would let a worker reset settings, since a worker's backfill puts settings in force.
            roles.require_owner(cursor, self._database.location)
            # A `keep_window` once archived most of a corpus without warning, and a reset could not undo that.
            if not for_good and (lost := _losses(cursor, values)):
                raise InputError(f"{lost}; to accept that, pass for_good=True to `settings.change`")
            rulebooks.change_settings(cursor, values)

    def losses(self, values: Mapping[str, Any]) -> Losses:
        """Count the data that a change of settings would lose. Raises SettingError: as in `change`."""
        return self._transact(_losses, values)

    def give_hash_key(self, key: str, *, keep: bool) -> bool:
        """Set the hash key of a corpus; return True if the key changed.

        `keep`: if the corpus has a different key, keep that key. Raises InputError: the corpus has a
        different key, and `keep` is false.
        """
        with self._database.transaction(settling=True) as cursor:
            present = setting_rows.load_wanted(cursor).hash_key
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
        """Return the hashes of pinned sentences without a stored text. A new hash key loses these pins."""
        with self._database.transaction() as cursor:
            if not rulebooks.find_adoption(cursor):
                return []
            fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
            return [key for key, words in pins.pinned_words(cursor, fingerprinter).items() if words is None]

    def train_sentences(self, language: str, texts: Iterable[str]) -> Trained:
        """Train the sentence splitter of a language with texts.

        The next backfill splits all articles of the language again. `language`: ISO 639 code, such as `de`.
        Raises InputError: the code is malformed, or there is no text.
        """
        code = language_code(language)
        count = 0

        # `texts` may be a generator over the whole corpus, so the texts are counted as they pass.
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
    before = setting_rows.load_wanted(cursor)
    after = before.with_values({n: getattr(Settings(), n, v) if v is None else v for n, v in values.items()})
    archived, of = window.count_leaving(cursor, after) if "keep_window" in values else (0, 0)
    replaced, pins_lost = False, 0
    if after.hash_key != before.hash_key:
        # In an empty corpus nothing was hashed with the old key, so replacing the key loses nothing.
        replaced = bool(before.hash_key) and rulebooks.has_articles(cursor)
        words = pins.pinned_words(cursor, rulebooks.load_rulebook(cursor).fingerprinter)
        pins_lost = sum(found is None for found in words.values())
    return Losses(archived, of, replaced, pins_lost)


class PairPins(OfCorpus):
    """Pins on pairs of articles; a pair is named by two source_ids."""

    def set(
        self, a: str, b: str, relation: Relation | str, *, by: str | None = None, reason: str | None = None
    ) -> list[str]:
        """Pin a pair, and replace an earlier pin; `settle` or the next backfill settles both articles again.

        Return the source_ids that no article has: the pin waits for these articles. `relation`: "duplicate",
        "similar" or "unrelated". `by`: the person who decides; None: the database user. Raises InputError:
        `a` and `b` are the same article, or the relation is unknown.
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
        """Settle both articles of a pair now, after its pin changed. Return the stored articles with marks.

        Articles whose marks depend on the pair are settled, too, or left to the next backfill if there are
        too many. `timeout`: as in `Deduplicator.submit`. Raises BusyError: the timeout passed; the next
        backfill settles both articles. Raises RightsError: the connected role may not settle.
        """
        names = [checks.text("source_id", name) for name in (a, b)]
        wait = self._database.timeouts.hook if timeout is None else timeout
        check_seconds("the timeout", wait)

        def attempt() -> tuple[MarkedArticle, ...]:
            with self._database.transaction(settling=True, seconds=wait) as cursor:
                known = [found for name in names if (found := articles.find(cursor, name))]
                hook.settle_articles(
                    cursor, setting_rows.load_settings(cursor), [found.id for found in known]
                )
                marked = (verdicts.marked_article(cursor, name) for name in names)
                return tuple(found for found in marked if found is not None)

        return retry(attempt)

    remove = transacted(pins.unpin_pair)
    list = transacted(pins.pair_pins)


class CommonSentences(OfCorpus):
    """Common sentences, which comparisons ignore, and the pins on sentences."""

    list = transacted(overview.common_sentences)

    def pin(
        self, sentence: str | int, *, common: bool, language: str | None = None, scope: str | None = None
    ) -> None:
        """Pin a sentence as always common or as never common, among the articles of a scope.

        `sentence`: the sentence itself, or its hash. Raises InputError: the text is not exactly one
        sentence of the minimum length, or the number is not a hash.
        """
        with self._database.transaction() as cursor:
            key, example = _hashed(cursor, sentence, language, scope)
            pins.pin_sentence(cursor, key, common, example, scope)

    def unpin(self, sentence: str | int, *, language: str | None = None, scope: str | None = None) -> bool:
        """Remove a pin; return False if there was no pin. Raises InputError: as in `pin`."""
        with self._database.transaction() as cursor:
            key, _ = _hashed(cursor, sentence, language, scope)
            return bool(pins.unpin_sentences(cursor, [key]))


def language_code(language: str) -> str:
    """Return the ISO 639 code of a tag such as `de` or `de-AT`. Raises InputError: the tag is malformed."""
    code = base_language(language)
    if not code or not code.isalpha():
        raise InputError(f"{language!r} is not a language code; write for example `de`")
    return code


def _hashed(
    cursor: Cursor, sentence: str | int, language: str | None, scope: str | None
) -> tuple[int, str | None]:
    """Return the hash and the words of a sentence; return None as words if `sentence` is a hash."""
    if isinstance(sentence, int):
        if not -(2**63) <= sentence < 2**63:
            raise InputError("the number is not a sentence hash: it does not fit in 64 bits")
        return sentence, None
    fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
    found = [
        (key, text) for text, key in fingerprinter.sentences(sentence, language, scope) if key is not None
    ]
    if len(found) != 1:
        minimum = fingerprinter.settings.sentence_min_characters
        raise InputError(
            f"give one sentence of at least {minimum} characters, or a hash, not {len(found)} sentences"
        )
    return found[0]
