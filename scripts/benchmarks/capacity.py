"""Compute the cost of an article, and what 1 million to 1 billion articles need on one machine.

    scripts/benchmarks/capacity.py RESULTS [--memory GB]

RESULTS is a file of `growth.py` with at least two sizes. Time and disk space come from the largest size,
memory from the difference of the two largest. All needs are computed, not measured; see docs/capacity.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dedup.settling.choice import MEMORY_SHARE
from dedup.settling.memory.snapshot import ARTICLE_BYTES

SIZES = (10**6, 10**7, 10**8, 10**9)
MACHINE_GB = 64

READ_SECONDS = 12e-6
"""Seconds to read a fingerprint again. With n slices of keys, each fingerprint is read 2 n more times."""

KEPT_BYTES = 400
"""Bytes per article that stay in memory if keys are read in slices. This and `READ_SECONDS` were measured by
`dedup backfill --memory 16` with 58,051 and 174,153 articles."""

ENTRY_IDS = (1 << 32) - 1  # maximum id of an article that fits into an index entry
KEY_VALUES = 1 << 31  # number of different keys that index entries can tell apart


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of an article in seconds and bytes."""

    text: float
    load: float
    wall: float
    cpu: float
    memory: float
    disk: dict[str, float]
    entries: float  # number of index entries by which an article is found


OF_TEXTS = {"article", *(f"article_{key}" for key in ("pkey", "source_id_key", "time", "outlet", "url"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--memory", type=float, default=MACHINE_GB, metavar="GB", help="of the machine")
    options = parser.parse_args()
    sizes = json.loads(options.results.read_text(encoding="utf-8"))["sizes"]
    done = sorted((s for s in sizes if not s["backfill"]["failure"]), key=lambda size: size["size"])
    if len(done) < 2:
        print(f"{options.results} has fewer than two sizes; run growth.py with more", file=sys.stderr)
        return 1
    cost = cost_of(done[-2], done[-1])
    print(f"an article, by {done[-1]['size']:,} of {cost.text:,.0f} bytes of text:")
    times = {"loading": cost.load, "backfill": cost.wall, "CPU of it": cost.cpu}
    print("  " + ", ".join(f"{name} {1e6 * seconds:,.0f} µs" for name, seconds in times.items()))
    print(f"  memory {cost.memory:,.0f} bytes; found by {cost.entries:,.0f} entries")
    print(f"  disk {', '.join(f'{name} {size:,.0f}' for name, size in cost.disk.items())} bytes")
    columns = ["articles", "loading, h", "backfill, h", "memory, GB"]
    columns += [f"slices at {options.memory:g} GB", "disk, GB", "first limit"]
    print(f"| {' | '.join(columns)} |\n|{'---:|' * (len(columns) - 1)}---|")
    for size in SIZES:
        print(row(cost, size, options.memory * 1e9))
    return 0


def cost_of(smaller: Mapping[str, Any], larger: Mapping[str, Any]) -> Cost:
    """Return the cost of an article from the results of two sizes."""
    size, backfill = larger["size"], larger["backfill"]
    disk: dict[str, float] = {}
    for relation, megabytes in larger["relations_mb"].items():
        name = relation.partition(" ")[2]
        if name in OF_TEXTS:
            group = "texts"
        elif name.startswith("fingerprint"):
            group = "fingerprints"
        else:
            group = "keys" if name.startswith(("key_", "recent_")) else "marks and pairs"
        disk[group] = disk.get(group, 0.0) + 1e6 * megabytes / size
    more = size - smaller["size"]
    blocks = 1e6 * larger["relations_mb"].get("table key_block", 0.0)
    return Cost(
        text=1e6 * larger["text_mb"] / size,
        load=larger["load_seconds"] / size,
        wall=backfill["wall"] / size,
        cpu=backfill["cpu"] / size,
        memory=1e6 * (backfill["peak_mb"] - smaller["backfill"]["peak_mb"]) / more,
        disk=dict(sorted(disk.items(), key=lambda item: -item[1])),
        entries=blocks / 8.3 / size,  # 8 bytes per entry, and 0.3 bytes for headers of page and row
    )


def row(cost: Cost, size: int, memory: float) -> str:
    """Return a row of the table: what `size` articles need on a machine with `memory` bytes of memory."""
    slices = max(1, math.ceil(size * ARTICLE_BYTES / (MEMORY_SHARE * memory)))
    held = size * cost.memory if slices == 1 else MEMORY_SHARE * memory + size * KEPT_BYTES
    again = 0.0 if slices == 1 else 2 * slices * READ_SECONDS
    values = (
        f"{size:,}",
        f"{size * cost.load / 3600:,.1f}",
        f"{size * (cost.wall + again) / 3600:,.1f}",
        f"{held / 1e9:,.1f}",
        f"{slices:,}",
        f"{size * sum(cost.disk.values()) / 1e9:,.0f}",
        limit(cost, size, slices, held, memory),
    )
    return f"| {' | '.join(values)} |"


def limit(cost: Cost, size: int, slices: int, held: float, memory: float) -> str:
    """Return the limits that `size` articles exceed, the most serious first; or "none"."""
    if size > ENTRY_IDS:
        return f"ids: entries hold {ENTRY_IDS:,}"
    found = []
    if held > memory:
        found.append(f"memory: {held / 1e9:,.0f} GB")
    elif slices > 1:
        found.append(f"memory: {slices} slices")
    strangers = size * cost.entries / KEY_VALUES
    if strangers >= 1:
        found.append(f"{strangers:,.2g} strangers a key")
    return "; ".join(found) or "none"


if __name__ == "__main__":
    sys.exit(main())
