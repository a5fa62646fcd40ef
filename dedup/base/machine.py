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

# Control groups of Linux, version 2, and the file that names the group of this process.
GROUPS, OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")

MAX_WORKERS = 256  # Maximum number of threads that fingerprint texts


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # macOS lacks sched_getaffinity
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    # One thread more than cores, since each thread waits for the database part of the time.
    return cores() + 1


def memory() -> int:
    """Return the machine's memory, or the lowest limit of the process's control groups, in bytes."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    own = Path("/")  # In a container this is the container's group
    with suppress(OSError, ValueError):  # Only Linux has control groups
        lines = OWN_GROUP.read_text("utf-8").splitlines()
        own = Path(next((line[3:] for line in lines if line.startswith("0::/")), "/"))
    for group in (own, *own.parents):  # `MemoryMax=` of systemd limits a service, or a slice above it
        with suppress(OSError, ValueError):  # The group has no limit ("max")
            found = min(found, int((GROUPS / group.relative_to("/") / "memory.max").read_text("ascii")))
    return found
