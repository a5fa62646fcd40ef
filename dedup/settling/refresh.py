"""Bring the table of common sentences up to date; only backfills do this (docs/semantics.md, section 2).

A carrier of a sentence is an article that contains it. Only sentences whose carriers changed since the last
count are counted, or all sentences if that is less work. Then the table is changed. The counts are stored
last: if a run is interrupted, the next run counts the same changes again, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from dedup.db.arrays import Bigints
from dedup.db.database import Cursor, Database, run_locked
from dedup.store import articles, common_sentences
from dedup.store.common_sentences import CommonChange, SentenceCount
from dedup.store.rulebooks import Rulebook
from dedup.text.fingerprint import Fingerprinter

# If more than this share of the fingerprints changed, reading all is less work than many index look-ups.
FULL_COUNT_SHARE = 0.1

# Maximum sentences that one transaction under the settle lock changes, and maximum total of their carriers. A
# sentence with more carriers is changed alone.
CHANGES_PER_TRANSACTION = 500
CARRIERS_PER_TRANSACTION = 10_000

WITHDRAWN_PER_TRANSACTION = 2_000  # Maximum carriers that one transaction withdraws (makes stale) in advance
EXAMPLES_PER_PAGE = 200  # Texts per query when the words of new common sentences are looked up
EXAMPLE_CHARACTERS = 500  # Longer examples are cut, so that a cell of the table stays short


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """Number of sentences that became common or stopped being common, and number of their carriers."""

    entered: int = 0
    left: int = 0
    carriers: int = 0


def refresh(database: Database, rulebook: Rulebook, *, full: bool | None = None) -> RefreshResult:
    """Bring the common sentences up to date with the fingerprints; costs one query if nothing changed.
    `full`: True to count all sentences, False to count only changed ones, None to choose the cheaper way.
    Raises StaleRulesError: the settings changed; changes stored until then are right."""
    settings = rulebook.settings
    with database.transaction() as cursor:
        if not common_sentences.must_count(cursor):
            return RefreshResult()
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        everything, taken, fingerprints = common_sentences.take_changes(cursor)
        if full is None:
            full = len(taken) > FULL_COUNT_SHARE * fingerprints
        everything = everything or full
        count = common_sentences.count_all if everything else common_sentences.count_changed
        counts = count(cursor, settings)
        changes = common_sentences.find_changes(cursor, counts, settings, everything=everything)
    return apply(database, rulebook, SentenceCounts(everything, taken, counts, changes))


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """Counts of sentences at one moment."""

    everything: bool  # all sentences were counted, not only the changed ones
    taken: Bigints  # ids of the rows of `sentence_change` that `counts` includes
    counts: Sequence[SentenceCount]
    changes: Sequence[CommonChange]  # changes to the table of common sentences
    # Articles to settle again, by sentence that becomes or stops being common; None: look them up later.
    carriers: Mapping[int, Sequence[int]] | None = None

    def find_carriers(self, cursor: Cursor, part: Sequence[CommonChange]) -> list[int]:
        """Return the ids of articles in which a sentence becomes common, or stops being common.

        These articles must be settled again. `part`: some of `changes`.
        """
        if self.carriers is None:
            return common_sentences.find_rescored(cursor, part)
        return sorted({id for change in part for id in self.carriers.get(change.sentence_hash, ())})


def apply(database: Database, rulebook: Rulebook, counted: SentenceCounts) -> RefreshResult:
    """Change the table of common sentences, and store the counts. Raises StaleRulesError, like `refresh`."""
    changes = counted.changes
    examples = find_examples(database, rulebook.fingerprinter, [c for c in changes if c.enters])
    carriers = 0
    for part in _split_changes(changes):
        # Most carriers are withdrawn (made stale) in advance, which is safe at any time. Otherwise the
        # transaction that changes the sentences would have to withdraw all carriers, and would be long.
        with database.transaction() as cursor:
            waiting = counted.find_carriers(cursor, part)
        for start in range(0, len(waiting), WITHDRAWN_PER_TRANSACTION):
            page = waiting[start : start + WITHDRAWN_PER_TRANSACTION]
            run_locked(database, partial(articles.withdraw, ids=page), rulebook.check)
        change = partial(_change_sentences, counted=counted, part=part, examples=examples)
        carriers += run_locked(database, change, rulebook.check)
    finish = partial(common_sentences.finish, counts=counted.counts, taken=counted.taken)
    finish = partial(finish, settings=rulebook.settings, everything=counted.everything)
    run_locked(database, finish, rulebook.check)
    return RefreshResult(sum(c.enters for c in changes), sum(c.leaves for c in changes), carriers)


def _split_changes(changes: Sequence[CommonChange]) -> Iterator[list[CommonChange]]:
    part: list[CommonChange] = []
    carriers = 0
    for change in changes:
        if part and (
            len(part) == CHANGES_PER_TRANSACTION or carriers + change.carriers > CARRIERS_PER_TRANSACTION
        ):
            yield part
            part, carriers = [], 0
        part.append(change)
        carriers += change.carriers
    if part:
        yield part


def _change_sentences(
    cursor: Cursor, counted: SentenceCounts, part: Sequence[CommonChange], examples: dict[int, str]
) -> int:
    carriers = counted.find_carriers(cursor, part)
    common_sentences.apply(cursor, part, carriers, examples)
    return len(carriers)


def find_examples(
    database: Database, fingerprinter: Fingerprinter, changes: list[CommonChange]
) -> dict[int, str]:
    """Map the hash of each sentence in `changes` to its words, taken from an article with the sentence."""
    wanted = {c.sentence_hash for c in changes}
    ids = iter(sorted({c.carrier for c in changes if c.carrier is not None}))
    found: dict[int, str] = {}
    while page := list(islice(ids, EXAMPLES_PER_PAGE)):
        with database.transaction() as cursor:
            texts = articles.load_texts(cursor, page)
        for task in texts:
            for sentence, sentence_hash in fingerprinter.sentences_of(task):
                if sentence_hash in wanted:
                    found.setdefault(sentence_hash, sentence[:EXAMPLE_CHARACTERS])
    return found
