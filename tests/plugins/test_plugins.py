"""Plug-ins: an example package adds a command, a file format, an HTML extractor and a method of the lab."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).with_name("telegraph")


def install(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """Write the entry points of a package, like an installer."""
    noted = folder / f"{name}-1.0.dist-info"
    noted.mkdir(parents=True)
    (noted / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {at}\n" for key, at in one.items())
        for group, one in groups.items()
    ]
    (noted / "entry_points.txt").write_text("\n".join(lines), "utf-8")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of `sys.path` with the example package installed."""
    told: dict[str, Any] = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))
    install(tmp_path / "packages", told["project"]["name"], told["project"]["entry-points"])
    (tmp_path / "packages" / "telegraph").symlink_to(EXAMPLE / "telegraph")
    return tmp_path / "packages"


def python(installed: Path, *arguments: str, code: int = 0, **variables: str) -> tuple[str, str]:
    """Run Python in a new process; return stdout and stderr."""
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", **variables},
        cwd=installed.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def dedup(installed: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    return python(installed, "-m", "dedup", *arguments, code=code)


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
@pytest.mark.extra("lab", "watch")
def test_a_plug_in_adds_a_command_and_one_to_a_group(installed: Path) -> None:
    assert dedup(installed, "letters", "harbour") == ("7\n", "")
    assert dedup(installed, "lab", "letters", "ferry") == ("5\n", "")
    shown, said = dedup(installed, "--help")
    assert "Count the letters of a word." in shown
    assert "Poll feeds" in shown, "dedup's own extras are found in the same way"
    assert said == ""
    assert "letters" in dedup(installed, "lab", "--help")[0]


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_a_plug_in_adds_a_file_format(installed: Path) -> None:
    file = installed.parent / "day.telegram"
    file.write_text("17: Ships late. STOP. Harbour closed.\nno telegram\n", "utf-8")
    for arguments in ([file.name], [file.name, "--format", "telegram"]):
        shown, said = dedup(installed, "load", "--dry-run", *arguments)
        assert "Ships late. Harbour closed." in shown + said
        assert "refused: 1 for: a telegram has a number" in said
    said = dedup(installed, "load", "--dry-run", file.name, "--format", "telex", code=2)[1]
    assert (
        "unknown format 'telex'; the formats are jsonl, json, csv, tsv, parquet, xlsx, xml, telegram" in said
    )


def test_a_plug_in_extracts_texts_from_html_where_it_is_named(installed: Path) -> None:
    program = (
        "from dedup.base.html import extract; print(extract('<body><p>A goat ran.</p><b>Ad</b></body>'))"
    )
    shown, _ = python(installed, "-c", program, DEDUP_EXTRACTOR="paragraphs")
    assert shown == "A goat ran.\n"
    _, said = python(installed, "-c", program, DEDUP_EXTRACTOR="sentences", code=1)
    assert "DEDUP_EXTRACTOR is sentences, but no plug-in has this extractor; known: paragraphs" in said


@pytest.mark.long("dedup", "migrations", "pyproject.toml", "tests/plugins")
@pytest.mark.extra("lab")
def test_a_plug_in_adds_a_method_to_the_lab(installed: Path) -> None:
    pytest.importorskip("sklearn")
    assert "the same first words" in dedup(installed, "lab", "methods", "first-words")[0]
    program = """if True:
        import numpy as np
        from dedup.extras.lab.documents import DocumentSet
        from dedup.extras.lab.methods import make
        for words in (2, 3):
            method = make(f"first-words:words={words}")
            method.fit(DocumentSet.of_texts(["A goat ran.", "A goat sat."]))
            print(float(method.score(np.array([[0, 1]], np.int32))[0]))
    """
    assert python(installed, "-c", program)[0] == "1.0\n0.0\n"


BROKEN = {
    "dedup.commands": {
        "missing": "nowhere:command",
        "leaves": "leaves:command",
        "strange": "strange:command",
        "load": "leaves:command",
        "watch": "leaves:command",
    },
    "dedup.methods": {"odd": "strange:command"},
}


@pytest.fixture
def broken(installed: Path) -> Path:
    """The folder of `installed`, with another package that is broken in every way."""
    install(installed, "broken", BROKEN)
    (installed / "leaves.py").write_text("raise SystemExit(7)\n", "utf-8")
    (installed / "strange.py").write_text('def command(of: "Nowhere") -> None: ...\n', "utf-8")
    return installed


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
@pytest.mark.extra("watch")
def test_a_broken_plug_in_is_named_once_and_breaks_nothing_else(broken: Path) -> None:
    shown, said = dedup(broken, "--help")
    assert "Count the letters of a word." in shown
    assert "Store articles from files" in shown
    assert "Poll feeds" in shown
    lines = sorted(line.partition(": ")[2] for line in said.splitlines())
    assert [line.partition(" ")[0] for line in lines] == ["leaves", "load", "missing", "strange", "watch"]
    assert all(" of broken is left out (commands): " in line for line in lines)
    assert dedup(broken, "letters", "harbour") == (
        "7\n",
        "dedup: watch of broken is left out (commands): newsdedup has a plug-in of the same name\n",
    )
    assert "No such command 'missing'" in dedup(broken, "missing", code=2)[1]


def test_a_command_of_the_core_asks_for_no_plug_in(broken: Path) -> None:
    shown, said = dedup(broken, "load", "--help")
    assert "Store articles from files" in shown
    assert said == ""


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
@pytest.mark.extra("lab")
def test_a_method_that_is_none_is_named(broken: Path) -> None:
    pytest.importorskip("sklearn")
    shown, said = dedup(broken, "lab", "methods")
    assert "first-words" in shown
    assert "odd of broken is left out (methods): not a Method, or its name is wrong or taken" in said


def test_a_command_that_lacks_a_package_names_it(installed: Path) -> None:
    install(installed, "lacking", {"dedup.commands": {"lacks": "lacking:command"}})
    (installed / "lacking.py").write_text("def command() -> None:\n    import nowhere\n", "utf-8")
    assert dedup(installed, "lacks", code=1) == ("", "dedup: No module named 'nowhere'\n")
