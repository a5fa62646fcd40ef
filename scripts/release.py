"""Check that this commit can be released: build the distributions, and try them.

    scripts/release [--dry-run]

Prints each check as it ends, then the built files with their digests, and the next command to type; exits
with code 1 if a check failed. `--dry-run` does all checks and makes no tag. Otherwise the first failure ends
the release, and after all checks the commit is tagged, in this clone only. Nothing is uploaded or pushed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

from packaging.metadata import Metadata
from packaging.tags import sys_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from trove_classifiers import classifiers

ROOT = Path(__file__).parents[1]
BRANCH = "main"
SUMS = "SHA256SUMS"
MAX_BYTES = 100_000_000  # The largest file that the Python index takes


class NotReadyError(Exception):
    """Raised by a failed check; the message names the fault and the next step."""


def version(root: Path = ROOT) -> str:
    """Return the version in pyproject.toml. Raises NotReadyError if it is not a release or has a tag."""
    written: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    try:
        found = Version(written)
    except InvalidVersion:
        raise NotReadyError(f"pyproject.toml: {written!r} is no version: write one such as 1.2.0") from None
    if found.is_devrelease or found.local or str(found) != written:
        raise NotReadyError(f"pyproject.toml: {written} is not for release: write one such as 1.2.0")
    if _git(root, "tag", "--list", f"v{written}"):
        raise NotReadyError(f"the tag v{written} exists already: raise the version in pyproject.toml")
    return written


def changelog(root: Path = ROOT) -> str:
    """Check that the newest section of CHANGELOG.md has this version and a date."""
    released = version(root)
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    unreleased = [text for text in sections if text.startswith("[Unreleased]")]
    if any(text.partition("\n")[2].strip() for text in unreleased):
        raise NotReadyError(
            f"CHANGELOG.md has changes below [Unreleased]: put them below `## [{released}] - YYYY-MM-DD`"
        )
    newest = next((text for text in sections if text not in unreleased), "")
    head, _, changes = newest.partition("\n")
    found = re.fullmatch(rf"\[{re.escape(released)}\] - (\d{{4}}-\d\d-\d\d)", head.strip())
    if not found:
        raise NotReadyError(
            f"CHANGELOG.md begins with {head!r}: the newest section is `## [{released}] - YYYY-MM-DD`"
        )
    if date.fromisoformat(found[1]) > datetime.now(UTC).date():
        raise NotReadyError(f"CHANGELOG.md: {found[1]} is in the future")
    if not changes.strip():
        raise NotReadyError(f"CHANGELOG.md says nothing of {released}")
    return head.strip()


def clean_tree(root: Path = ROOT) -> str:
    """Check that the branch is the branch for releases, and that all changes are committed."""
    branch = _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if branch != BRANCH:
        raise NotReadyError(f"this is {branch}: type `git switch {BRANCH}`")
    changed = _git(root, "status", "--porcelain").splitlines()
    if changed:
        raise NotReadyError(f"not committed: {', '.join(line[3:] for line in changed[:5])}")
    return _git(root, "rev-parse", "--short", "HEAD")


def long_tests(root: Path = ROOT) -> str:
    """Check by the committed record `tests/long.json` that the long tests ran on this code."""
    code = (
        "from tests import long\n"
        "print(*(name for name, was in long.recorded().items()"
        " if not (long.ROOT / name).exists() or long.digest(name) != was))"
    )
    changed = _run(sys.executable, "-c", code, cwd=root, env={"PYTHONPATH": str(root)}).split()
    if changed or not (root / "tests" / "long.json").exists():
        raise NotReadyError(
            f"changed since the last whole run of the tests: {', '.join(changed[:5]) or 'no record of it'}:"
            " type `scripts/test --all` and commit tests/long.json"
        )
    return "the long tests ran on this code"


def build(root: Path = ROOT) -> str:
    """Build the source distribution and a wheel for each platform in dist/, with their digests."""
    _run(root / "scripts" / "wheels", cwd=root)
    files = built(root)
    digests = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (root / "dist" / SUMS).write_text("".join(digests))
    return f"{len(files)} files in dist/"


def built(root: Path = ROOT) -> list[Path]:
    return sorted(file for file in (root / "dist").iterdir() if file.name != SUMS)


def uploads(root: Path = ROOT) -> str:
    """Return a line for each file to upload: its digest, size in bytes and name; "" if the build failed."""
    try:
        digests = (root / "dist" / SUMS).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return ""
    named = [line.split("  ") for line in digests]
    return "\n".join(
        f"{digest}  {(root / 'dist' / name).stat().st_size:>11,}  {name}" for digest, name in named
    )


def metadata(root: Path = ROOT) -> str:
    """Check that the index would take each distribution, and that each has the licence and the kernel."""
    released = version(root)
    files = built(root)
    if [file.suffix for file in files].count(".whl") != len(files) - 1:
        raise NotReadyError("dist/ has no source distribution, or two: type `scripts/wheels`")
    for file in files:
        if said := _refused(file, released):
            raise NotReadyError(f"{file.name}: {said}")
        names, raw = _held(file)
        try:
            described = Metadata.from_email(raw)
        except ExceptionGroup as found:
            said = "; ".join(str(one) for one in found.exceptions)
            raise NotReadyError(f"{file.name}: its metadata are wrong: {said}") from None
        if (described.name, str(described.version)) != ("newsdedup", released):
            raise NotReadyError(f"{file.name} is {described.name} {described.version}, not {released}")
        if described.description_content_type != "text/markdown" or not described.description:
            raise NotReadyError(f"{file.name} has no description in Markdown")
        if unknown := set(described.classifiers or ()) - classifiers:
            raise NotReadyError(f"{file.name}: the index has no classifier {min(unknown)!r}")
        wanted = ["LICENSE", *(["dedup/text/libnative.so"] if file.suffix == ".whl" else ["native.c"])]
        missing = [name for name in wanted if not any(held.endswith(name) for held in names)]
        if missing:
            raise NotReadyError(f"{file.name} lacks {', '.join(missing)}")
    return f"{len(files)} files"


def _refused(file: Path, released: str) -> str:
    """Return the reason for which the package index would refuse the name or the size of a file, or ""."""
    platforms: set[str] = set()
    try:
        if file.suffix == ".whl":
            name, version_, _, tags = parse_wheel_filename(file.name)
            platforms = {tag.platform for tag in tags}
        else:
            name, version_ = parse_sdist_filename(file.name)
    except (InvalidWheelFilename, InvalidSdistFilename) as error:
        return str(error)
    if (name, str(version_)) != ("newsdedup", released):
        return f"it is named {name} {version_}, not newsdedup {released}"
    if own := [one for one in platforms if one.startswith("linux_")]:
        return f"the index takes no {own[0]}: type `scripts/wheels`, which builds for manylinux"
    size = file.stat().st_size
    return f"it has {size:,} bytes, and the index takes {MAX_BYTES:,}" if size > MAX_BYTES else ""


def _held(file: Path) -> tuple[list[str], bytes]:
    """Return the names of the files in a distribution, and its metadata."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            names = wheel.namelist()
            return names, wheel.read(next(n for n in names if n.endswith(".dist-info/METADATA")))
    with tarfile.open(file) as sources:
        found = sources.extractfile(
            next(n for n in sources.getnames() if n.count("/") == 1 and "PKG-INFO" in n)
        )
        assert found
        return sources.getnames(), found.read()


def installed(root: Path = ROOT) -> str:
    """Run the demonstration with this machine's wheel, in a new environment with packages from the index."""
    fitting = set(sys_tags())
    wheels = [file for file in built(root) if file.suffix == ".whl"]
    wheel = next((file for file in wheels if fitting & parse_wheel_filename(file.name)[3]), None)
    if wheel is None:
        raise NotReadyError("no wheel of dist/ is for this machine")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # if root runs this, the server is another user, who needs the folder
        venv.create(Path(folder, "env"), with_pip=True)
        python = Path(folder, "env", "bin", "python")
        pip = (python, "-m", "pip", "--disable-pip-version-check")
        _run(*pip, "install", "--quiet", f"{wheel}[browse]", cwd=folder)
        _run(*pip, "check", cwd=folder)
        dedup = python.with_name("dedup")
        own = {"DEDUP_HOME": f"{folder}/corpus", "HOME": folder}
        said = _run(dedup, "--version", cwd=folder, env=own).strip()
        if said != f"dedup {version(root)}":
            raise NotReadyError(f"{wheel.name}: `dedup --version` says {said!r}")
        articles = next(Path(folder, "env").rglob("newsroom.jsonl"))
        try:
            for words in (["load", articles], ["backfill"], ["verify"], ["report", "-o", "report.html"]):
                _run(dedup, *words, cwd=folder, env=own)
            _run(python, "-m", "dedup.cli.demo", cwd=folder, env=own)
        finally:
            _run(dedup, "db", "stop", cwd=folder, env=own)
    return wheel.name


CHECKS: dict[str, Callable[[], str]] = {
    "version": version,
    "changelog": changelog,
    "clean tree": clean_tree,
    "tests": long_tests,
    "build": build,
    "metadata": metadata,
    "installed": installed,
}

TO_DO = """
To be done by a person, after `scripts/release` has tagged {commit}:

    1. Wait for the tests of {commit} on every Python and PostgreSQL: scripts/test --matrix
    2. Look at the pages of the wheel that was installed: scripts/browser-test
    3. git push origin {branch} v{version}
    4. (cd dist && shasum -a 256 --check {sums}) && pipx run twine upload dist/newsdedup-{version}*
       It asks for your token of the index.
    5. In a fresh environment: pip install newsdedup=={version} && dedup --version
    6. Publish the section of CHANGELOG.md and {sums} where releases are announced.
    7. Put `## [Unreleased]` on top of CHANGELOG.md.
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__.partition("\n")[0])
    parser.add_argument("--dry-run", action="store_true", help="Make every check, and no tag.")
    dry = parser.parse_args(arguments).dry_run
    failed = 0
    for name, check in CHECKS.items():
        try:
            print(f"ok      {name}: {check()}", flush=True)
        except NotReadyError as error:
            print(f"NOT OK  {name}: {error}", flush=True)
            failed += 1
            if not dry:
                print("nothing was tagged", file=sys.stderr)
                return 1
    if files := uploads(ROOT):
        print(f"\nto upload, from dist/:\n\n{files}")
    if failed:
        print(f"{failed} of {len(CHECKS)} checks failed: not ready", file=sys.stderr)
        print("next: correct what is NOT OK, then scripts/release --dry-run", file=sys.stderr)
        return 1
    released, commit = version(), _git(ROOT, "rev-parse", "--short", "HEAD")
    if not dry:
        _git(ROOT, "tag", "--annotate", f"v{released}", "--message", f"newsdedup {released}")
        print(f"tagged {commit} as v{released} in this clone")
    print(TO_DO.format(commit=commit, branch=BRANCH, version=released, sums=SUMS))
    print(f"next: {'scripts/release' if dry else f'git push origin {BRANCH} v{released}'}")
    return 0


def _git(root: Path, *words: str) -> str:
    return _run("git", *words, cwd=root).rstrip("\n")


def _run(*command: str | Path, cwd: str | Path, env: dict[str, str] | None = None) -> str:
    """Return the output of a program. If it fails, raise NotReadyError with the end of the output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DEDUP_", "PYTHON"))}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=clean | (env or {}), capture_output=True, text=True
    )
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise NotReadyError(f"`{Path(command[0]).name} {' '.join(map(str, command[1:3]))}` failed: {said}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
