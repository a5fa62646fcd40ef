"""Exchange between a cluster and Postgres. This file has the reports, and can be imported without pyarrow."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class CorpusExport(Answer):
    """Report of `dedup export corpus`."""

    folder: str
    articles: int = 0  # articles that are not archived
    fingerprints: int = 0  # articles with a current fingerprint
    failed: int = 0  # articles that cannot have a fingerprint
    left_out: int = 0  # articles without a current fingerprint, whose texts the cluster reads
    left_out_ids: list[str] = field(default_factory=list)  # source_ids of some articles left out
    pair_pins: int = 0
    sentence_pins: int = 0
    keyed: bool = False  # the corpus has a hash key
    with_key: bool = False  # the folder holds the hash key
    stopped: bool = False  # the export was asked to stop; there is no folder


@dataclass(frozen=True, slots=True)
class MarkDisagreement(Answer):
    """A difference between a result and the corpus."""

    words: str  # description of the difference, shown after the count
    count: int = 0  # number of articles, marks or pairs that differ; 0: a difference of the whole corpus
    examples: list[str] = field(default_factory=list)  # some source_ids
    next: str = ""  # what the user has to do next

    def __str__(self) -> str:
        named = f" ({', '.join(self.examples)}{' …' if self.count > len(self.examples) else ''})"
        counted = f"{self.count:,} " if self.count else ""
        return f"{counted}{self.words}{named if self.examples else ''}: {self.next}"


@dataclass(slots=True)
class ImportReport(Answer):
    """Report of an import, or of a dry run."""

    folder: str
    problems: list[MarkDisagreement] = field(default_factory=list)  # if there are any, no mark was changed
    articles: int = 0  # articles of the result
    fingerprints: int = 0  # fingerprints that are new to the corpus
    marks: int = 0  # marks that differed from the stored marks and were written
    pairs: int = 0  # pairs that differed from the stored pairs and were written
    common_entered: int = 0  # sentences that became common
    common_left: int = 0  # sentences that are no longer common
    left: int = 0  # articles that people changed meanwhile; the next backfill settles them
    adopted: bool = False  # the import put changed settings or a changed program into effect
    stopped: bool = False  # the import was asked to stop; no mark was changed
    seconds: dict[str, float] = field(default_factory=dict)  # duration of each stage
