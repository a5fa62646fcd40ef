"""Long tests: the default suite skips them unless their subject changed; `scripts/test --all` runs all.

A test marked `long("dedup/text")` depends on the files of that folder, on its own file, and on the shared
files of the tests: fixtures, helpers and expected answers. `long.json` has digests of all these files from
the last run of all tests. If a digest differs, the default suite runs the test. `python -m tests.long`
records the digests.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("long.json")
COMPILED = (".pyc", ".so")
SHARED = "tests"
"""Folder whose digest covers only files that are no tests: fixtures, helpers, expected answers."""


@cache
def digest(name: str) -> str:
    """Return a digest of a file, or of all files below a folder except compiled ones."""
    place = ROOT / name
    found_files = (file for file in place.rglob("*") if file.is_file() and file.suffix not in COMPILED)
    if name == SHARED:
        found_files = (f for f in found_files if not f.name.startswith("test_") and f != RECORD)
    files = sorted(found_files) if place.is_dir() else [place]
    assert files, f"{place} has no files"
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]


@cache
def recorded() -> dict[str, str]:
    """Return the digests of the last run of all tests."""
    if not RECORD.exists():
        return {}
    return dict(json.loads(RECORD.read_text("utf-8")))


def is_due(names: tuple[str, ...], test: Path) -> bool:
    """Return whether a test is due: its file, a shared file or something that it names has changed."""
    return any(recorded().get(name) != digest(name) for name in (*names, SHARED, str(test.relative_to(ROOT))))


def main() -> None:
    """Record the digests of all files and folders that long tests name."""
    names = {SHARED}
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        if marks := re.findall(r"pytest\.mark\.long\(([^)]*)\)", test.read_text("utf-8")):
            names |= {str(test.relative_to(ROOT)), *re.findall(r'"([^"]+)"', " ".join(marks))}
    RECORD.write_text(json.dumps({name: digest(name) for name in sorted(names)}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
