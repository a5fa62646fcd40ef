"""The files of docs/examples/ (units, crontab, DAG, manifests, rules) name existing commands and options."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from dedup.base.timeouts import Timeouts
from dedup.cli.main import program

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
FILES = sorted(path for path in EXAMPLES.rglob("*") if path.is_file())
MANIFESTS = sorted((EXAMPLES / "kubernetes").glob("*.yaml"))
COMMAND = re.compile(
    r"(?:/usr/local/bin/dedup|(?<![\w./-])dedup) "
    r"(?:worker|status|metrics|backfill|serve|watch|browse)\b[^\n\"|)]*"
)


def manifests() -> list[dict[str, Any]]:
    return [found for path in MANIFESTS for found in yaml.safe_load_all(path.read_text("utf-8"))]


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the template of the pods that a manifest makes."""
    spec: dict[str, Any] = manifest["spec"]
    if manifest["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    template: dict[str, Any] = spec["template"]
    return template


def commands() -> list[list[str]]:
    """Return the calls of `dedup` in the examples, without comments, as words after the program's name."""
    found = []
    for path in FILES:
        lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
        text = "\n".join(lines).partition('"""')[0 if '"""' not in "\n".join(lines) else 2]
        if path.suffix != ".yaml":
            found += [shlex.split(call)[1:] for call in COMMAND.findall(text)]
    for manifest in manifests():
        found += [container["command"][1:] for container in pod(manifest)["spec"]["containers"]]
    return found


def test_the_examples_were_found() -> None:
    assert len(commands()) >= 8
    assert {command[0] for command in commands()} == {"worker", "status", "serve", "watch", "browse"}


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_the_options_it_is_given(command: list[str]) -> None:
    known = typer.main.get_command(program()).commands[command[0]]  # type: ignore[attr-defined]
    with known.make_context(command[0], list(command[1:])) as context:
        assert context.params


UNITS = sorted(path.name for path in (EXAMPLES / "systemd").iterdir())
ONCE = ("dedup-backfill.service", "dedup-check.service", "dedup-dump.service")
ENDLESS = [name for name in UNITS if name.endswith(".service") and name not in ONCE]


@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_units(name: str, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        pytest.skip("needs systemd-analyze")
    for path in (EXAMPLES / "systemd").iterdir():
        text = path.read_text("utf-8").replace("/usr/local/bin/dedup", sys.executable)
        (tmp_path / path.name).write_text(text.replace("User=dedup", "User=root"))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / name)], capture_output=True, text=True, timeout=60
    )
    said = [line for line in done.stderr.splitlines() if name.partition(".")[0] in line]
    assert said == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_services_tell_systemd_that_they_work(name: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(EXAMPLES / "systemd" / name)
    service = unit["Service"]
    assert (service["Type"], service["NotifyAccess"], service["Restart"]) == ("notify", "main", "on-failure")
    minutes = int(service["WatchdogSec"].removesuffix("min"))
    if name == "dedup-worker.service":
        assert minutes * 60 > Timeouts().statement, "the watchdog must allow the wait for one statement"


def test_the_dump_of_the_unit_is_the_one_of_the_page() -> None:
    unit = (EXAMPLES / "systemd" / "dedup-dump.service").read_text("utf-8")
    page = (EXAMPLES.parent / "operate.md").read_text("utf-8")
    [words] = re.findall(r"^ExecStart=/bin/sh -c '(pg_dump .*) -f ", unit, re.MULTILINE)
    assert f"\n{words} -f news.dump " in page


def test_every_way_of_installing_leads_to_the_path_of_the_units() -> None:
    page = (EXAMPLES.parent / "operate.md").read_text("utf-8").partition("## Services of systemd")[2]
    ways = page.partition("```shell\n")[2].partition("```")[0].splitlines()
    assert len(ways) == 3
    for way in ways:
        assert re.search(r"pipx install --global|UV_TOOL_BIN_DIR=/usr/local/bin|/usr/local/bin/dedup$", way)
        assert '"$WHEEL[metrics,serve,watch]"' in way
    assert all(
        "ExecStart=/usr/local/bin/dedup " in (EXAMPLES / "systemd" / name).read_text("utf-8")
        for name in ENDLESS
    )


def test_systemd_would_see_a_mistake(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        pytest.skip("needs systemd-analyze")
    (tmp_path / "bad.service").write_text("[Service]\nExecStart=/no/such/program\nTimeoutStopSecs=1\n")
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / "bad.service")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "TimeoutStopSecs" in done.stderr


def test_the_crontab_has_times_a_user_and_a_command() -> None:
    lines = [
        line
        for line in (EXAMPLES / "cron" / "dedup").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    times = [line.split(maxsplit=6) for line in lines if not re.match(r"[A-Z_]+=", line)]
    assert len(times) == 2
    for *five, user, command in times:
        assert all(re.fullmatch(r"\*(/\d+)?|\d+", field) for field in five)
        assert user == "dedup"
        assert "%" not in command, "cron takes % for a line end"


def test_the_check_of_the_crontab_says_something_only_if_something_is_wrong(tmp_path: Path) -> None:
    line = next(
        line for line in (EXAMPLES / "cron" / "dedup").read_text("utf-8").splitlines() if "--check" in line
    )
    command = line.split(maxsplit=6)[6]
    program = tmp_path / "dedup"
    for code, said in ((0, ""), (1, "NOT WELL\n")):
        program.write_text(f"#!/bin/sh\necho NOT WELL\nexit {code}\n")
        program.chmod(0o755)
        done = subprocess.run(
            ["sh", "-c", command.replace("/usr/local/bin/dedup", str(program))],
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.stdout == said


def test_the_dag_compiles_and_runs_one_task_after_the_other() -> None:
    source = (EXAMPLES / "airflow" / "dedup_backfill.py").read_text("utf-8")
    compile(source, "dedup_backfill.py", "exec")
    tree = ast.parse(source)
    tasks = [
        keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "task_id" and isinstance(keyword.value, ast.Constant)
    ]
    assert tasks == ["settle", "check"]
    assert ast.unparse(tree.body[-1]).endswith("settle >> check")


def test_kubernetes_finds_what_it_requires() -> None:
    found = manifests()
    assert {(m["apiVersion"], m["kind"]) for m in found} == {
        ("apps/v1", "Deployment"),
        ("batch/v1", "CronJob"),
    }
    for manifest in found:
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", manifest["metadata"]["name"])
        spec = manifest["spec"]
        if manifest["kind"] == "Deployment":
            labels = spec["template"]["metadata"]["labels"]
            assert spec["selector"]["matchLabels"].items() <= labels.items()
            assert spec["template"]["spec"].get("restartPolicy", "Always") == "Always"
        else:
            assert len(spec["schedule"].split()) == 5
            assert spec["concurrencyPolicy"] in ("Allow", "Forbid", "Replace")
            assert pod(manifest)["spec"]["restartPolicy"] in ("Never", "OnFailure")
        assert pod(manifest)["spec"]["terminationGracePeriodSeconds"] > 10, "a stop may take 10 s"
        for container in pod(manifest)["spec"]["containers"]:
            assert {"name", "image", "command", "env", "resources"} <= container.keys()
            assert all(isinstance(word, str) for word in container["command"])
            (variable,) = container["env"]
            assert variable["name"] == "DEDUP_DATABASE_URL"
            assert variable["valueFrom"]["secretKeyRef"].keys() == {"name", "key"}
            ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
            assert ports == ({"metrics": 9818} if "--metrics-port" in container["command"] else {})
            assert all(str(port) in container["command"] for port in ports.values())
            if "livenessProbe" in container:
                assert container["livenessProbe"]["httpGet"]["port"] in ports


def test_the_rules_name_metrics_that_there_are() -> None:
    rules = yaml.safe_load((EXAMPLES / "prometheus" / "alerts.yaml").read_text("utf-8"))
    page = (EXAMPLES.parent / "worker.md").read_text("utf-8")
    code = (EXAMPLES.parents[1] / "dedup" / "api" / "metrics.py").read_text("utf-8")
    for rule in rules["groups"][0]["rules"]:
        assert {"alert", "expr", "annotations"} <= rule.keys()
        for name in re.findall(r"dedup_\w+", rule["expr"]):
            assert f"`{name}`" in page or f"`{name}{{" in page
            assert f'"{name.removesuffix("_total")}"' in code
