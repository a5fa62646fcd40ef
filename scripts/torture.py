"""Run the tests with the marker `torture` and tabulate their reports (docs/reliability.md).

Each test reports through the fixture `told`: the tested promises, the data, and the faults. A failed test
counts as a loss, because each test compares its result with an undisturbed run. Seeds are in tests and
reports.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

START, END = "<!-- torture: made by scripts/torture -->", "<!-- end of torture -->"
COLUMNS = ("promises", "test", "trials", "faults", "seconds", "losses")


SHOWN = 4
"""Maximum number of different reports of one test that are shown; if there are more, only their number."""


@dataclass(frozen=True)
class Case:
    """The result of one case of a test with the marker `torture`."""

    promises: str
    test: str
    trials: str
    faults: str
    seconds: float
    lost: bool


def cases(report: Path) -> list[Case]:
    """Return all cases of a JUnit report that were not skipped."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            continue
        said = {item.get("name"): item.get("value") or "" for item in case.iter("property")}
        module = (case.get("classname") or "").rpartition(".")[2]
        name = (case.get("name") or "").partition("[")[0]
        found.append(
            Case(
                said.get("promises", ""),
                f"{module}.py::{name}",
                said.get("trials", ""),
                said.get("faults", ""),
                float(case.get("time") or 0),
                case.find("failure") is not None or case.find("error") is not None,
            )
        )
    return found


def rows(found: Sequence[Case]) -> list[tuple[str, ...]]:
    """Return a row of the table for each test, sorted by the numbers of the tested promises. A failed case
    reports no numbers, so other cases of its test give them."""
    tests: dict[str, list[Case]] = {}
    for case in found:
        tests.setdefault(case.test, []).append(case)
    made = []
    for test, together in tests.items():
        promises = max(case.promises for case in together)
        lost = sum(case.lost for case in together)
        trials = _words([case.trials for case in together]) or (
            f"{len(together)} cases" if len(together) > 1 else ""
        )
        faults = _words([case.faults for case in together])
        seconds = f"{sum(case.seconds for case in together):.0f}"
        made.append((promises, f"`{test}`", trials, faults, seconds, f"{lost} LOST" if lost else "0"))
    return sorted(made, key=lambda row: ([int(n) for n in row[0].split(", ") if n] or [99], row[1]))


def _words(said: Sequence[str]) -> str:
    """Return the different reports of a test's cases, or their number if there are more than `SHOWN`."""
    different = list(dict.fromkeys(filter(None, said)))
    return "; ".join(different) if len(different) <= SHOWN else f"{len(said)} cases"


def table(found: Sequence[Case]) -> str:
    """Return the rows as Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows(found)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write_into(page: Path, text: str) -> None:
    """Put the table between the two comments `START` and `END` of a page.

    Raises:
        SystemExit: the page lacks these comments.
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
        found = cases(report)
    lost = sum(case.lost for case in found)
    told = f"{len(found)} cases on {datetime.now(UTC):%Y-%m-%d}, {lost} lost"
    print(f"\n{told}\n\n{table(found)}")
    if options.markdown:
        write_into(options.markdown, f"{told}.\n\n{table(found)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
