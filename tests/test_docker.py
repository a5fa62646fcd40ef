"""The image and the services of docs/examples/docker/ name existing files and commands; no Docker is needed.

A torture test runs the lines that build the image, because they need the package index.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from dedup.cli.main import program

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "examples" / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if name != "postgres"}


def stages() -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, with their arguments."""
    lines = (FOLDER / "Dockerfile").read_text("utf-8").splitlines()
    words = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    found: list[list[tuple[str, str]]] = []
    for instruction, arguments in words:
        if instruction == "FROM":
            found.append([])
        found[-1].append((instruction, arguments))
    return found


def copied() -> list[tuple[list[str], str]]:
    """Return the files that are copied from the checkout, with their targets."""
    words = [shlex.split(arguments) for name, arguments in stages()[0] if name == "COPY"]
    return [(sources, target) for *sources, target in words]


def is_let_in(name: str) -> bool:
    """Return whether Dockerfile.dockerignore admits a file; the last matching line decides."""
    let_in = True
    for line in (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").split():
        pattern = line.removeprefix("!")
        parents = [name, *map(str, Path(name).parents)]
        if any(fnmatch(one, pattern) or fnmatch(f"./{one}", f"*/{pattern[3:]}") for one in parents):
            let_in = line.startswith("!")
    return let_in


def test_what_is_copied_exists_and_is_let_in() -> None:
    assert copied()
    for sources, _ in copied():
        for source in sources:
            assert (ROOT / source).exists(), source
            files = [ROOT / source] if (ROOT / source).is_file() else list((ROOT / source).rglob("*.py"))
            assert all(is_let_in(str(file.relative_to(ROOT))) for file in files)


def test_nothing_else_of_the_checkout_is_sent_to_the_builder() -> None:
    for name in (".git/config", ".venv/pyvenv.cfg", ".env", "tests/long.json", "docs/examples/docker/.env"):
        assert not is_let_in(name), name
    assert not is_let_in("dedup/text/libnative.so")
    assert not is_let_in("dedup/base/__pycache__/extras.cpython-311.pyc")


def test_the_image_is_of_two_stages_and_no_root() -> None:
    build, image = stages()
    assert build[0][1].removesuffix(" AS build") == image[0][1], (
        "both stages need the same Python for the copied environment"
    )
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", image[0][1])
    assert ("COPY", "--from=build /opt/dedup /opt/dedup") in image
    (user,) = [arguments for name, arguments in image if name == "USER"]
    assert user == "10001"
    assert ("ENTRYPOINT", '["dedup"]') in image
    assert not [name for name, _ in image if name in ("ARG", "ADD")]


def test_the_image_holds_no_secret() -> None:
    given = [arguments for stage in stages() for name, arguments in stage if name in ("ENV", "ARG")]
    assert [value.partition("=")[0] for value in given] == ["EXTRAS", "PATH"]


def test_the_extras_of_the_image_are_those_of_the_program() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (extras,) = [arguments for name, arguments in stages()[0] if name == "ARG"]
    for extra in extras.removeprefix("EXTRAS=").split(","):
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE), extra


@pytest.mark.extra("browse")
@pytest.mark.parametrize("name", OURS)
def test_every_service_is_a_command_with_the_options_it_is_given(name: str) -> None:
    command, *options = OURS[name]["command"]
    known = typer.main.get_command(program()).commands[command]  # type: ignore[attr-defined]
    with known.make_context(command, list(options)) as context:
        assert context.params


def test_the_services_wait_for_what_they_need() -> None:
    for name, service in SERVICES.items():
        for needed, condition in service.get("depends_on", {}).items():
            how = "service_healthy" if needed == "postgres" else "service_completed_successfully"
            assert condition == {"condition": how}, name
            assert ("restart" in SERVICES[needed]) == (needed == "postgres"), (
                "a service that ends is not restarted"
            )
    assert SERVICES["postgres"]["healthcheck"]["test"][1] == "pg_isready"
    assert SERVICES["worker"]["healthcheck"]["test"] == ["CMD", "dedup", "status", "--check"]


def test_the_services_have_no_more_rights_than_they_need() -> None:
    addresses = {name: service["environment"]["DEDUP_DATABASE_URL"] for name, service in OURS.items()}
    roles = {name: re.findall(r"//(\w+):", address)[0] for name, address in addresses.items()}
    assert roles == {"schema": "owner", "rights": "owner", "worker": "worker", "browse": "reader"}
    assert OURS["rights"]["command"] == ["grant", "--worker", "worker", "--reader", "reader"]
    for service in OURS.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    assert [port for s in SERVICES.values() for port in s.get("ports", [])] == ["127.0.0.1:8080:8080"]


def test_every_secret_comes_from_outside() -> None:
    text = (FOLDER / "compose.yaml").read_text("utf-8")
    (named,) = re.findall(r"for name in ([A-Z ]+);", text)
    secrets = {f"{name}_SECRET" for name in named.split()}
    assert set(re.findall(r"\$\{(\w+)", text)) - {"name"} == secrets
    for service in SERVICES.values():
        for variable, value in service["environment"].items():
            if variable not in ("POSTGRES_USER", "POSTGRES_DB"):
                assert "${" in value, variable


def test_the_compose_file_and_the_dockerfile_find_each_other() -> None:
    build = COMPOSE["x-dedup"]["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).samefile(FOLDER / "Dockerfile")
    assert not re.findall(r"^\s+- \./(?!logins\.sh)", (FOLDER / "compose.yaml").read_text("utf-8"), re.M)
    done = subprocess.run(["sh", "-n", FOLDER / "logins.sh"], capture_output=True, timeout=20)
    assert done.returncode == 0
    assert os.access(FOLDER / "logins.sh", os.X_OK)


@pytest.mark.torture
def test_the_lines_that_build_make_a_dedup_that_runs(tmp_path: Path) -> None:
    # This needs the package index. Do what Docker would do, with other folders and this Python.
    build, programs = tmp_path / "build", tmp_path / "programs"
    build.mkdir()
    subprocess.run([sys.executable, "-m", "venv", programs], check=True, timeout=120)
    environment = {
        "PATH": f"{programs}/bin:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "EXTRAS": stages()[0][1][1].partition("=")[2],
    }
    for name, arguments in stages()[0]:
        if name == "COPY":
            *sources, target = shlex.split(arguments)
            for source in sources:
                place = build / target / (Path(source).name if target.endswith("./") else "")
                if (ROOT / source).is_dir():
                    ignored = shutil.ignore_patterns("__pycache__", "libnative.so")
                    shutil.copytree(ROOT / source, build / target, ignore=ignored)
                else:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, place)
        elif name == "RUN":
            line = arguments.replace("/opt/dedup", str(tmp_path / "dedup"))
            done = subprocess.run(
                ["sh", "-euc", line], cwd=build, env=environment, capture_output=True, text=True, timeout=900
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    code = "from dedup.text import native; assert native.library(); import jinja2, uvicorn, trafilatura"
    subprocess.run([tmp_path / "dedup" / "bin" / "python", "-c", code], check=True, cwd=tmp_path, timeout=60)
    subprocess.run([tmp_path / "dedup" / "bin" / "dedup", "--version"], check=True, timeout=60)
