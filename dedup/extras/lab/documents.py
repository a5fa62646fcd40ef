"""The articles a comparison runs on: read once from a file, numbered from 0, held in memory.

The lab's methods see numbers, never ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.files.readers import Reject, read_articles
from dedup.rules.marks import OrderKey, order_key
from dedup.text.normalize import words

UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of articles that name none, so that the order never depends on when the lab is run."""


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    text: str
    title: str | None = None
    publication: str | None = None
    published_at: datetime | None = None
    language: str | None = None

    @classmethod
    def of(cls, article: Article, language: str | None = None) -> Document:
        """The document of an article; `language` is for an article that names none."""
        time = article.published_at or article.added_at
        named = article.language or language
        return cls(article.source_id, article.text, article.title, article.publication, time, named)

    def words(self) -> list[str]:
        """The normalised words of the text, in order."""
        return words(self.text)

    def order(self, settings: Settings | None = None) -> OrderKey:
        """Its place in canonical order; the lab knows no `added_at`, so no date is too late."""
        added_at = self.published_at or UNDATED
        return order_key(settings or Settings(), self.published_at, added_at, self.id)


@dataclass(frozen=True)
class DocumentSet:
    documents: Sequence[Document]
    refused: int = 0  # lines of the file that are not articles
    repeated: int = 0  # articles that a later line with the same id replaced
    numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {d.id: i for i, d in enumerate(self.documents)})

    def __getitem__(self, number: int) -> Document:
        return self.documents[number]

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> DocumentSet:
        return cls([Document(str(i), text) for i, text in enumerate(texts)])

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        fields: Mapping[str, str] | None = None,
        format: str | None = None,
        language: str | None = None,
    ) -> DocumentSet:
        """The articles of a file in any format that `dedup load` reads; the last line of an id counts."""
        found: dict[str, Document] = {}
        refused = repeated = 0
        with read_articles(path, fields=fields, format=format, lose_dates=True) as reader:
            for item in reader:
                if not isinstance(item, Article):
                    refused += isinstance(item, Reject)
                    continue
                repeated += item.source_id in found
                found[item.source_id] = Document.of(item, language)
        return cls(list(found.values()), refused, repeated)
