"""The transcript of the README, from `git clone` to the largest stories, typed into bash line by line.

The output of bash must equal the output in the README. No speed is measured, except that all must end
within the five minutes that the README promises.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dedup.db import embedded
from tests.package import environments
from tests.package.environments import ROOT

PROMISED_SECONDS = 300
"""Maximum seconds for all steps, including the download, as the README promises."""

ADDRESS = "<address of this repository>"
SETUP = "scripts/setup"
END_OF_STEP = re.compile(r"\x1e(\d+) (\d+)\n")
"""Mark at the end of a step: the exit code, and the seconds since the start."""

OTHERS = ("DEDUP_", "GIT_", "PIP_CACHE", "PYTHON", "VIRTUAL_ENV", "XDG_")
"""Prefixes of variables that a new user does not have; variables for proxies and pip's index stay."""

VARIES = [
    # git prints its progress if a command takes longer than two seconds.
    (re.compile(r"^Updating files: .*\n", re.MULTILINE), ""),
    (re.compile(r"\bPython 3\.\d+\.\w+"), "Python 3.x"),
    # On a busy machine a step may take 10 seconds, and then prints its progress.
    (re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ .*\n", re.MULTILINE), ""),
]


@dataclass(frozen=True)
class Step:
    """A command and its output, of stdout and stderr together."""

    command: str
    output: str


@dataclass(frozen=True)
class Newcomer:
    """A new user with an empty home folder, and with a separate server in `folder / "dedup"`."""

    folder: Path

    def variables(self) -> dict[str, str]:
        """Return the variables of the user's shell; its path lacks the programs of the tests' environment."""
        mine = Path(sys.executable).parent
        path = [name for name in os.environ["PATH"].split(os.pathsep) if Path(name) != mine]
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(OTHERS)},
            "DEDUP_HOME": str(self.folder / "dedup"),
            "HOME": str(self.folder / "home"),
            "LC_ALL": "C.UTF-8",
            "PATH": os.pathsep.join([str(Path(sys.base_prefix) / "bin"), *path]),
            "PYTHONUNBUFFERED": "1",  # keeps stdout and stderr in order, as in a terminal
        }

    def type(self, script: str, seconds: float) -> str:
        """Run a script in `work` with bash, for `seconds` at most, and return its output."""
        file, said = self.folder / "typed.sh", self.folder / "said"
        file.write_text(script, "utf-8")
        with said.open("wb") as output:
            bash = subprocess.Popen(
                ["bash", file],
                cwd=self.folder / "work",
                env=self.variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                bash.wait(seconds)
            except subprocess.TimeoutExpired:
                output.write(b"stopped: this takes too long\n")
            finally:
                if bash.poll() is None:
                    os.killpg(bash.pid, signal.SIGKILL)
                    bash.wait()
        return said.read_text("utf-8")


def steps(block: str) -> list[Step]:
    """Return the commands of a console block with their outputs. A here-document belongs to its command."""
    found: list[Step] = []
    end: str | None = None
    for line in block.splitlines(keepends=True):
        if end is not None or line.startswith("$ "):
            last = Step("", "") if end is None else found.pop()
            typed = line if end is not None else line.removeprefix("$ ")
            found.append(Step(last.command + typed, ""))
            opened = re.search(r"<<'(\w+)'$", line.rstrip("\n")) if end is None else None
            if opened:
                end = opened[1]
            elif end == line.rstrip("\n"):
                end = None
        else:
            found[-1] = Step(found[-1].command, found[-1].output + line)
    return found


def transcript() -> list[Step]:
    """Return the steps of the README's transcript."""
    (block,) = re.findall(r"^```console\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    return steps(block)


def script(typed: list[Step], address: str, before_setup: str = ":") -> str:
    """Return a bash script that runs the steps until one fails, and prints a marker after each step."""
    lines = []
    for step in typed:
        if step.command.strip() == SETUP:
            lines.append(f"{before_setup}\n")
        lines.append(step.command.replace(ADDRESS, shlex.quote(address)))
        lines.append("code=$?; printf '\\036%d %d\\n' $code $SECONDS; [ $code = 0 ] || exit $code\n")
    return "".join(lines)


def as_shown(typed: list[Step], said: str) -> tuple[list[Step], list[int]]:
    """Check that all steps succeeded. Return them with bash's output, and the second at which each ended."""
    *outputs, rest = END_OF_STEP.split(said)
    codes = [int(code) for code in outputs[1::3]]
    assert codes == [0] * len(typed), said
    assert rest == ""
    real = [Step(step.command, output) for step, output in zip(typed, outputs[::3], strict=True)]
    return real, [int(second) for second in outputs[2::3]]


def without_what_varies(shown: list[Step]) -> str:
    """Return steps as text, without the parts that vary from run to run."""
    text = "".join(f"$ {step.command}{step.output}" for step in shown)
    for pattern, replacement in VARIES:
        text = pattern.sub(replacement, text)
    return text


@pytest.fixture
def newcomer(own_folder: Path, request: pytest.FixtureRequest) -> Iterator[Newcomer]:
    """A new user; the user's server is stopped at the end."""
    folder = own_folder / request.node.name
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o711)  # under root the server runs as another user, who needs access
    try:
        yield Newcomer(folder)
    finally:
        embedded.stop(folder / "dedup")


@pytest.fixture(scope="session")
def address(own_folder: Path) -> str:
    """Make a git repository of the present files of this checkout. Return its address."""
    folder = environments.copy_sources(own_folder / "repository")
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        environments.run(*git, *words, cwd=folder)
    return folder.as_uri()


def follows_the_readme(newcomer: Newcomer, address: str, before_setup: str = ":") -> list[tuple[int, str]]:
    """Type the transcript and check its output. Return the second at which each command ended."""
    shown = transcript()
    started = time.monotonic()
    said = newcomer.type(script(shown, address, before_setup), PROMISED_SECONDS)
    assert time.monotonic() - started < PROMISED_SECONDS, said
    real, seconds = as_shown(shown, said)
    assert without_what_varies(real) == without_what_varies(shown)
    return [(second, step.command.partition("\n")[0]) for second, step in zip(seconds, real, strict=True)]


@pytest.mark.long("dedup", "migrations", "README.md", "scripts")
def test_a_newcomer_gets_what_the_readme_shows(newcomer: Newcomer, address: str) -> None:
    # Run all of scripts/setup except downloads: the packages are linked from the tests' environment.
    pins = [
        line.partition("\\")[0]
        for name in ("run.txt", "build.txt")
        for line in (ROOT / "requirements" / name).read_text("utf-8").splitlines()
        if re.match(r"[\w.-]+==", line)
    ]
    linked = environments.make(newcomer.folder / "linked", ["pip", *pins])
    offline = f"export PIP_NO_INDEX=1; ln -s {shlex.quote(str(linked.folder))} .venv"
    follows_the_readme(newcomer, address, offline)


@pytest.mark.torture
def test_a_newcomer_with_the_download_needs_less_than_five_minutes(
    newcomer: Newcomer, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Packages come from the index, as in `scripts/setup`.
    taken = follows_the_readme(newcomer, address)
    with capsys.disabled():
        print("\nseconds from the start")
        for second, command in taken:
            print(f"{second:4} {command}")


def test_the_readme_goes_from_the_clone_to_the_stories() -> None:
    commands = [step.command for step in transcript()]
    assert commands[0] == f"git clone {ADDRESS} dedup\n"
    assert f"{SETUP}\n" in commands
    assert commands[-1] == "dedup stories\n"
    assert sum(line.count("\n") for step in transcript() for line in (step.command, step.output)) <= 45


def typed(newcomer: Newcomer, block: str) -> str:
    """Return the output of a block without the parts that vary."""
    shown = steps(block)
    return without_what_varies(as_shown(shown, newcomer.type(script(shown, "x y"), PROMISED_SECONDS))[0])


def test_a_shell_keeps_its_state_and_takes_here_documents(newcomer: Newcomer) -> None:
    block = "$ cat <<'END'\n$ x > $HOME\nEND\n$ cd ..; x=2\n$ ls -d work; echo $x >&2\nwork\n2\n"
    assert steps(block)[0] == Step("cat <<'END'\n$ x > $HOME\nEND\n", "")
    assert typed(newcomer, block) == block.replace("END\n$ cd", "END\n$ x > $HOME\n$ cd")
    assert typed(newcomer, f"$ echo {ADDRESS}\n") == f"$ echo {ADDRESS}\nx y\n"


def test_the_checks_see_what_they_forbid(newcomer: Newcomer) -> None:
    with pytest.raises(AssertionError, match="no-such"):
        typed(newcomer, "$ ls no-such\n$ echo after\n")
    assert newcomer.type("sleep 600 & sleep 600", 0.1) == "stopped: this takes too long\n"
    with pytest.raises(AssertionError):
        as_shown(steps("$ a\n$ b\n"), "said\n\x1e0 1\n")
    shown = [Step("a\n", "Python 3.11.2\n2026-03-12T06:10:00Z settling: 1 of 2\n")]
    assert without_what_varies(shown) == "$ a\nPython 3.x\n"
    assert without_what_varies([Step("a\n", "at 2026-03-12T06:10:00Z\n")]) == "$ a\nat 2026-03-12T06:10:00Z\n"
