"""What the machine offers this process, the most that is taken of it, and the engines that settle."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

EngineName = Literal["auto", "postgres", "memory"]
"""What settles: some articles at a time, through the indexes of Postgres; or all at once, in arrays in
memory; or whichever is quicker. The marks are the same."""

ENGINE_NAMES: tuple[EngineName, ...] = ("auto", "postgres", "memory")

BATCH_ARTICLES = 1_000
"""Articles per settle transaction at most: a quarter of a second where few of them are related."""

MAX_BATCH = 100_000  # Articles per transaction of a backfill; more hold the corpus for too long
MIN_MEMORY = 16_000_000  # Bytes; with less, a backfill in memory would read the corpus again and again


MAX_WORKERS = 256  # Threads that fingerprint texts; more only wait


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """How many threads keep all cores busy with work that half the time waits for the database."""
    return cores() + 1


def memory() -> int:
    """The bytes of memory of this machine, or of what this process may use of it."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no control group, or one without a limit ("max")
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return found
