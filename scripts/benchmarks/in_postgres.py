"""Run a method that needs only Postgres, in its own process: a bare copy, a self-join, or trigrams.

    scripts/benchmarks/in_postgres.py floor|self-join|trigram-index URL
    scripts/benchmarks/in_postgres.py trigrams URL ANSWER NUMBER...

`floor` is the bare copy: read all texts, hash them, and write a row for each. `fill` puts the texts into a
table `doc (id integer, text text)` before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psycopg
import xxhash

SENTENCE_CHARACTERS = 40
"""Minimum characters of a counted sentence; shorter sentences are bylines, or like "He said so."."""

MOST_CARRIERS = 100
"""Sentences in more articles than this are not counted; without this bound the join does not end."""

SHARED = 0.5
"""Minimum Jaccard of two articles' sentences for which the articles are reported as a pair."""

TRIGRAM_SIMILARITY = 0.6
"""Value of `pg_trgm.similarity_threshold`: minimum share of common trigrams in all trigrams of two texts."""

LONGEST_MS = 60_000
"""Maximum milliseconds of one search by trigrams; a slower search is cancelled and counts as this long."""

SIMILAR = "SELECT id FROM doc WHERE text %% (SELECT text FROM doc WHERE id = %s) AND id <> %s"

SELF_JOIN = f"""
    CREATE TABLE sentence AS
        SELECT DISTINCT doc.id, hashtextextended(sentence, 0) AS hash
        FROM doc, regexp_replace(lower(text), '\\s+', ' ', 'g') AS line,
            regexp_split_to_table(line, '(?<=[.!?]) ') AS sentence
        WHERE length(sentence) >= {SENTENCE_CHARACTERS};
    CREATE INDEX ON sentence (hash, id);
    ANALYZE sentence;
    CREATE TABLE pair AS
        WITH telling AS (
            SELECT hash FROM sentence GROUP BY hash HAVING count(*) BETWEEN 2 AND {MOST_CARRIERS}
        ), sharing AS (
            SELECT a.id AS a, b.id AS b, count(*) AS shared
            FROM telling JOIN sentence a USING (hash) JOIN sentence b USING (hash)
            WHERE a.id < b.id GROUP BY a.id, b.id
        ), counted AS (SELECT id, count(*) AS sentences FROM sentence GROUP BY id)
        SELECT a, b FROM sharing
        JOIN counted one ON one.id = a JOIN counted other ON other.id = b
        WHERE shared >= {SHARED} * (one.sentences + other.sentences - shared);
"""


def fill(url: str, texts: Iterable[str]) -> None:
    """Write the texts into the table `doc`, numbered from 0, without NUL, which Postgres cannot store."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE doc (id integer PRIMARY KEY, text text NOT NULL)")
        with cursor.copy("COPY doc FROM STDIN") as copy:
            for number, text in enumerate(texts):
                copy.write_row((number, text.replace("\0", "")))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE doc")


def floor(url: str) -> None:
    """Read all texts by binary COPY, hash each text, and write a row per text by binary COPY."""
    with psycopg.connect(url) as source, psycopg.connect(url) as target:
        target.execute("CREATE TABLE mark (id integer, hash bigint)")
        with (
            source.cursor().copy("COPY doc (id, text) TO STDOUT (FORMAT binary)") as read,
            target.cursor().copy("COPY mark FROM STDIN (FORMAT binary)") as write,
        ):
            read.set_types(["int4", "text"])
            write.set_types(["int4", "int8"])
            for number, text in read.rows():
                write.write_row((number, xxhash.xxh3_64_intdigest(text.encode()) - 2**63))
        target.commit()


def floor_groups(url: str, size: int) -> npt.NDArray[np.int32]:
    """Return the group of each article; articles with equal hashes are one group."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT id, dense_rank() OVER (ORDER BY hash) FROM mark").fetchall()
    groups = np.zeros(size, np.int32)
    for number, group in rows:
        groups[number] = group
    return groups


def self_join(url: str) -> None:
    """Find, in SQL alone, the pairs of articles that share enough sentences."""
    with psycopg.connect(url) as connection:
        connection.execute(SELF_JOIN)


def self_join_pairs(url: str) -> npt.NDArray[np.int32]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT a, b FROM pair ORDER BY a, b").fetchall()
    return np.array(rows, np.int32).reshape(-1, 2)


def trigram_index(url: str) -> None:
    """Create the GIN index over the trigrams of all texts."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        connection.execute("CREATE INDEX doc_trigrams ON doc USING gin (text gin_trgm_ops)")


def trigrams(url: str, answer: Path, numbers: Iterable[int]) -> None:
    """Find the articles with similar trigrams for each article of `numbers`; write the pairs to `answer`."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET pg_trgm.similarity_threshold = {TRIGRAM_SIMILARITY}")
        connection.execute(f"SET statement_timeout = {LONGEST_MS}")
        connection.execute("SET enable_seqscan = off")
        pairs, milliseconds, given_up = [], [], 0
        for number in numbers:
            started = time.perf_counter()
            try:
                rows = connection.execute(SIMILAR, [number, number]).fetchall()
                pairs += [[number, other] for (other,) in rows]
            except psycopg.errors.QueryCanceled:
                given_up += 1
            milliseconds.append(1000 * (time.perf_counter() - started))
    answer.write_text(json.dumps({"pairs": pairs, "milliseconds": milliseconds, "given_up": given_up}))


if __name__ == "__main__":
    name, url, *words = sys.argv[1:]
    if name == "trigrams":
        trigrams(url, Path(words[0]), map(int, words[1:]))
    else:
        {"floor": floor, "self-join": self_join, "trigram-index": trigram_index}[name](url)
