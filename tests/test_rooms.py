"""The rooms of the code: no room imports a higher room, and no imports form a circle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module

import pytest

import dedup
from tests.loops import each
from tests.test_architecture import PACKAGE, circle, dependencies, needs, tree

ROOMS = (
    "base",  # the lowest room
    *("text", "rules", "files"),  # rooms without a database
    *("db", "attach", "runs", "store"),  # rooms with SQL statements
    "settling",  # the room that decides marks
    "api",  # the public face
    "cli",  # the highest room
)
"""Packages and modules of `dedup/`, lowest first: each imports only earlier ones."""

EXTRAS = (
    *("watch", "scrapy", "fsspec", "frames", "loads", "coverage", "judging", "pages"),
    *("serve", "browse", "lab", "spark"),
    "mcp",
)
"""Packages of `dedup/extras/`, lowest first; the core imports no extra."""

PUBLIC = (*dedup._MODULES, "__main__")
"""Modules that only export public names of other modules."""

MOST_ROOMS = 11
FACE = "__init__"  # exports names of other modules, and is no room
ALIAS = "public"  # a public module such as `dedup.errors` also exports names only, and may import every room


def room(module: str) -> str:
    """Return a module's room: `store` of `dedup.store.articles`, `spark` of `dedup.extras.spark.rows`."""
    _, found, extra, *_ = (*module.split("."), FACE, FACE)
    if found == "extras":
        return extra
    return ALIAS if found in PUBLIC else found


def ways_up(needed: dict[str, set[str]]) -> list[str]:
    """Return the imports of modules in higher rooms by modules in lower rooms."""
    order = (FACE, *ROOMS, *EXTRAS, ALIAS)
    return [
        f"{module} imports {other}"
        for module, others in needed.items()
        for other in others
        if order.index(room(other)) > order.index(room(module))
    ]


def between(needed: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the imported rooms of each room."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, others in needed.items():
        found[room(module)] |= {room(other) for other in others} - {room(module)}
    return found


@pytest.mark.extra(*EXTRAS)
def test_every_room_has_its_place_and_they_are_few() -> None:
    assert sorted((*ROOMS, *EXTRAS)) == sorted({room(module) for module in dependencies()} - {FACE, ALIAS})
    assert len(ROOMS) <= MOST_ROOMS


def test_every_folder_is_a_package_of_the_list() -> None:
    folders = {place.name for place in PACKAGE.iterdir() if place.is_dir() and place.name != "__pycache__"}
    # An installed wheel has the folder `migrations` in the package; a checkout has it beside the package.
    assert folders <= {*ROOMS, *PUBLIC, "extras", "migrations"}


def test_no_import_runs_up() -> None:
    assert ways_up(dependencies()) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle(dependencies()) == ()


def test_no_room_imports_itself_by_way_of_others() -> None:
    assert circle(between(dependencies())) == ()


@pytest.mark.extra("frames")
def test_a_circle_and_a_way_up_would_be_seen() -> None:
    code = "if TYPE_CHECKING:\n    import b\nelse:\n    import a\ndef f():\n    from c import d, e"
    assert needs(ast.parse(code), {"a", "b", "c", "c.d"}) == {"a", "c", "c.d"}
    assert needs(tree("extras/frames/frames.py"), {"dedup.api.deduplicator"}) == {"dedup.api.deduplicator"}
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert ways_up({"dedup.text.a": {"dedup.store.b", "dedup.base.errors"}}) == [
        "dedup.text.a imports dedup.store.b"
    ]
    assert between({"dedup.text.a": {"dedup.store.b", "dedup.text.c"}}) == {"text": {"store"}}


def test_the_page_of_the_architecture_shows_the_rooms_in_their_order() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)(?:\.py)?` \|", page.partition("## Plug-ins")[0], re.MULTILINE)
    assert rows == [*reversed(ROOMS), *reversed(EXTRAS)]


@pytest.mark.extra("frames", "scrapy", "watch")
@each("name", [name for name in dedup._MODULES if name != "spark"])
def test_a_public_module_hands_on_the_names_of_the_module_behind_it(name: str) -> None:
    public = import_module(f"dedup.{name}")
    assert getattr(dedup, name) is public
    (home,) = {module for module in dependencies()[f"dedup.{name}"] if module != "dedup.base.extras"}
    assert public.__all__ == (real := import_module(home)).__all__
    assert all(getattr(public, one) is getattr(real, one) for one in real.__all__)
    assert len(tree(f"{name}.py").body) <= 5, "a public module has a docstring and exports names, no more"


def test_python_dash_m_dedup_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dedup", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"dedup {dedup.__version__}\n"
