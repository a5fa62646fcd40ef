"""Type checkers accept programs that use the installed package: public names and the README's examples."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.environments import ROOT, Environment

CLIENT = """
from __future__ import annotations

from datetime import datetime

from dedup import Article, DedupError, Deduplicator, Match, Verdict


def best(verdict: Verdict) -> Match | None:
    return max(verdict.matches, key=lambda match: match.score, default=None)


def told(source_id: str, text: str, when: datetime | None) -> tuple[str, str | None, float | None]:
    with Deduplicator() as dd:
        verdict: Verdict = dd.submit(Article(source_id=source_id, text=text, published_at=when))
        looked_up: Verdict = dd.lookup(text)
        known: bool = dd.delete(source_id)
        assert known or verdict.provisional or looked_up.is_duplicate
        found = best(verdict)
        return verdict.status, found.id if found else verdict.duplicate_of, verdict.score


try:
    print(told("a", "b", None))
except DedupError as error:
    print(str(error))
"""

PREAMBLE = """
from datetime import datetime

text = "The council of Port Marlow voted on Tuesday to close the harbour road."
when = datetime(2026, 3, 12, 8)
"""
"""Definitions that the README's examples assume."""

WRONG = """
from dedup import Article, Verdict

title: int = Article(source_id="a", text="b").title


def status(verdict: Verdict) -> str:
    return verdict.nothing
"""


def examples() -> str:
    """Return the README's Python examples, joined in order."""
    return PREAMBLE + "\n".join(
        re.findall(
            r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
    )


def checked(checker: str, environment: Environment, folder: Path, program: str) -> tuple[int, str]:
    """Return the exit code and the output of a type checker for a program."""
    (folder / "client.py").write_text(program, "utf-8")
    commands = {
        "mypy": ["-m", "mypy", "--strict", "--config-file=", f"--python-executable={environment.python}"],
        "basedpyright": ["-m", "basedpyright", f"--pythonpath={environment.python}"],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}), "utf-8")
    done = subprocess.run(
        [sys.executable, *commands[checker], "client.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the checked programs, and of the checkers' caches."""
    return tmp_path_factory.mktemp("client")


@pytest.mark.long("dedup", "migrations", "pyproject.toml")
@pytest.mark.parametrize("checker", ["basedpyright", "mypy"])
@pytest.mark.parametrize("program", [CLIENT, examples()], ids=["client", "README"])
@pytest.mark.one_in(4)
def test_a_program_of_a_client_has_no_type_errors(
    installed: Environment, folder: Path, checker: str, program: str
) -> None:
    code, said = checked(checker, installed, folder, program)
    assert code == 0, said


@pytest.mark.long("dedup", "migrations", "pyproject.toml")
@pytest.mark.parametrize("checker", ["basedpyright", "mypy"])
@pytest.mark.one_in(2)
def test_a_type_checker_finds_wrong_uses(installed: Environment, folder: Path, checker: str) -> None:
    code, said = checked(checker, installed, folder, WRONG)
    assert code == 1
    assert "client.py:4" in said
    assert "client.py:8" in said


def test_the_readme_has_examples() -> None:
    assert "submit(Article(" in examples()
    assert "lookup(" in examples()
