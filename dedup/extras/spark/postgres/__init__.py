"""Exchange between a cluster and Postgres. This file has the reports, and can be imported without pyarrow."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class CorpusExport(Answer):
    """Report of `dedup export corpus`.

    Attributes:
        articles: number of articles that are not archived.
        fingerprints: number of articles with a current fingerprint.
        failed: number of articles that cannot have a fingerprint.
        left_out: number of articles without a current fingerprint, whose texts the cluster reads.
        left_out_ids: source_ids of some articles left out.
        keyed: true if the corpus has a hash key.
        with_key: true if the folder holds the hash key.
        stopped: true if the export was asked to stop; then there is no folder.
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
    """A difference between a result and the corpus.

    Attributes:
        words: description of the difference, shown after the count.
        count: number of articles, marks or pairs that differ; 0: a difference of the whole corpus.
        examples: some source_ids.
        next: the next step of the user.
    """

    words: str
    count: int = 0
    examples: list[str] = field(default_factory=list)
    next: str = ""

    def __str__(self) -> str:
        named = f" ({', '.join(self.examples)}{' …' if self.count > len(self.examples) else ''})"
        counted = f"{self.count:,} " if self.count else ""
        return f"{counted}{self.words}{named if self.examples else ''}: {self.next}"


@dataclass(slots=True)
class ImportReport(Answer):
    """Report of an import, or of a dry run.

    Attributes:
        problems: differences; if there are any, no mark was changed.
        articles: articles of the result.
        fingerprints: fingerprints that are new to the corpus.
        marks: marks that differed from the stored marks and were written.
        pairs: pairs that differed from the stored pairs and were written.
        common_entered: sentences that became common.
        common_left: sentences that are no longer common.
        left: articles that people changed meanwhile; the next backfill settles them.
        adopted: true if the import put changed settings or a changed program into effect.
        stopped: true if the import was asked to stop; then no mark was changed.
        seconds: duration of each stage, in seconds.
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
