"""The API reference: its examples work, and docstrings of public classes describe the fields."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dedup
from dedup import Deduplicator
from dedup.api import attachments, corrections, credits
from dedup.api import settings as of_settings
from dedup.base import plugins
from dedup.base.settings import Settings
from dedup.operation import Operation
from tests.conftest import TEST_SCHEMA, Server
from tests.scripts import FOLDER, script

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "examples" / "api.md"
HEADING = re.compile(r"^## `([\w.]+)`$", re.MULTILINE)
TOLD = re.compile(r"^    (\w[\w, ]*): ", re.MULTILINE)

CLASSES = (
    *(Deduplicator, of_settings.CorpusSettings, of_settings.PairPins, of_settings.CommonSentences),
    *(attachments.Attachments, credits.Credits, corrections.Corrections, Operation),
)
"""Classes that need an example of every public method."""

ASYNC = ("AsyncDeduplicator.submit", "AsyncDeduplicator.submit_many", "AsyncDeduplicator.marks")
"""Methods with their own examples, because they differ from the methods of `Deduplicator`."""


def public(found: type[Any]) -> Iterator[str]:
    """Yield the public methods and properties of a class, with the name of the class."""
    told_before = {"location", "close"} if found is Operation else set()
    return (f"{found.__name__}.{name}" for name in dir(found) if name[0] != "_" and name not in told_before)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write the reference; return its pages by name."""
    pytest.importorskip("griffe", reason="needs griffelib: scripts/setup dev")
    folder = tmp_path_factory.mktemp("reference") / "pages"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER / "docs_site"))
        script("docs_site/reference.py").Reference().write(folder)
    return {file.stem: file.read_text("utf-8") for file in folder.iterdir()}


def exported(module: str) -> list[str]:
    """Return the public names of a module. Modules for Spark are read as text, and need no Spark."""
    if not module.startswith("dedup.spark"):
        return list(import_module(module).__all__)
    file = ROOT.joinpath(*module.split("."))
    text = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text("utf-8")
    return re.findall(r'"(\w+)"', text.partition("__all__ = ")[2])


@pytest.mark.extra("coverage", "frames", "judging", "scrapy", "spark", "watch")
def test_every_public_name_is_in_the_reference(pages: dict[str, str]) -> None:
    files = [
        file.relative_to(ROOT) for glob in ("[a-z]*.py", "spark/*.py") for file in (ROOT / "dedup").glob(glob)
    ]
    modules = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    modules -= {"dedup.tables"}  # the comments of the database describe these names
    wanted = {f"{module}.{name}" for module in ("dedup", *modules) for name in exported(module)}
    told = set(re.findall(r"^`+\{py:\w+\} ([\w.]+)", "\n".join(pages.values()), re.MULTILINE))
    # Two names need no entry: the first is the same class as `dedup.DedupError`, and the second is a module
    # whose functions have entries.
    assert wanted - told == {"dedup.errors.DedupError", "dedup.frames.figures"}
    assert "dedup.frames.figures.copying" in told
    assert [name for name in wanted & told if f"<{name}>" not in pages["index"]] == []
    assert [name for name in dir(Deduplicator) if name[0] != "_" and name not in told] == []


@pytest.mark.extra("coverage", "frames", "judging", "scrapy", "spark", "watch")
def test_methods_are_shown_with_signature_text_errors_and_example(pages: dict[str, str]) -> None:
    corpus, loop = pages["deduplicator"].split("{py:class} dedup.AsyncDeduplicator(")
    method = corpus.partition("{py:method} submit(")[2].partition("{py:method}")[0]
    assert method.startswith("article: dedup.Article, *, timeout: float | None = None) -> dedup.Verdict\n")
    assert "Store an article, or its new version, and return its verdict." in method
    assert "Raises {py:obj}`InputError <dedup.errors.InputError>`: " in method
    assert ">>> verdict = dd.submit(" in method
    # A method without code of its own is shown as the function that it calls.
    assert "{py:method} vitals(lately: float = 86400.0) -> dedup.Vitals" in corpus
    assert "{py:method} get(source_id: str) -> dedup.MarkedArticle | None\n:async:" in loop
    assert "{py:method} marks(*, status: " in loop
    assert ") -> AsyncGenerator[dedup.MarkRow, None]\n" in loop
    assert "{py:method} vitals(lately: float = 86400.0) -> dedup.Vitals\n:async:" in loop
    told = pages["answers"].partition("{py:class} dedup.Verdict\n")[2].partition("attribute} copy_count")[2]
    assert told.startswith("\n:type: int\n:value: 0\n\nnumber of copies, counted up to 10,000.\n")


@pytest.mark.extra("coverage")
def test_every_method_has_an_example() -> None:
    outlets = plugins.needed("corpus", "outlets", extra="coverage")
    wanted = [name for found in (*CLASSES, outlets) for name in public(found)]
    assert sorted(HEADING.findall(PAGE.read_text("utf-8"))) == sorted([*wanted, *ASYNC])


@pytest.mark.long("dedup", "migrations", "docs/examples/api.md")
@pytest.mark.extra("browse", "coverage", "frames", "judging", "spark")
def test_the_examples_work(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if TEST_SCHEMA:
        pytest.skip("the examples use the default schema")
    monkeypatch.setenv("DEDUP_DATABASE_URL", server.create("dedup_examples"))
    monkeypatch.chdir(tmp_path)
    page = doctest.DocTestParser().get_doctest(PAGE.read_text("utf-8"), {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    done = doctest.DocTestRunner(optionflags=flags, verbose=False).run(page, out=said.append)
    assert done.attempted > 100
    assert done.failed == 0, "".join(said)


def classes() -> Iterator[tuple[ast.ClassDef, list[str]]]:
    """Yield each public class and each subclass of `Answer`, with the lines of the file that defines it.

    Classes of the extra `browse` are left out.
    """
    package = Path(dedup.__file__).parent
    for file in package.rglob("*.py"):
        text = file.read_text("utf-8")
        if "browse" not in file.relative_to(package).parts and ("@dataclass" in text or "TypedDict" in text):
            for node in ast.parse(text).body:
                bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
                if isinstance(node, ast.ClassDef) and ("Answer" in bases or node.name in dedup.__all__):
                    yield node, text.splitlines()


def test_public_classes_describe_their_fields_in_the_docstring() -> None:
    """The fields must be in the docstring: `help` and the reference do not show comments beside fields."""
    wrong, seen = [], 0
    for found, lines in classes():
        fields = [node for node in found.body if isinstance(node, ast.AnnAssign)]
        listed = (ast.get_docstring(found) or "").partition("Attributes:\n")[2]
        told = {name for names in TOLD.findall(listed) for name in names.split(", ")}
        wrong += [f"{found.name}.{name}" for name in told - {ast.unparse(node.target) for node in fields}]
        # The arguments of `_setting` describe the fields of settings.
        if fields and found.name != Settings.__name__:
            seen += 1
            beside = lines[fields[0].lineno - 2 : fields[-1].end_lineno]
            wrong += [f"{found.name}: {line}" for line in beside if re.search(r"(^|\s)#", line)]
    assert seen > 70
    assert wrong == []


def test_help_describes_every_setting() -> None:
    told = (Settings.__doc__ or "").partition("Attributes:\n")[2]
    assert TOLD.findall(told) == list(Settings.__dataclass_fields__)
