"""Helpers for the tests of one format: read the records and refusals of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup.base.errors import InputError
from dedup.files.readers import ArticleReader, Item, read_articles


def read(path: Path, content: bytes | None = None, **options: Any) -> tuple[list[Item], ArticleReader]:
    """Write `content` into a file; return its items and the reader."""
    if content is not None:
        path.write_bytes(content)
    with read_articles(path, lose_dates=True, **options) as reader:
        return list(reader), reader


def refuse(path: Path, **options: Any) -> str:
    """Return the reason why a file cannot be used."""
    with pytest.raises(InputError) as caught:
        read_articles(path, **options)
    return str(caught.value)
