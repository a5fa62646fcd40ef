"""Exchange with Postgres, and what is told of it. Nothing here needs pyarrow; the modules do."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class CorpusExport(Answer):
    """An export that was written.

    Attributes:
        folder: where it is.
        articles: of the corpus, archived ones not counted.
        fingerprints: articles whose fingerprint the cluster need not make; failed: that cannot have one.
        left_out: the others, which the cluster reads as new ones; left_out_ids: some of them, by source_id.
        pair_pins, sentence_pins: what people have said.
        keyed: hashes are made with a hash key; with_key: the folder holds it.
        stopped: it was asked to stop; there is no folder.
    """

    folder: str
    articles: int = 0
    fingerprints: int = 0
    failed: int = 0
    left_out: int = 0
    left_out_ids: list[str] = field(default_factory=list)
    pair_pins: int = 0
    sentence_pins: int = 0
    keyed: bool = False
    with_key: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class MarkDisagreement(Answer):
    """Something in which a result and the corpus do not agree."""

    words: str  # what, without a number
    count: int = 0  # of how many articles, or of whatever the words say; 0 where it is about none
    examples: list[str] = field(default_factory=list)  # the source_ids of some
    next: str = ""  # what to do about it

    def __str__(self) -> str:
        named = f" ({', '.join(self.examples)}{' …' if self.count > len(self.examples) else ''})"
        counted = f"{self.count:,} " if self.count else ""
        return f"{counted}{self.words}{named if self.examples else ''}: {self.next}"


@dataclass(slots=True)
class ImportReport(Answer):
    """An import that was done, or would be.

    Attributes:
        folder: the result.
        problems: in what the result and the corpus do not agree; where there is one nothing was changed.
        articles: of the result.
        fingerprints: that were new to the corpus.
        marks, pairs: that were new, or of articles that were not settled.
        common_entered, common_left: sentences that became common, or stopped.
        left: articles that people changed meanwhile: the next backfill settles them.
        adopted: changed settings or a changed program were put in force.
        stopped: it was asked to stop; no mark was changed.
        seconds: stage to how long it took.
    """

    folder: str
    problems: list[MarkDisagreement] = field(default_factory=list)
    articles: int = 0
    fingerprints: int = 0
    marks: int = 0
    pairs: int = 0
    common_entered: int = 0
    common_left: int = 0
    left: int = 0
    adopted: bool = False
    stopped: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
