"""The common sentences brought up to date, by the backfill only (docs/semantics.md, section 2).

Counts what changed since the last time, or everything where that is less work; then changes the table, and
the counts at last. Most carriers are withdrawn ahead, so that no transaction is long. What is interrupted is
done again from the same changes, to the same end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from dedup.db.arrays import Bigints
from dedup.db.database import Cursor, Database
from dedup.settling.locked import held
from dedup.store import articles, common_sentences
from dedup.store.common_sentences import CommonChange, SentenceCount
from dedup.store.rulebooks import Rulebook
from dedup.text.fingerprint import Fingerprinter

FULL_COUNT_SHARE = 0.1
"""Above this share of changed fingerprints one pass over all is less work than many index probes."""

CHANGES_PER_TRANSACTION = 500
CARRIERS_PER_TRANSACTION = 10_000
"""How many sentences change under one hold of the settle lock, and how many carriers they have together;
a sentence that has more of them changes alone."""

WITHDRAWN_PER_TRANSACTION = 2_000  # Carriers that are withdrawn ahead under one hold of the settle lock
EXAMPLES_PER_PAGE = 200  # Texts read at a time while looking for an example of each new common sentence
EXAMPLE_CHARACTERS = 500  # Longer examples are cut: a table cell is no place for a page


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How many sentences became common, stopped being common, and how many articles that touched."""

    entered: int = 0
    left: int = 0
    carriers: int = 0


def refresh(database: Database, rulebook: Rulebook, *, full: bool | None = None) -> Refreshed:
    """Bring the common sentences up to date with the fingerprints; costs one query if nothing changed.

    `full`: count every sentence, or only those that changed; None chooses by cost. Raises StaleRulesError:
    the settings changed meanwhile; what was done so far is kept and right.
    """
    settings = rulebook.settings
    with database.transaction() as cursor:
        if not common_sentences.anything_to_count(cursor):
            return Refreshed()
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        everything, taken, fingerprints = common_sentences.take_changes(cursor)
        if full is None:
            full = len(taken) > FULL_COUNT_SHARE * fingerprints
        everything = everything or full
        count = common_sentences.count_all if everything else common_sentences.count_changed
        counts = count(cursor, settings)
        changes = common_sentences.changes(cursor, counts, settings, everything=everything)
    return apply(database, rulebook, SentenceCounts(everything, taken, counts, changes))


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """Sentences as they were counted at one moment.

    Attributes:
        everything: all were counted, and not only those of some changes.
        taken: the changes that the counts know of.
        counts: see `common_sentences.SentenceCount`.
        changes: what follows for the table of common sentences.
        carriers: where they are known, of each sentence that enters or leaves those carriers that take part.
    """

    everything: bool
    taken: Bigints
    counts: Sequence[SentenceCount]
    changes: Sequence[CommonChange]
    carriers: Mapping[int, Sequence[int]] | None = None

    def carriers_of(self, cursor: Cursor, part: Sequence[CommonChange]) -> list[int]:
        """The articles to be withdrawn because these sentences change."""
        if self.carriers is None:
            return common_sentences.carriers_of(cursor, part)
        return sorted({id for change in part for id in self.carriers.get(change.sentence_hash, ())})


def apply(database: Database, rulebook: Rulebook, counted: SentenceCounts) -> Refreshed:
    """Change the table of common sentences, and keep the counts. Raises as `refresh`."""
    changes = counted.changes
    examples = examples_of(database, rulebook.fingerprinter, [c for c in changes if c.enters])
    carriers = 0
    for part in _parts(changes):
        # Most carriers are withdrawn ahead: safe at any time, and quick to do again.
        with database.transaction() as cursor:
            waiting = counted.carriers_of(cursor, part)
        for start in range(0, len(waiting), WITHDRAWN_PER_TRANSACTION):
            page = waiting[start : start + WITHDRAWN_PER_TRANSACTION]
            held(database, partial(articles.withdraw, ids=page), rulebook.check)
        change = partial(_change, counted=counted, part=part, examples=examples)
        carriers += held(database, change, rulebook.check)
    finish = partial(common_sentences.finish, counts=counted.counts, taken=counted.taken)
    finish = partial(finish, settings=rulebook.settings, everything=counted.everything)
    held(database, finish, rulebook.check)
    return Refreshed(sum(c.enters for c in changes), sum(c.leaves for c in changes), carriers)


def _parts(changes: Sequence[CommonChange]) -> Iterator[list[CommonChange]]:
    """The changes that go together in one transaction."""
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


def _change(
    cursor: Cursor, counted: SentenceCounts, part: Sequence[CommonChange], examples: dict[int, str]
) -> int:
    """Change some sentences with their carriers; returns how many carriers there are."""
    carriers = counted.carriers_of(cursor, part)
    common_sentences.apply(cursor, part, carriers, examples)
    return len(carriers)


def examples_of(
    database: Database, fingerprinter: Fingerprinter, changes: list[CommonChange]
) -> dict[int, str]:
    """The words of each sentence, from a text that carries it."""
    wanted = {c.sentence_hash for c in changes}
    ids = iter(sorted({c.carrier for c in changes if c.carrier is not None}))
    found: dict[int, str] = {}
    while page := list(islice(ids, EXAMPLES_PER_PAGE)):
        with database.transaction() as cursor:
            texts = articles.texts(cursor, page)
        for task in texts:
            for sentence, sentence_hash in fingerprinter.sentences(task.text, task.language):
                if sentence_hash in wanted:
                    found.setdefault(sentence_hash, sentence[:EXAMPLE_CHARACTERS])
    return found
