"""Shared fixtures of the package tests: the wheel, an environment with it, and a settled newsroom."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dedup.db import embedded
from tests.package import environments
from tests.package.environments import Environment, User


@pytest.fixture(scope="session")
def own_folder() -> Iterator[Path]:
    """A folder that root's embedded server, which runs as another user, may enter; pytest's folders are
    closed."""
    folder = Path(tempfile.mkdtemp(prefix="dedup-package-"))
    folder.chmod(0o711)
    with ExitStack() as ends:
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            yield folder
        finally:
            for home in folder.glob("*/dedup"):
                ends.callback(embedded.stop, home)


@pytest.fixture(scope="session")
def wheel(own_folder: Path) -> Path:
    """The wheel, built from the checkout."""
    return environments.build_wheel(own_folder / "wheel")


@pytest.fixture(scope="session")
def installed(own_folder: Path, wheel: Path) -> Environment:
    """An environment as `pip install newsdedup[embedded]` makes it."""
    requirements = environments.requirements_of(wheel, "embedded")
    return environments.make(own_folder / "installed", requirements, wheel)


@pytest.fixture(scope="session")
def newsroom(own_folder: Path, installed: Environment) -> User:
    """A user with the demonstration, loaded and settled. Tests only read it."""
    return settled(environments.new_user(own_folder / "newsroom", installed))


def settled(user: User) -> User:
    """Load and settle the demonstration of the installed package; copy its file to news.jsonl."""
    code = "from importlib import resources; print(resources.files('dedup.cli.newsroom') / 'newsroom.jsonl')"
    file = Path(user.python(code).stdout.strip())
    assert file.is_relative_to(user.environment.packages)
    shutil.copy(file, user.folder / "work" / "news.jsonl")
    user.dedup("load", file)
    user.dedup("backfill")
    return user
