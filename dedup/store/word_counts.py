"""Counts in how many articles of a sample each word is, to tell rare words from frequent ones.

`dedup init --search` counts the words after it made the index of words. A word that came after the
count has no number, and is taken for rare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from dedup.base.progress import Progress
from dedup.db.database import Cursor, Database, one_row
from dedup.db.statements import Statements
from dedup.store.word_index import TEXT_CHARACTERS, TITLE_CHARACTERS
from dedup.text.normalize import normalised

_sql = Statements("store/word_counts")

# Number of articles in the sample. The count of a word in one of 2,000 articles then has an error of a third,
# and counting takes some ten seconds, far less than making the index.
SAMPLE = 20_000
COUNT_SECONDS = 3_600.0  # Maximum time of a count
# Longer "words" are mostly clauses of languages without spaces, and would fill the table.
WORD_CHARACTERS = 100
# Maximum number of words in memory while counting, some 200 MB; at the maximum, words found once are dropped.
MOST_WORDS = 2_000_000
MARGIN = 1.1  # The sample is drawn larger, because pages hold different numbers of articles


class WordCounts(NamedTuple):
    """Counts of some words of the corpus."""

    sample: int  # number of articles in the sample; 0 if words were never counted
    articles: dict[str, int]  # number of articles of the sample with a word, if at least two


def words_of(title: str | None, text: str | None) -> Counter[str]:
    """Return how often each word occurs in the indexed part of an article (see `word_index.py`).

    >>> sorted(words_of("Storm", "The storm, again.").items())
    [('again', 1), ('storm', 2), ('the', 1)]
    """
    read = f"{(title or '')[:TITLE_CHARACTERS]} {(text or '')[:TEXT_CHARACTERS]}"
    found = Counter(normalised(read).decode().split())
    for word in [word for word in found if len(word) > WORD_CHARACTERS]:
        del found[word]
    return found


def count_words(database: Database, *, progress: Progress | None = None) -> None:
    """Count the words of a sample, and replace the stored counts."""
    with database.transaction(seconds=COUNT_SECONDS) as cursor:
        estimate = estimated(cursor)
        percent = min(100.0, 100 * MARGIN * SAMPLE / max(1, estimate))
        if progress is not None:
            progress.start("counting words", min(SAMPLE, estimate))
        found: Counter[str] = Counter()
        sample = 0
        limits = {"title": TITLE_CHARACTERS, "text": TEXT_CHARACTERS, "percent": percent, "most": SAMPLE}
        for title, text in cursor.stream(_sql("sample"), limits):
            found.update(words_of(title, text).keys())
            sample += 1
            if len(found) > MOST_WORDS:
                found = Counter({word: count for word, count in found.items() if count > 1})
            if progress is not None:
                progress.advance(1)
        counted = {word: count for word, count in found.items() if count > 1} | {"": sample}
        cursor.execute(_sql("forget"))
        if sample:
            values = {"words": list(counted), "counts": list(counted.values())}
            cursor.execute(_sql("store"), values)


def estimated(cursor: Cursor) -> int:
    """Return an estimate of the number of articles in the corpus."""
    return int(one_row(cursor, _sql("estimate"))[0])


def forget_words(cursor: Cursor) -> None:
    cursor.execute(_sql("forget"))


def load_counts(cursor: Cursor, words: Collection[str]) -> WordCounts:
    """Return the counts of `words`, which must not contain spaces."""
    found = dict(cursor.execute(_sql("counts"), {"words": " ".join(words)}).fetchall())
    return WordCounts(found.pop("", 0), found)
