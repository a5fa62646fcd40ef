"""Extras import only what they may, and only when it is used."""

from __future__ import annotations

import re

from tests.loops import each
from tests.test_architecture import (
    DATABASE,
    LAB,
    NAMES,
    OF_CLI,
    OUTER,
    dotted,
    imported,
    is_within,
    loaded_by,
    tree,
)


@each("name", [name for name in NAMES if re.match(r"extras/spark/\w+\.py", name)])
def test_the_cluster_knows_no_database(name: str) -> None:
    # Executors import these modules, on machines without a database or an embedded server.
    assert [module for module in imported(tree(name)) if is_within(module, DATABASE + OUTER)] == []


def test_what_executors_run_loads_no_database_and_no_session() -> None:
    loaded = loaded_by("import dedup.extras.spark.scoring")
    assert "dedup.rules.pairs" in loaded
    assert [module for module in loaded if is_within(module, (*DATABASE, *OUTER, "pyspark"))] == []


@each("name", [name for name in NAMES if not re.match(r"extras/lab/", name)])
def test_only_the_command_line_knows_the_lab(name: str) -> None:
    allowed = ("jinja2",) if name.startswith("extras/pages/") else ()
    found = [module for module in imported(tree(name)) if is_within(module, LAB)]
    assert [module for module in found if not is_within(module, allowed)] == []


@each("name", [name for name in NAMES if name.startswith("extras/pages/")])
def test_components_of_pages_know_no_database_and_no_command_line(name: str) -> None:
    found = [module for module in imported(tree(name)) if is_within(module, DATABASE + OUTER)]
    assert found == []


HTTP = ("dedup.extras.serve.app", "dedup.extras.serve.server", "starlette", "uvicorn", "h11", "anyio")


OF_HTTP = r"extras/(serve|browse|mcp)/(?!commands)"


@each("name", [name for name in NAMES if not re.match(OF_HTTP, name) and name not in OF_CLI])
def test_only_the_command_line_knows_the_http_door(name: str) -> None:
    assert [module for module in imported(tree(name)) if is_within(module, HTTP)] == []


@each("name", [name for name in NAMES if re.match(OF_HTTP, name)])
def test_the_http_door_does_not_know_the_command_line(name: str) -> None:
    assert [module for module in imported(tree(name)) if is_within(module, ("dedup.cli", "typer"))] == []


def test_a_report_is_written_without_http() -> None:
    loaded = loaded_by("import dedup.extras.browse.report")
    assert "dedup.extras.browse.views" in loaded
    assert [module for module in loaded if is_within(module, HTTP)] == []


def test_neither_the_library_nor_the_command_line_starts_with_http() -> None:
    loaded = loaded_by("import dedup.cli.main, dedup; dedup.cli.main.program(); dedup.Deduplicator")
    assert "dedup.extras.serve.commands.serve" in loaded
    assert [module for module in loaded if is_within(module, HTTP)] == []


def test_judging_loads_nothing_of_the_lab() -> None:
    judging = [dotted(name) for name in NAMES if name.startswith("extras/judging/")]
    judging += ["dedup.cli.side_by_side"]
    loaded = loaded_by(f"import importlib\nfor name in {judging!r}: importlib.import_module(name)")
    assert set(judging) <= set(loaded)
    assert [module for module in loaded if is_within(module, LAB)] == []


def test_the_command_line_starts_without_the_lab() -> None:
    loaded = loaded_by("import dedup.cli.main; dedup.cli.main.program()")
    assert "dedup.extras.lab.commands.lab" in loaded
    assert [module for module in loaded if is_within(module, LAB)] == []
