"""`scripts/release` refuses a commit that is not ready, and prints what to do next."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.package.environments import ROOT, copy_sources, run
from tests.scripts import script

CHANGES = """# Changelog

## [Unreleased]

## [1.2.0] - 2026-03-01

- Goats.

## [1.1.0] - 2026-01-01

- Ferries.
"""
PROJECT = '[project]\nname = "newsdedup"\nversion = "1.2.0"\n'
DESCRIPTION = """Metadata-Version: 2.4
Name: newsdedup
Version: 1.2.0
Description-Content-Type: text/markdown
Classifier: Development Status :: 4 - Beta

# dedup
"""
WHEEL = "newsdedup-1.2.0-py3-none-any.whl"


@pytest.fixture(scope="module", name="script")
def the_script() -> ModuleType:
    return script("release.py")


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that is ready for a release."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / ".gitignore").write_text("dist/\n")
    git(tmp_path, "init", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "all")
    (tmp_path / "dist").mkdir()
    make_wheel(tmp_path, DESCRIPTION)
    with tarfile.open(tmp_path / "dist" / "newsdedup-1.2.0.tar.gz", "w:gz") as sources:
        for name, content in (("PKG-INFO", DESCRIPTION), ("LICENSE", ""), ("dedup/text/native.c", "")):
            entry = tarfile.TarInfo(f"newsdedup-1.2.0/{name}")
            entry.size = len(content)
            sources.addfile(entry, io.BytesIO(content.encode()))
    return tmp_path


def make_wheel(project: Path, description: str, kernel: str = "dedup/text/libnative.so") -> None:
    with zipfile.ZipFile(project / "dist" / WHEEL, "w") as wheel:
        wheel.writestr("newsdedup-1.2.0.dist-info/METADATA", description)
        wheel.writestr("newsdedup-1.2.0.dist-info/licenses/LICENSE", "")
        wheel.writestr(kernel, "")


def test_what_is_ready_passes(script: ModuleType, project: Path) -> None:
    assert script.version(project) == "1.2.0"
    assert script.changelog(project) == "[1.2.0] - 2026-03-01"
    assert script.clean_tree(project)
    assert script.metadata(project) == "2 files"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("one", "'one' is no version"),
        ("1.2.0.dev1", "not for release"),
        ("1.2.0+local", "not for release"),
        ("1.2.0-rc1", "not for release"),
        ("1.1.0", "v1.1.0 exists already"),
    ],
)
def test_a_version_that_cannot_be_released(
    script: ModuleType, project: Path, written: str, says: str
) -> None:
    git(project, "tag", "v1.1.0")
    (project / "pyproject.toml").write_text(PROJECT.replace("1.2.0", written))
    with pytest.raises(script.NotReadyError, match=says):
        script.version(project)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[Unreleased]\n", "[Unreleased]\n\n- More.\n", "below .Unreleased"),
        ("[1.2.0] - 2026-03-01", "[1.2.0]", "the newest section is"),
        ("## [1.2.0] - 2026-03-01\n\n- Goats.\n\n", "", "begins with '.1.1.0. - 2026-01-01'"),
        ("2026-03-01", "2999-03-01", "in the future"),
        ("- Goats.\n", "", "says nothing of 1.2.0"),
    ],
)
def test_a_changelog_that_does_not_tell_of_the_version(
    script: ModuleType, project: Path, old: str, new: str, says: str
) -> None:
    assert old in CHANGES
    (project / "CHANGELOG.md").write_text(CHANGES.replace(old, new))
    with pytest.raises(script.NotReadyError, match=says):
        script.changelog(project)


def test_what_is_not_committed_or_on_another_branch(script: ModuleType, project: Path) -> None:
    (project / "new.txt").touch()
    with pytest.raises(script.NotReadyError, match=r"not committed: new\.txt"):
        script.clean_tree(project)
    git(project, "switch", "-c", "other")
    with pytest.raises(script.NotReadyError, match="git switch main"):
        script.clean_tree(project)


def test_tests_that_did_not_run_on_this_code(script: ModuleType, project: Path) -> None:
    tests = project / "tests"
    tests.mkdir()
    (tests / "__init__.py").touch()
    (tests / "test_a.py").write_text("def test_a(): ...\n")
    # The marker is joined below: `tests.long` would take an unbroken one for a marker of this file.
    mark = "long"
    (tests / "test_b.py").write_text(
        f'import pytest\n\n\n@pytest.mark.{mark}("tests/test_a.py")\ndef test_b(): ...\n'
    )
    (tests / "long.py").write_text((ROOT / "tests" / "long.py").read_text("utf-8"))
    with pytest.raises(script.NotReadyError, match="no record of it"):
        script.long_tests(project)
    subprocess.run(
        [sys.executable, "-m", "tests.long"],
        cwd=project,
        check=True,
        timeout=60,
        env={"PYTHONPATH": str(project)},
    )
    assert script.long_tests(project)
    (tests / "test_a.py").write_text("")
    with pytest.raises(script.NotReadyError, match=r"tests/test_a\.py: type `scripts/test --all`"):
        script.long_tests(project)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Version: 1.2.0", "Version: 1.1.0", "is newsdedup 1.1.0, not 1.2.0"),
        ("Name: newsdedup", "Name: dedup", "is dedup 1.2.0"),
        ("text/markdown", "text/plain", "no description in Markdown"),
        ("Version: 1.2.0", "Version: 1.2.0\nRequires-Dist: a b c", "its metadata are wrong"),
        ("4 - Beta", "4 - Goats", "the index has no classifier 'Development Status :: 4 - Goats'"),
    ],
)
def test_metadata_that_no_index_would_take(
    script: ModuleType, project: Path, old: str, new: str, says: str
) -> None:
    changed = DESCRIPTION.replace(f"\n{old}\n", f"\n{new}\n")
    for before in (": ", ":: "):
        changed = changed.replace(f"{before}{old}", f"{before}{new}")
    make_wheel(project, changed)
    with pytest.raises(script.NotReadyError, match=says):
        script.metadata(project)


def test_a_wheel_without_its_kernel(script: ModuleType, project: Path) -> None:
    make_wheel(project, DESCRIPTION, kernel="dedup/text/native.txt")
    with pytest.raises(script.NotReadyError, match=r"lacks dedup/text/libnative\.so"):
        script.metadata(project)
    (project / "dist" / "newsdedup-1.2.0.tar.gz").unlink()
    with pytest.raises(script.NotReadyError, match="no source distribution"):
        script.metadata(project)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "newsdedup-1.2.0-py3-none-linux_x86_64.whl",
            "the index takes no linux_x86_64: type `scripts/wheels`",
        ),
        ("newsdedup-1.1.0-py3-none-any.whl", "it is named newsdedup 1.1.0"),
        ("newsdedup-1.2.0-any.whl", "Invalid wheel filename"),
    ],
)
def test_a_file_that_no_index_would_take(script: ModuleType, project: Path, name: str, says: str) -> None:
    (project / "dist" / WHEEL).rename(project / "dist" / name)
    with pytest.raises(script.NotReadyError, match=says):
        script.metadata(project)


def test_a_file_that_is_too_large(script: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "MAX_BYTES", 100)
    with pytest.raises(script.NotReadyError, match="and the index takes 100"):
        script.metadata(project)


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_the_real_metadata_are_those_that_an_index_takes(
    script: ModuleType, tmp_path: Path, wheel: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8"))
    git(tmp_path, "init", "-b", "main")
    dist = tmp_path / "dist"
    dist.mkdir()
    released = script.version(tmp_path)
    shutil.copy(wheel, dist / f"newsdedup-{released}-py3-none-any.whl")
    run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "sdist",
        "-d",
        dist,
        cwd=copy_sources(tmp_path / "sources"),
    )
    assert script.metadata(tmp_path) == "2 files"


@pytest.fixture
def checked(script: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with two checks instead of its real ones, and with `project` as its repository."""
    monkeypatch.setattr(script, "ROOT", project)
    monkeypatch.setattr(script, "CHECKS", {"tree": lambda: script.clean_tree(project), "two": lambda: "2"})
    monkeypatch.setattr(script, "version", lambda: "1.2.0")
    return script


def tags(project: Path) -> str:
    return subprocess.run(["git", "tag"], cwd=project, check=True, capture_output=True, text=True).stdout


def test_a_dry_run_makes_every_check_and_no_tag(
    checked: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "scripts").mkdir()
    # This script builds nothing, because `project` has the built files already.
    (project / "scripts" / "wheels").write_text("#!/bin/sh\n")
    (project / "scripts" / "wheels").chmod(0o755)
    git(project, "add", ".")
    git(project, "commit", "-m", "wheels")
    checked.CHECKS["build"] = lambda: checked.build(project)
    assert checked.main(["--dry-run"]) == 0
    said = capsys.readouterr().out
    digest = hashlib.sha256((project / "dist" / WHEEL).read_bytes()).hexdigest()
    assert re.search(rf"^{digest} +[0-9,]+  {WHEEL}$", said, re.MULTILINE)
    assert "git push origin main v1.2.0" in said
    assert "twine upload dist/newsdedup-1.2.0*" in said
    assert said.endswith("\nnext: scripts/release\n")
    (project / "new.txt").touch()
    assert checked.main(["--dry-run"]) == 1
    done = capsys.readouterr()
    assert "NOT OK  tree: not committed: new.txt\nok      two: 2\n" in done.out
    assert digest in done.out
    assert "1 of 3 checks failed" in done.err
    assert done.err.endswith("\nnext: correct what is NOT OK, then scripts/release --dry-run\n")
    assert tags(project) == ""


def test_a_release_stops_at_what_failed_or_tags(
    checked: ModuleType, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_COMMITTER", "GIT_AUTHOR"):
        monkeypatch.setenv(f"{name}_NAME", "A")
        monkeypatch.setenv(f"{name}_EMAIL", "a@example.org")
    (project / "new.txt").touch()
    assert checked.main([]) == 1
    assert "two" not in capsys.readouterr().out
    (project / "new.txt").unlink()
    assert checked.main([]) == 0
    assert tags(project) == "v1.2.0\n"
    assert capsys.readouterr().out.endswith("\nnext: git push origin main v1.2.0\n")
