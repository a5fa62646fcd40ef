"""What the machine offers this process."""

from __future__ import annotations

import os


def cores() -> int:
    """The processor cores this process may use; at least 1."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
