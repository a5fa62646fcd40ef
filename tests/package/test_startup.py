"""`import dedup` and `--help` load no database. Questions about a corpus load no NumPy. A submit loads only
the modules that it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from dedup.cli import main
from dedup.cli.main import program
from tests import test_architecture

HEAVY = (
    *(*test_architecture.DATABASE, *test_architecture.LAB),
    *("babel", "numpy", "nltk", "pyarrow", "rapidfuzz", "trafilatura", "xxhash", "multiprocessing"),
    *("dedup.db", "dedup.attach", "dedup.runs", "dedup.store", "dedup.settling"),
    *("dedup.text", "dedup.api.deduplicator"),
)
IMPORT = "import dedup"
HELP = "from dedup.cli.main import main; main(['--help'])"
LISTING = "import sys; from dedup.cli.start import main; sys.argv = ['dedup', '--help']; main()"
SECONDS, TRIES = {IMPORT: 0.3, LISTING: 0.12}, 5
"""Maximum CPU seconds, and number of tries; the best try counts. The time also depends on the machine, so the
test runs only with `-m bench`."""
TELL = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"


def loaded_by(code: str) -> list[str]:
    """Run code in a fresh interpreter; return the modules that are loaded at the end."""
    done = subprocess.run(
        [sys.executable, "-c", TELL + code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stderr.split()


def heavy(modules: list[str]) -> list[str]:
    return [module for module in modules if test_architecture.is_within(module, HEAVY)]


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with the words that call it."""
    yield path, group
    for name, inner in getattr(group, "commands", {}).items():
        yield from commands(inner, (*path, name))


WHOLE = dict(commands(typer.main.get_command(program())))
COMMANDS = list(WHOLE)


@pytest.mark.extra("judging", "lab")
@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "code",
    [
        IMPORT,
        "from dedup import Article, DedupError, Match, Verdict",
        HELP,
        *(HELP.replace("[", f"['{name}', ") for name in ("load", "lab", "judge", "pin", "check")),
    ],
)
def test_it_loads_no_database_and_no_numpy(code: str) -> None:
    loaded = loaded_by(code)
    assert "dedup" in loaded
    assert heavy(loaded) == []


@pytest.mark.extra("judging", "lab")
@pytest.mark.long("dedup", "migrations")
def test_no_help_of_any_command_loads_a_database_or_numpy() -> None:
    assert {("load",), ("lab", "compare"), ("judge", "pairs")} <= set(COMMANDS)
    lines = [
        "import contextlib, io",
        "from dedup.cli.main import run",
        "with contextlib.redirect_stdout(io.StringIO()):",
    ]
    lines += [f"    assert run({[*path, '--help']!r}) == 0" for path in COMMANDS]
    assert heavy(loaded_by("\n".join(lines))) == []


@pytest.mark.bench
@pytest.mark.parametrize("code", SECONDS, ids=["import", "listing"])
def test_it_takes_little_time(code: str, tmp_path: Path) -> None:
    # The first run compiles the modules, as in an installed program, whatever the tests' environment says.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    cpu_seconds(code, environment)
    taken = []
    for _ in range(TRIES):
        taken.append(cpu_seconds(code, environment))
        if taken[-1] < SECONDS[code]:
            return
    pytest.fail(f"CPU seconds: {taken}")


def cpu_seconds(code: str, environment: dict[str, str]) -> float:
    """Run code in a fresh interpreter; return its CPU seconds, including start and end."""
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code],
        environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(process, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime


SUBMIT = """
from dedup import Article, Deduplicator
with Deduplicator({url!r}) as dd:
    for name, text in [("a", "The ferry is late."), ("b", "The ferry is late."), ("c", "A goat ran away.")]:
        verdict = dd.submit(Article(name, text))
        assert verdict.status in ("unique", "duplicate"), verdict
"""
QUESTION = """
from dedup import Deduplicator
with Deduplicator({url!r}) as dd:
    dd.status()
"""
STATUS = """
import os
os.environ["DEDUP_DATABASE_URL"] = {url!r}
from dedup.cli.main import run
assert run(["status"]) == 0
"""
CHECK = """
import io, os, sys
os.environ["DEDUP_DATABASE_URL"] = {url!r}
sys.stdin = io.TextIOWrapper(io.BytesIO(b'{{"id": "d", "text": "A goat ran away."}}'))
from dedup.cli.main import run
assert run(["check"]) == 0
"""
NOT_FOR_ONE_ARTICLE = (
    *("sqlalchemy", "alembic", "mako", "nltk", "rapidfuzz", "pyarrow", "trafilatura", "multiprocessing"),
    *("concurrent.futures.process", "pandas", "scipy", "sklearn", "prometheus_client"),
    *("dedup.settling.backfill", "dedup.settling.memory", "dedup.settling.explain", "dedup.settling.verify"),
    *("dedup.db.migrate", "dedup.text.training", "dedup.extras.lab", "dedup.extras.judging"),
)
NOT_FOR_A_QUESTION = (
    *(*NOT_FOR_ONE_ARTICLE, "numpy", "xxhash"),
    *("dedup.text", "dedup.rules.pair", "dedup.settling", "dedup.store.fingerprints"),
)
MOST_MODULES = {IMPORT: 75, HELP: 465, LISTING: 165, QUESTION: 375, STATUS: 550, SUBMIT: 510, CHECK: 700}
"""Maximum number of modules that a program imports, including Python's own; each number leaves some room."""


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
@pytest.mark.parametrize(
    "code", MOST_MODULES, ids=["import", "help", "listing", "question", "status", "submit", "check"]
)
def test_a_program_imports_few_modules(corpus_url: str, code: str) -> None:
    loaded = loaded_by(code.format(url=corpus_url) if "{" in code else code)
    assert len(loaded) < MOST_MODULES[code], len(loaded)


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
@pytest.mark.parametrize("code", [QUESTION, STATUS], ids=["question", "status"])
def test_a_question_loads_no_numpy_and_nothing_that_decides(corpus_url: str, code: str) -> None:
    loaded = loaded_by(code.format(url=corpus_url))
    assert {"psycopg", "dedup.store.overview"} <= set(loaded)
    assert [name for name in loaded if test_architecture.is_within(name, NOT_FOR_A_QUESTION)] == []


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
@pytest.mark.parametrize("code", [SUBMIT, CHECK], ids=["submit", "check"])
def test_one_article_loads_what_one_article_needs(corpus_url: str, code: str) -> None:
    loaded = loaded_by(code.format(url=corpus_url))
    assert {"numpy", "psycopg", "dedup.settling.hook"} <= set(loaded)
    assert [name for name in loaded if test_architecture.is_within(name, NOT_FOR_ONE_ARTICLE)] == []


@pytest.mark.extra("judging")
@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        (["check", "--dry-run"], {"check"}),
        (["judge", "pairs"], {"judge"}),
        (["--schema", "a", "check"], {"load", "check", "judge"}),
        (["chekc"], {"load", "check", "judge"}),
        ([], {"load", "check", "judge"}),
        (["--help"], {"load", "check", "judge"}),
    ],
)
def test_only_the_command_that_is_named_first_is_made(arguments: list[str], made: set[str]) -> None:
    commands = set(typer.main.get_command(main.program(arguments[:1])).commands)  # type: ignore[attr-defined]
    assert commands & {"load", "check", "judge"} == made
    assert len(commands) == 1 or commands == {path[0] for path in COMMANDS if path}


def test_the_checks_see_what_they_forbid() -> None:
    assert "numpy" in heavy(loaded_by("import dedup.rules.pair"))
    assert "dedup.api.deduplicator" in heavy(loaded_by("from dedup import Deduplicator"))
