"""`scripts/torture.py` tabulates the reports of long tests. Its column `losses` counts failed tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import script

ROOT = Path(__file__).parent.parent

LONG = """
import pytest
pytestmark = pytest.mark.torture
def test_held(record_property):
    for name, value in (("promises", "11, 18"), ("trials", "seed 8 | all"), ("faults", "3 kills")):
        record_property(name, value)
@pytest.mark.parametrize("n", range(5))
def test_lost(record_property, n):
    record_property("promises", "9")
    record_property("trials", f"seed {n}")
    assert n != 3
@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.fixture(scope="module", name="script")
def the_script() -> ModuleType:
    return script("torture.py")


def test_each_long_test_has_its_row_and_a_failure_is_a_loss(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "test_long.py").write_text(LONG)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    torture: long\n")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.START}\nold\n{script.END}\nafter\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "torture.py"), "--markdown", str(page), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert lines[0] == "| promises | test | trials | faults | seconds | losses |"
    assert lines[2].startswith("| 9 | `test_long.py::test_lost` | 5 cases |  | ")
    assert lines[2].endswith("| 1 LOST |")
    assert lines[3].startswith("| 11, 18 | `test_long.py::test_held` | seed 8 \\| all | 3 kills |")
    assert lines[3].endswith("| 0 |")
    assert len(lines) == 4
    written = page.read_text()
    assert all(line in written for line in lines)
    assert "1 lost" in written
    assert "old" not in written
    assert written.endswith("after\n")


def test_a_page_without_its_marks_is_left_alone(script: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text")
    with pytest.raises(SystemExit, match="has no"):
        script.write_into(page, "table")
    assert page.read_text() == "text"
