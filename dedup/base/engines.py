"""What the door says of the engines that settle: their names and their batch; light, since help shows it."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["auto", "postgres", "memory"]
"""What settles: some articles at a time, through the indexes of Postgres; or all at once, in arrays in
memory; or whichever is quicker. The marks are the same."""

ENGINE_NAMES: tuple[EngineName, ...] = ("auto", "postgres", "memory")

BATCH_ARTICLES = 1_000
"""Articles per settle transaction at most: a quarter of a second where few of them are related."""

MAX_BATCH = 100_000  # Articles per transaction of a backfill; more hold the corpus for too long
MIN_MEMORY = 16_000_000  # Bytes; with less, a backfill in memory would read the corpus again and again
