"""`Deduplicator.settings`: what a corpus is told, and sentence parameters learnt from its own language.

Changes wait for the next backfill, which puts them in force (docs/semantics.md, section 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dedup.api import OfCorpus
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.settings import Settings, masked
from dedup.files.record import record_bytes
from dedup.store import pins, rulebooks
from dedup.store.rulebooks import Adoption
from dedup.text.fingerprint import base_language
from dedup.text.punkt import PunktModel


@dataclass(frozen=True, slots=True)
class Trained(Answer):
    """Sentence parameters that were learnt."""

    language: str  # ISO 639 code
    articles: int  # how many they were learnt from
    abbreviations: int  # how many were found


class CorpusSettings(OfCorpus):
    """The settings of one corpus."""

    def in_force(self) -> Settings:
        """The settings that marks are made with."""
        return self._transact(rulebooks.load_settings)

    def wanted(self) -> Settings:
        """The settings that the next backfill puts in force."""
        return self._transact(rulebooks.load_wanted)

    def adoption(self) -> Adoption:
        """What the next backfill puts in force; false if that is what is in force already."""
        return self._transact(rulebooks.waiting_adoption)

    def sentence_models(self) -> dict[str, PunktModel]:
        """The sentence parameters in force, by language."""
        return self._transact(rulebooks.load_models)

    def max_record_bytes(self) -> int:
        """The bound of a line of a file: room for the longest text that the corpus can read, or will."""
        return record_bytes(max(found.text_max_characters for found in (self.in_force(), self.wanted())))

    def change(self, values: Mapping[str, Any]) -> None:
        """Change settings, from the next backfill on; None goes back to the default.

        Raises SettingError: an unknown name, or a value out of its range; nothing was changed.
        """
        with self._database.transaction(settling=True) as cursor:
            rulebooks.change_settings(cursor, values)

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
            if not rulebooks.waiting_adoption(cursor):
                return []
            fingerprinter = rulebooks.load_rulebook(cursor).fingerprinter
            return [key for key, words in pins.pinned_words(cursor, fingerprinter).items() if words is None]

    def train_sentences(self, language: str, texts: Iterable[str]) -> Trained:
        """Learn from texts where sentences of a language end; the next backfill reads its texts again.

        `language`: ISO 639 code, such as `de`. Raises InputError: this is no language code, or there are no
        texts.
        """
        # Here: it loads NLTK, which no other setting needs.
        from dedup.text.training import train

        code = language_code(language)
        count = 0

        def counted() -> Iterable[str]:
            nonlocal count
            for text in texts:
                count += 1
                yield text

        model = train(counted())
        if not count:
            raise InputError(f"no articles of language {code!r} to learn from")
        with self._database.transaction(settling=True) as cursor:
            rulebooks.store_model(cursor, code, model, count)
        return Trained(code, count, len(model.abbrev_types))


def language_code(language: str) -> str:
    """The ISO 639 code in a tag such as `de` or `de-AT`."""
    code = base_language(language)
    if not code or not code.isalpha():
        raise InputError(f"{language!r} is no language code; write for example `de`")
    return code
