"""What the machine offers this process, and the most that is taken of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

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
