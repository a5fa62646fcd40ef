"""`scripts/docs`: every page is in the site, every link works, and nothing is loaded from elsewhere."""

from __future__ import annotations

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
SITE = ROOT / "scripts" / "docs_site"
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


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the Python interpreter of `.venv-docs`, which makes the site."""
    if not PYTHON.exists():
        pytest.skip("needs .venv-docs: scripts/setup docs")
    env = {"PATH": os.environ["PATH"]}
    command = (PYTHON, *arguments)
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)


def build(sources: Path) -> subprocess.CompletedProcess[str]:
    """Run Sphinx as `scripts/docs` does; the site is written beside the folder of the sources."""
    folder = sources.parent
    options = ("--fail-on-warning", "--keep-going", "--quiet", "--conf-dir", SITE)
    return run("-m", "sphinx", *options, "--doctree-dir", folder / "doctrees", sources, folder / "site")


@pytest.fixture(scope="module")
def folder(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site without a warning; return its folder."""
    sources: Path = script.stage(tmp_path_factory.mktemp("site") / "docs-site")
    for done in (run(SITE / "reference.py", sources / "docs" / "reference"), build(sources)):
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    return sources.parent / "site"


@pytest.fixture(scope="module")
def site(folder: Path) -> dict[Path, SitePage]:
    return {file: SitePage(file) for file in folder.rglob("*.html")}


def test_every_page_stands_in_the_navigation_once_with_the_files_it_links_to(
    script: ModuleType, tmp_path: Path
) -> None:
    sources = script.stage(tmp_path / "docs-site")
    staged = sorted(file.relative_to(sources).with_suffix("").as_posix() for file in sources.rglob("*.md"))
    listed = [name for names in script.navigation().values() for name in names]
    assert sorted(["README", *listed]) == sorted([*staged, "docs/reference/index"])
    home = (sources / "README.md").read_text("utf-8")
    assert all(f"\n{name}\n" in home for name in listed)
    assert len(script.navigation()) >= 8
    assert (sources / "docs" / "examples" / "docker" / "Dockerfile").exists()


def test_the_site_is_kept_out_of_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    for name in ("build/docs/index.html", "build/docs-site/sources/README.md"):
        done = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False, timeout=20)
        assert done.returncode == 0, name


def test_the_pins_are_those_that_are_asked_for() -> None:
    pins = (ROOT / "requirements" / "docs.txt").read_text("utf-8")
    assert set(re.findall(r"^(?:furo|griffelib|myst-parser|sphinx)(?===)", pins, re.MULTILINE)) == {
        *("furo", "griffelib", "myst-parser", "sphinx")
    }
    assert pins.count("==") <= pins.count("--hash=sha256:")
    assert "for name in compiler docs" in (ROOT / "scripts" / "lock").read_text("utf-8")


def test_nothing_of_the_site_comes_from_elsewhere(folder: Path, site: dict[Path, SitePage]) -> None:
    assert len(site) > 30
    loaded = {address for page in site.values() for address in page.loaded}
    assert [address for address in loaded if ELSEWHERE.match(address)] == []
    for sheet in folder.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text("utf-8")), sheet
    for program in folder.rglob("*.js"):
        assert not re.search(r"(?:fetch|import|src ?=)\W{0,3}[\"'](?:https?:)?//", program.read_text("utf-8"))
    assert (folder / "searchindex.js").stat().st_size > 100_000


def test_every_link_of_the_site_leads_to_a_file_and_its_anchor(site: dict[Path, SitePage]) -> None:
    broken = []
    for file, page in site.items():
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
def test_a_broken_link_fails_the_site(tmp_path: Path, link: str) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "README.md").write_text(f"# Home\n\n{link}\n\n```{{toctree}}\nlimits\n```\n", "utf-8")
    (sources / "limits.md").write_text("# Limits\n", "utf-8")
    done = build(sources)
    assert done.returncode == 1
    assert "README.md:3" in done.stderr
