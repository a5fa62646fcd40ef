"""Report the cores and memory of this machine; define engine names and limits of batches and threads."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

EngineName = Literal["auto", "postgres", "memory"]
"""`postgres` finds related articles by database indexes, `memory` in memory; `auto` uses the faster one."""

ENGINE_NAMES: tuple[EngineName, ...] = ("auto", "postgres", "memory")

# A transaction that settles a batch of this size takes 0.25 seconds if few of the articles are related.
BATCH_ARTICLES = 1_000

MAX_BATCH = 100_000  # Maximum number of articles per transaction; more would lock the corpus for too long

# Minimum memory of the memory engine, in bytes. With less, the engine would read the corpus many times.
MIN_MEMORY = 16_000_000

MAX_WORKERS = 256  # Maximum number of threads that fingerprint texts


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # macOS lacks sched_getaffinity
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    # One thread more than cores, since each thread waits for the database part of the time.
    return cores() + 1


def memory() -> int:
    """Return the smaller of the machine's memory and the limit of the process's control group, in bytes."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # There is no control group, or it has no limit ("max")
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return found
