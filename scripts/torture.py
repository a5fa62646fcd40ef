"""Run the tests with the marker `torture` and tabulate what they say of themselves (docs/reliability.md).

A test says through the fixture `told` which promises it tries, on what, and which faults it made. A loss is a
test that fails: each compares with an undisturbed run. Seeds are in the tests, and are told.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

START, END = "<!-- torture: made by scripts/torture -->", "<!-- end of torture -->"
COLUMNS = ("promises", "test", "trials", "faults", "seconds", "losses")


@dataclass(frozen=True)
class Row:
    """One long test as it went."""

    promises: str
    test: str
    trials: str
    faults: str
    seconds: float
    lost: bool

    def cells(self) -> tuple[str, ...]:
        """The cells of its row."""
        losses = "LOST" if self.lost else "0"
        return self.promises, f"`{self.test}`", self.trials, self.faults, f"{self.seconds:.0f}", losses


def rows(report: Path) -> list[Row]:
    """The tests of a JUnit report that were run, by promise."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            continue
        said = {item.get("name"): item.get("value") or "" for item in case.iter("property")}
        module = (case.get("classname") or "").rpartition(".")[2]
        lost = case.find("failure") is not None or case.find("error") is not None
        found.append(
            Row(
                said.get("promises", ""),
                f"{module}.py::{case.get('name')}",
                said.get("trials", ""),
                said.get("faults", ""),
                float(case.get("time") or 0),
                lost,
            )
        )
    return sorted(found, key=lambda row: ([int(n) for n in row.promises.split(", ") if n] or [99], row.test))


def table(found: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(row.cells() for row in found)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write_into(page: Path, text: str) -> None:
    """Put the table between the two marks of a page.

    Raises:
        SystemExit: the page has no such marks.
    """
    before, start, rest = page.read_text("utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"{page} has no {START!r} and {END!r}")
    page.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the table into this page too")
    options, given = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "torture", "-n", "0", "-rP", f"--junitxml={report}"]
        code = subprocess.run([*command, *given], check=False).returncode
        if not report.exists():
            return code or 1
        found = rows(report)
    lost = sum(row.lost for row in found)
    told = f"{len(found)} tests on {datetime.now(UTC):%Y-%m-%d}, {lost} lost"
    print(f"\n{told}\n\n{table(found)}")
    if options.markdown:
        write_into(options.markdown, f"{told}.\n\n{table(found)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
