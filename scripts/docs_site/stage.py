"""Copy the sources of the documentation site into build/docs-site/.

    .venv-docs/bin/python scripts/docs_site/stage.py [FOLDER]

The pages and the files that they link to are at the same paths as in the repository, so that every link works
in both places. The navigation is docs/README.md: paragraphs that end with a colon are sections, items pages.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = Path("scripts", "docs_site")
FIRST = ("README.md", "docs/README.md")
LAST = ("CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)#]+)\)")


def pages() -> list[Path]:
    return [*(ROOT / name for name in (FIRST[0], *LAST)), *sorted((ROOT / "docs").glob("*.md"))]


def linked(page: Path) -> list[Path]:
    """Return the files that a page links to, except pages."""
    targets = [name for name in LINK.findall(page.read_text("utf-8")) if "://" not in name]
    found = [(page.parent / name).resolve() for name in targets]
    return [path for path in found if path.is_file() and path.suffix != ".md"]


def navigation() -> list[object]:
    """Return the pages and sections in the form that mkdocs.yml uses."""
    found: list[object] = list(FIRST)
    section: list[str] = []
    for line in (ROOT / "docs" / "README.md").read_text("utf-8").splitlines():
        if line.endswith(":") and line[:1].isalpha():
            section = []
            found.append({line.rstrip(":"): section})
        elif entry := ENTRY.match(line):
            section.append(f"docs/{entry[1]}")
    return [*found, *LAST]


def stage(folder: Path) -> Path:
    """Copy all sources of the site into `folder`, and return the file of its settings."""
    shutil.rmtree(folder, ignore_errors=True)
    sources = folder / "sources"
    for file in {*pages(), *(file for page in pages() for file in linked(page))}:
        copy = sources / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    (sources / "assets").mkdir()
    shutil.copyfile(ROOT / SITE / "iframe-worker.js", sources / "assets" / "iframe-worker.js")
    settings = folder / "mkdocs.yml"
    own = {
        "INHERIT": str(ROOT / SITE / "mkdocs.yml"),
        "docs_dir": str(sources),
        "site_dir": str(folder.parent / "docs"),
        "nav": navigation(),
    }
    settings.write_text(json.dumps(own, indent=2) + "\n", "utf-8")  # JSON is YAML
    return settings


if __name__ == "__main__":
    stage(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs-site")
