"""Articles of a comparison, read from a file and numbered from 0. Pairs hold these numbers, not ids."""

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

# Articles without a time get this fixed time, so that results do not depend on the time of the run.
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


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
        """Return the document of an article; `language` is used for articles without a language."""
        time = article.published_at or article.added_at
        named = article.language or language
        return cls(article.source_id, article.text, article.title, article.publication, time, named)

    def words(self) -> list[str]:
        return words(self.text)

    def order(self, settings: Settings | None = None) -> OrderKey:
        """Return the sort key of the document in canonical order."""
        # Documents have no `added_at`. With `published_at` in its place, no date of publication is rejected
        # for being later than `added_at`.
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
        """Read a file in any format that `dedup load` reads; the last article of each id counts."""
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
