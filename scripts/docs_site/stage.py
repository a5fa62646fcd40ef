"""Copy the pages of the documentation into build/docs-site/, where Sphinx reads them.

    .venv-docs/bin/python scripts/docs_site/stage.py [FOLDER]

The pages and the files that they link to are at the same paths as in the repository, so that every link works
in both places. The navigation follows docs/README.md: a paragraph that ends with a colon is the title of a
section, and the list items are its pages.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STAGED = ROOT / "build" / "docs-site"
HOME = "README"
REFERENCE = ("docs/reference/index", "docs/examples/api")
LAST = ("CONTRIBUTING", "CHANGELOG")
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)#]+)\.md\)")


def pages() -> list[Path]:
    """Return the pages of the site without the pages of the reference."""
    return [
        *(ROOT / f"{name}.md" for name in (HOME, *REFERENCE[1:], *LAST)),
        *sorted((ROOT / "docs").glob("*.md")),
    ]


def linked(page: Path) -> list[Path]:
    """Return the files that a page links to, except pages."""
    targets = [name for name in LINK.findall(page.read_text("utf-8")) if "://" not in name]
    found = [(page.parent / name).resolve() for name in targets]
    return [path for path in found if path.is_file() and path not in pages()]


def navigation() -> dict[str, list[str]]:
    """Return the pages of each section, by its title."""
    found: dict[str, list[str]] = {"": ["docs/README"]}
    section: list[str] = []
    for line in (ROOT / "docs" / "README.md").read_text("utf-8").splitlines():
        if line.endswith(":") and line[:1].isalpha():
            section = found.setdefault(line.rstrip(":"), [])
        elif entry := ENTRY.match(line):
            section.append(f"docs/{entry[1]}")
    found["API reference"] = list(REFERENCE)
    return {**found, "The project": list(LAST)}


def toctree(caption: str, names: list[str]) -> str:
    title = [f":caption: {caption}"] if caption else []
    return "\n".join(["```{toctree}", ":hidden:", *title, "", *names, "```", ""])


def stage(folder: Path) -> Path:
    """Copy all pages of the site into a folder, and return the folder of the pages."""
    shutil.rmtree(folder, ignore_errors=True)
    sources = folder / "sources"
    for file in {*pages(), *(file for page in pages() for file in linked(page))}:
        copy = sources / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    with (sources / f"{HOME}.md").open("a", encoding="utf-8") as home:
        home.write("\n" + "\n".join(toctree(*section) for section in navigation().items()))
    return sources


if __name__ == "__main__":
    stage(Path(sys.argv[1]) if len(sys.argv) > 1 else STAGED)
