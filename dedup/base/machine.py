"""Cores and memory of this machine, bounds on their use, and the names of the engines that settle."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

EngineName = Literal["auto", "postgres", "memory"]
"""`postgres` settles in batches through indexes, `memory` all at once; `auto` takes the quicker one."""

ENGINE_NAMES: tuple[EngineName, ...] = ("auto", "postgres", "memory")

# Such a settle transaction takes a quarter of a second if few of the articles are related.
BATCH_ARTICLES = 1_000

MAX_BATCH = 100_000  # Articles per transaction of a backfill; more hold the corpus for too long

# Bytes. With less, the memory engine would read the corpus again and again.
MIN_MEMORY = 16_000_000

MAX_WORKERS = 256  # Threads that fingerprint texts


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    # One more than cores: a thread waits for the database part of the time.
    return cores() + 1


def memory() -> int:
    """Return the bytes of memory that this process may use: of the machine, or of its control group."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no control group, or one without a limit ("max")
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return found
