"""Every line of docs/analyst.md works with the packages that the page names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.package import environments
from tests.package.environments import ROOT, Environment, User

BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / "analyst.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
INSTALLS = [
    line for kind, code in BLOCKS if kind == "sh" for line in code.splitlines() if "pip install" in line
]
SHELL = [line for kind, code in BLOCKS if kind == "sh" for line in code.splitlines() if line not in INSTALLS]
PYTHON = [code for kind, code in BLOCKS if kind == "python"]
FRAMES = "newsdedup[frames]"
EXPORTS = [line for line in SHELL if line.startswith("dedup export ")]

NO_DOWNLOADS = "import duckdb; duckdb.sql('SET autoinstall_known_extensions = false')\n"


@pytest.fixture(scope="module")
def made(own_folder: Path, installed: Environment, wheel: Path) -> dict[str, Environment]:
    """An environment for each `pip install` line of the page, by the last word of the line."""
    found = {}
    for line in INSTALLS:
        words = shlex.split(line)[2:]
        requirements = [word for word in words if not word.startswith("newsdedup")]
        with_dedup = len(requirements) < len(words)
        if with_dedup:
            extras = ["frames"] if FRAMES in words else []
            requirements += environments.requirements_of(wheel, *extras)
        found[words[-1]] = environments.make(
            own_folder / words[-1], requirements, wheel if with_dedup else None
        )
    return found


@pytest.fixture(scope="module")
def exported(newsroom: User, made: dict[str, Environment]) -> User:
    """Run all shell commands of the page in the newsroom, and return the newsroom."""
    for line in SHELL:
        newsroom.run("bash", "-euo", "pipefail", "-c", line, other=made[FRAMES] if line in EXPORTS else None)
    return newsroom


def test_the_page_has_what_is_tested() -> None:
    assert INSTALLS[0] == f"pip install pandas duckdb '{FRAMES}'"
    assert INSTALLS[1:] == ["pip install newsdedup pandas", "pip install duckdb"]
    assert len([line for line in SHELL if line.startswith("psql ")]) == 2
    assert len([line for line in SHELL if line.startswith("dedup ")]) == 7
    assert (len(SHELL), len(EXPORTS)) == (9, 4)
    assert {re.findall(r"^import (\w+)", code, re.MULTILINE)[0] for code in PYTHON} == {"pandas", "duckdb"}
    # Queries are tested in tests/store/test_questions_of_analysts.py and test_views.py.
    assert {kind for kind, _ in BLOCKS} == {"sh", "python", "sql"}


@pytest.mark.long("dedup", "migrations", "docs/analyst.md")
def test_every_command_for_the_shell_works(exported: User) -> None:
    work = exported.folder / "work"
    assert (work / "days.csv").read_text("utf-8").startswith("day,articles,")
    assert len((work / "marks.jsonl").read_text("utf-8").splitlines()) == 82
    assert "Tarn Hollow" in exported.run("bash", "-c", SHELL[0]).stdout


@pytest.mark.long("dedup", "migrations", "docs/analyst.md")
@pytest.mark.parametrize("code", [code for code in PYTHON if "frames" in code])
def test_notebooks_read_arrow_tables(exported: User, made: dict[str, Environment], code: str) -> None:
    shown = exported.python(NO_DOWNLOADS + code, made[FRAMES]).stdout
    assert "Tarn Hollow" in shown or "duplicate" in shown
    assert "newsdedup" in {path.name.partition("-")[0] for path in made[FRAMES].packages.iterdir()}


@pytest.mark.long("dedup", "migrations", "docs/analyst.md")
@pytest.mark.parametrize("code", [code for code in PYTHON if "import pandas" in code])
def test_pandas_reads_the_marks(exported: User, made: dict[str, Environment], code: str) -> None:
    shown = exported.python(code, made["pandas"]).stdout
    assert "copies" in shown or "2026-03-12" in shown


@pytest.mark.long("dedup", "migrations", "docs/analyst.md", "pyproject.toml")
def test_pandas_reads_an_address_of_ones_own(exported: User, made: dict[str, Environment]) -> None:
    address = exported.dedup("db", "url").stdout.strip().replace("postgresql://", "postgresql+psycopg://")
    code = f"import pandas; print(len(pandas.read_sql('SELECT * FROM dedup.article', {address!r})))"
    assert exported.python(code, made["pandas"]).stdout.strip() == "82"


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml", "docs/analyst.md")
@pytest.mark.parametrize("code", [code for code in PYTHON if "duckdb" in code and "frames" not in code])
def test_duckdb_reads_the_exports(exported: User, made: dict[str, Environment], code: str) -> None:
    shown = exported.python(NO_DOWNLOADS + code, made["duckdb"]).stdout
    assert "duplicate" in shown
    assert list((exported.folder / "home").iterdir()) == []
    assert not (made["duckdb"].packages / "dedup").exists()
