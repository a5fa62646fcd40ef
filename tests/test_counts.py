"""Counts of the work for one article: no call costs more than its recorded counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COUNTS = Path(__file__).parents[1] / "scripts" / "benchmarks" / "counts.py"


@pytest.mark.long("dedup", "migrations", "scripts/benchmarks")
def test_no_call_costs_more_than_recorded() -> None:
    done = subprocess.run([sys.executable, COUNTS, "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
