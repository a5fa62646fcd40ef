"""How a user wants files read: which column is which field, and what holds where an article says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dedup.article import Article
from dedup.files.readers import ArticleReader, read_articles
from dedup.files.record import MAX_RECORD_BYTES


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read.

    Attributes:
        fields: article field to the name of the key or column that has it, in place of the usual names.
        format: jsonl, csv, tsv or parquet; None goes by the name of the file.
        publication, language: of articles that name none.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    publication: str | None = None
    language: str | None = None

    def open(self, path: str | Path, max_record_bytes: int = MAX_RECORD_BYTES) -> ArticleReader:
        """Open a file.

        Raises:
            InputError: it cannot be used; see `read_articles`.
        """
        return read_articles(path, fields=self.fields, format=self.format, max_record_bytes=max_record_bytes)

    def completed(self, article: Article) -> Article:
        """An article with the publication and language of this reading where it has none."""
        if (self.publication and article.publication is None) or (self.language and article.language is None):
            return replace(
                article,
                publication=article.publication or self.publication,
                language=article.language or self.language,
            )
        return article
