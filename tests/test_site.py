"""`scripts/docs`: every page is in the site, every link leads somewhere, and nothing comes from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

from tests.scripts import script

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-docs" / "bin" / "python"
ADDRESS = ("href", "src", "srcset", "data", "action")
ELSEWHERE = re.compile(r"(?:[a-z]+:)?//")


@pytest.fixture(scope="module", name="script")
def the_script() -> ModuleType:
    return script("docs_site/stage.py")


class SitePage(HTMLParser):
    """Links, anchors and resources of an HTML page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        for name in ADDRESS:
            if name in found:
                (self.links if tag == "a" else self.loaded).append(found[name])


def names(navigation: list[object]) -> list[str]:
    """The pages of a navigation, in order."""
    found: list[str] = []
    for entry in navigation:
        found += [entry] if isinstance(entry, str) else names(next(iter(entry.values())))  # type: ignore[attr-defined]
    return found


def build(settings: Path) -> subprocess.CompletedProcess[str]:
    if not PYTHON.exists():
        pytest.skip("needs .venv-docs: scripts/setup docs")
    command = (PYTHON, "-m", "mkdocs", "build", "--strict", "--config-file", settings)
    env = {"PATH": os.environ["PATH"], "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def site(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, SitePage]:
    """Build the site without a warning; return its pages."""
    folder = tmp_path_factory.mktemp("site")
    done = build(script.stage(folder / "docs-site"))
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return {file: SitePage(file) for file in (folder / "docs").rglob("*.html")}


def test_every_page_stands_in_the_navigation_once_with_the_files_it_links_to(
    script: ModuleType, tmp_path: Path
) -> None:
    settings = json.loads(script.stage(tmp_path / "docs-site").read_text("utf-8"))
    sources = Path(settings["docs_dir"])
    staged = sorted(file.relative_to(sources).as_posix() for file in sources.rglob("*.md"))
    assert sorted(names(settings["nav"])) == staged
    assert {file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").glob("*.md")} < set(staged)
    assert len([entry for entry in settings["nav"] if isinstance(entry, dict)]) >= 6
    assert (sources / "docs" / "examples" / "docker" / "Dockerfile").exists()
    assert Path(settings["site_dir"]).parent == tmp_path


def test_the_site_is_kept_out_of_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    for name in ("build/docs/index.html", "build/docs-site/mkdocs.yml"):
        done = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False, timeout=20)
        assert done.returncode == 0, name


def test_the_pins_are_those_that_are_asked_for() -> None:
    pins = (ROOT / "requirements" / "docs.txt").read_text("utf-8")
    assert re.search(r"^mkdocs-material==9\.", pins, re.MULTILINE)
    assert pins.count("==") <= pins.count("--hash=sha256:")
    assert "for name in compiler docs" in (ROOT / "scripts" / "lock").read_text("utf-8")


def test_nothing_of_the_site_comes_from_elsewhere(site: dict[Path, SitePage]) -> None:
    assert len(site) > 20
    loaded = {address for page in site.values() for address in page.loaded}
    assert [address for address in loaded if ELSEWHERE.match(address)] == []
    assert any(address.endswith("assets/iframe-worker.js") for address in loaded)
    folder = next(file for file in site if file.name == "404.html").parent
    for sheet in folder.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", sheet.read_text("utf-8")), sheet
    assert (folder / "search" / "search_index.js").stat().st_size > 100_000


def test_every_link_of_the_site_leads_to_a_file_and_its_anchor(site: dict[Path, SitePage]) -> None:
    broken = []
    for file, page in site.items():
        if file.name == "404.html":  # is shown for any address, so its links are from the top
            continue
        for address in {*page.links, *page.loaded}:
            if ELSEWHERE.match(address) or ":" in address:
                continue
            name, _, anchor = unquote(address).partition("#")
            target = (file.parent / name.partition("?")[0]).resolve() if name else file
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in site and anchor not in site[target].anchors):
                broken.append((file.name, address))
    assert broken == []


@pytest.mark.parametrize("link", ["[a](nowhere.md)", "[a](limits.md#nowhere)", "[a](examples/nowhere.yaml)"])
def test_a_broken_link_fails_the_site(script: ModuleType, tmp_path: Path, link: str) -> None:
    settings = script.stage(tmp_path / "docs-site")
    page = tmp_path / "docs-site" / "sources" / "docs" / "load.md"
    page.write_text(f"{page.read_text('utf-8')}\n{link}\n", "utf-8")
    done = build(settings)
    assert done.returncode == 1
    assert "docs/load.md" in done.stderr
