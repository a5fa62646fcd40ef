"""The core needs no extra: it imports none, and it works the same if any extra is removed."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.loops import each
from tests.test_architecture import NAMES, dependencies, dotted, imported, is_within, tree
from tests.test_rooms import EXTRAS, PUBLIC

ROOT = Path(__file__).parents[1]

DECLARED: dict[str, set[str]] = {
    "browse": {"judging", "pages", "serve"},
    "lab": {"judging", "pages"},
    "mcp": {"coverage", "serve"},
}
"""Other extras that an extra imports from; docs/architecture.md says the same."""

COMMANDS = {
    "watch": "watch",
    "frames": "export stories",
    "loads": "loads.*",
    "coverage": "origins|outlets.*|sources|coverage|export (panel|network)",
    "judging": "judge (review|score|tune)",
    "serve": "serve",
    "browse": "browse|quotes|report",
    "lab": "lab .*|judge pairs",
    "mcp": "mcp",
    "spark": "spark .*|import|export corpus",
}
"""Commands of each extra, as a regular expression."""

FACES = ("dedup", "dedup.api.deduplicator", "dedup.api.questions")
"""Modules that name types of extras: the first exports them, the others only annotate with them."""


def extra_of(module: str) -> str | None:
    """Return the extra that contains a module."""
    return module.split(".")[2] if re.match(r"dedup\.extras\.\w", module) else None


# Tests of imports.


@each("name", [name for name in NAMES if not extra_of(dotted(name))])
def test_no_module_of_the_core_imports_an_extra(name: str) -> None:
    module = dotted(name)
    if module.split(".")[1:2] and module.split(".")[1] in PUBLIC:
        return  # a public module may export the names of an extra, and reports a missing extra
    assert not [other for other in dependencies()[module] if is_within(other, ("dedup.extras",))]
    if module not in FACES:
        assert not [needed for needed in imported(tree(name)) if is_within(needed, ("dedup.extras",))]


@each("extra", EXTRAS)
def test_an_extra_imports_others_only_where_that_is_declared(extra: str) -> None:
    found = {
        extra_of(other)
        for module, others in dependencies().items()
        if extra_of(module) == extra
        for other in others
    }
    assert not found or found - {None, extra} == DECLARED.get(extra, set()), (
        "an extra must import the declared extras, unless it was removed"
    )


def outermost(found: ast.Module) -> Iterator[ast.stmt]:
    """Return the imports at the top level of a module, except imports in a `try`."""
    return (node for node in found.body if isinstance(node, ast.Import | ast.ImportFrom))


@each("path", sorted(path for path in (ROOT / "tests").rglob("*.py") if "extras" not in path.parts))
def test_no_test_of_the_core_imports_an_extra(path: Path) -> None:
    if "telegraph" in path.parts:
        return
    made = ast.Module([*outermost(ast.parse(path.read_text("utf-8")))], [])
    public = [f"dedup.{name}" for name in ("frames", "scrapy", "spark", "spooling", "watch")]
    wrong = [name for name in imported(made) if is_within(name, ("dedup.extras", "tests.extras", *public))]
    assert wrong == []


def test_the_page_of_the_architecture_says_what_extras_need() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    told = re.findall(r"^- `(\w+)` needs (.*)\.$", page, re.M)
    assert {name: set(re.findall(r"`(\w+)`", others)) for name, others in told} == DECLARED


# The next tests run in copies of the sources from which an extra is removed.


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Make a copy of the sources, from which a test can remove extras."""
    for name in ("dedup", "migrations", "tests", "docs", "scripts", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "alembic.ini"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def remove(copied: Path, *extras: str) -> None:
    for folder in (copied / "dedup" / "extras", copied / "tests" / "extras"):
        for one in [folder] if extras == EXTRAS else [folder / extra for extra in extras]:
            shutil.rmtree(one, ignore_errors=True)


def python(copied: Path, *arguments: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copied,
        env={**os.environ, "PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


LISTED = """
import typer
from dedup.cli.main import program
for name, command in typer.main.get_command(program()).commands.items():
    inner = getattr(command, "commands", {})
    print(*([f"{name} {one}" for one in inner] or [name]), sep="\\n")
"""


@cache
def listed() -> list[str]:
    """Return every command, as a line of words."""
    return python(ROOT, "-c", LISTED).stdout.splitlines()


def of_extras(extras: set[str], commands: list[str]) -> set[str]:
    """Return the commands that extras add."""
    return {name for name in commands for extra in extras if re.fullmatch(COMMANDS.get(extra, ""), name)}


@pytest.mark.parametrize("removed", [*([extra] for extra in EXTRAS), EXTRAS], ids="-".join)
def test_the_help_shows_the_rest(copied: Path, removed: list[str]) -> None:
    before = listed()
    remove(copied, *removed)
    done = python(copied, "-c", LISTED)
    gone = {*removed, *(name for name, others in DECLARED.items() if others & {*removed})}
    lost, removed_with = of_extras(gone, before), of_extras({*removed}, before)
    left = set(done.stdout.splitlines())
    assert {*before} - lost <= left, done.stderr
    assert not removed_with & left
    named = {line.split()[1].replace(".", " ") for line in done.stderr.splitlines()}
    assert {"lab compare" if name == "lab" else name for name in named} <= lost - removed_with


def test_without_extras_the_public_modules_name_them(copied: Path) -> None:
    remove(copied, *EXTRAS)
    for name in ("frames", "scrapy", "spark", "spooling", "watch"):
        said = python(copied, "-c", f"import dedup.{name}").stderr.splitlines()[-1]
        assert said.startswith(f"ImportError: dedup.{name} needs dedup.extras: run `"), said
    said = python(copied, "-c", "import dedup; dedup.ImportReport").stderr.splitlines()[-1]
    assert said.startswith("ImportError: dedup.ImportReport needs dedup.extras: run `"), said
    done = python(copied, "-m", "dedup", "--help")
    assert "Store articles from files" in done.stdout
    assert done.stderr == ""


def test_without_extras_every_module_of_the_core_is_imported(copied: Path) -> None:
    remove(copied, *EXTRAS)
    handing_on = tuple(
        f"dedup.{name}" for name in ("extras", "frames", "scrapy", "spark", "spooling", "watch")
    )
    core = [module for module in map(dotted, NAMES) if not is_within(module, handing_on)]
    code = f"import importlib\nfor name in {core!r}: importlib.import_module(name)"
    done = python(copied, "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.long("dedup", "tests")
def test_without_extras_the_tests_of_the_core_are_found(copied: Path) -> None:
    remove(copied, *EXTRAS)
    done = python(
        copied, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider", "tests"
    )
    assert done.returncode == 0, done.stdout[-3_000:]


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_without_extras_the_tests_of_the_core_pass(copied: Path) -> None:
    remove(copied, *EXTRAS)
    without = "--ignore=tests/package"  # building wheels needs the files that git lists
    done = python(copied, "-m", "pytest", "-q", "-p", "no:cacheprovider", without, seconds=3_000)
    assert done.returncode == 0, done.stdout[-10_000:]
