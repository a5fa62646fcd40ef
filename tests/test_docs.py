"""Facts in docs/ and the README: settings, links, files, names of marks and rules."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from dedup.base.settings import Settings
from dedup.rules.marks import Status
from dedup.rules.pair import Rule
from tests import test_architecture
from tests.loops import each

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
READ = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
NAMES = [str(path.relative_to(ROOT)) for path in READ]
SETTINGS = {item.name: item.default for item in fields(Settings)}
DEFAULT = re.compile(r"`([a-z_]+)` = ([^\s|;)]+)")
CHANGE = re.compile(r"\bsettings (?:set|reset) ([a-z_]+[^`\n]*)")
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
PATH = re.compile(r"(?<![\w./-])(?:dedup|docs|migrations|scripts|tests)/[\w./-]*[\w/]")
BARE = re.compile(r"`(test_\w+\.py)`")


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def anchors(page: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def agrees(shown: str, default: object) -> bool:
    """Return whether a value on a page equals a default; numbers are compared as numbers."""
    if isinstance(default, str):
        return shown.strip('"') == default
    try:
        return float(shown.replace(",", "").rstrip(".")) == default
    except ValueError:
        return False


def table_rows(page: str, header: str) -> list[list[str]]:
    """Return the rows of every table with a first header that begins with `header`."""
    found, inside = [], False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif not inside and cells[0].startswith(header):
            inside = True
        elif inside and set(cells[0]) - set("-:"):
            found.append(cells)
    return found


def test_the_pages_were_found() -> None:
    assert {"README.md", "semantics.md", "reliability.md", "methods.md", "lab.md"} <= {p.name for p in PAGES}


@each("name", NAMES)
def test_every_default_that_a_page_names_is_the_default(name: str) -> None:
    wrong = [
        (setting, shown)
        for setting, shown in DEFAULT.findall(text(name))
        if setting in SETTINGS and not agrees(shown, SETTINGS[setting])
    ]
    assert wrong == []


def test_semantics_shows_every_setting_once_with_its_default_and_nothing_that_is_none() -> None:
    page = text("docs/semantics.md")
    shown = [name for name, _ in DEFAULT.findall(page)]
    assert sorted(shown) == sorted(SETTINGS)
    rows = [DEFAULT.match(cells[0]) for cells in table_rows(page, "setting, kind")]
    assert all(rows)
    assert len(rows) == len(SETTINGS)


def test_semantics_gives_every_setting_its_kind() -> None:
    page = text("docs/semantics.md")
    for kind in ("fingerprint", "rule", "window"):
        shown = [cells[0].split("`")[1] for cells in table_rows(page, f"setting, kind *{kind}*")]
        assert sorted(shown) == sorted(f.name for f in fields(Settings) if f.metadata["kind"] == kind)


@each("name", NAMES)
def test_settings_that_a_page_tells_to_change_can_be_changed(name: str) -> None:
    for changes in CHANGE.findall(text(name)):
        for change in changes.partition("#")[0].replace("--yes", "").split():
            setting, _, value = change.partition("=")
            assert setting in SETTINGS
            if value:
                Settings().with_values({setting: value})


def test_semantics_names_every_status_and_every_rule() -> None:
    page = text("docs/semantics.md")
    named = {
        word for cells in table_rows(page, "status or flag") for word in re.findall(r"`(\w+)`", cells[0])
    }
    assert named == {status.value for status in Status}
    reasons = [word for cells in table_rows(page, "reason") for word in re.findall(r"^`(\w+)`", cells[0])]
    assert sorted(reasons) == sorted(rule.value for rule in Rule)


@each("name", NAMES)
def test_every_local_link_leads_somewhere(name: str) -> None:
    for inline, reference in LINK.findall(text(name)):
        target = inline or reference
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text("utf-8")), target


@pytest.mark.extra("browse", "lab", "scrapy", "spark", "judging", "serve")
@each("name", NAMES)
def test_every_file_that_a_page_names_exists(name: str) -> None:
    page = text(name)
    missing = [found for found in PATH.findall(page) if not (ROOT / found.rstrip(".")).exists()]
    missing += [file for file in BARE.findall(page) if not list((ROOT / "tests").rglob(file))]
    assert missing == []


def test_the_index_lists_every_page() -> None:
    listed = set(re.findall(r"^- \[[^\]]+\]\(([^)#]+)\)", text("docs/README.md"), re.MULTILINE))
    assert listed == {page.name for page in PAGES} - {"README.md"}


@pytest.mark.extra("lab")
def test_every_trigger_of_the_schema_is_in_the_table_of_triggers() -> None:
    schema = (ROOT / "migrations" / "schema.sql").read_text("utf-8")
    made = set(re.findall(r"^--- trigger (\w+) of", schema, re.MULTILINE))
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("## Triggers")[2].partition("\n## ")[0]
    told = {name for name in re.findall(r"`(\w+)`", table) if name in made}
    assert told == made


@pytest.mark.extra("lab")
def test_every_method_of_the_lab_is_in_the_table_of_methods() -> None:
    folder = ROOT / "dedup" / "extras" / "lab" / "methods"
    named = {cells[2].strip("`") for cells in table_rows(text("docs/methods.md"), "row")}
    assert named == {path.name for path in folder.glob("*.py")} - {"__init__.py"}


def test_every_name_that_the_page_for_contributors_tells_is_in_the_code() -> None:
    listed = [name for name in repository() if name.endswith((".py", ".sql")) or "/" not in name]
    code = "\n".join(text(name) for name in listed if not name.endswith((".md", "test_docs.py")))
    known = set(re.findall(r"\w+", code))
    told = {name for name in re.findall(r"`([A-Za-z_]{3,})`", text("CONTRIBUTING.md")) if name != "name"}
    assert {"METHODS", "ALGORITHM_REVISION", "Settings", "refuse_downgrade"} <= told
    assert told - known == set()


ELSEWHERE = re.compile(r"\.\./shared|work/shared|SEMANTICS|RELIABILITY|METHODS\.md")
LOCATORS = {"scripts/sandbox.py", "scripts/train_english.py", "tests/conftest.py"}
"""Files that look for the data folder beside the checkout."""


def repository() -> list[str]:
    """Return the files of the repository: tracked by git, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    if listed.returncode:
        pytest.skip("needs a git checkout")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_nothing_leans_on_what_is_outside_the_repository() -> None:
    found = []
    for name in repository():
        if name == "tests/test_docs.py":
            continue
        try:
            content = text(name)
        except UnicodeDecodeError:
            continue
        found += [f"{name}: {match}" for match in ELSEWHERE.findall(content)]
        if '"shared"' in content and "parents[2]" in content:
            assert name in LOCATORS
    assert found == []


@each("name", test_architecture.NAMES)
def test_sections_that_a_module_cites_exist(name: str) -> None:
    headings = anchors(text("docs/semantics.md"))
    sections = {heading.split("-")[0] for heading in headings if heading[0].isdigit()}
    source = " ".join((test_architecture.PACKAGE / name).read_text("utf-8").split())
    for cited in re.findall(r"docs/semantics\.md,? sections? (\d+)(?:\.(\d+))?", source):
        assert "".join(cited) in sections, cited
    assert all((ROOT / page).exists() for page in re.findall(r"docs/\w+\.md", source))


def test_the_checks_see_what_they_forbid() -> None:
    assert agrees("1000000", 1_000_000)
    assert agrees("1,000,000.", 1_000_000)
    assert agrees('""', "")
    assert not agrees("0.7", 0.6)
    assert not agrees("many", 1)
    assert DEFAULT.findall('| `stop_words` = "" | x `rows` = 4, y') == [("stop_words", '""'), ("rows", "4,")]
    assert agrees("4,", 4)
    assert LINK.findall("[a](b.md#c) and\n[1]: #d") == [("b.md#c", ""), ("", "#d")]
    assert PATH.findall("`tests/text/`, (dedup/x.py). a/tests/b") == ["tests/text/", "dedup/x.py"]
    assert anchors("# A b\n```\n# c\n```\n## 1.10 Failed, twice") == {"a-b", "110-failed-twice"}
    assert ELSEWHERE.search("see ../shared/SEMANTICS.md")
