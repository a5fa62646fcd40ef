"""Plain words: docstrings and SQL comments begin with a verb or name the thing, and comments say why."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TREES = ("dedup", "tests", "scripts")
FUNCTION_WORDS = re.compile(
    r"""
    what|of|where|who|whom|whose|which|when|while|how|why|whoever|whatever|wherever|whichever
    |that|those|these|this|such|it|its|they|their|them|ones?
    |all|each|every|both|none|no|not|nothing|neither|either|else|otherwise
    |as|by|with|without|for|from|to|in|on|at|than|before|after|until|since|if|unless|whether|so
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Words that open a docstring which has to be read twice."""
ELLIPTIC = re.compile(
    r"""
    \b(?:what|who|whom|whose|whoever|whatever)\ (?:is|are|was|were|has|have|had|does|do|did|says|said|comes
        |came|stands|stood|goes|went|asks|waits|holds|keeps|can|could|may|must|makes|made|takes|took)\b
    | \b(?:those|that|the\ ones?|none|such)\ (?:of|that|which|who)\b
    | ,\ n?either\b | \b(?:is|are)\ none\b | \bof\ its\ own\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Turns of phrase that leave the subject of a sentence to be guessed."""

MOST_OPENINGS = 0.03
MOST_ELLIPTIC = 0.005
MOST_REPEATED_CLASSES = 2
LEAST_COMMENTS = 0.015
"""Minimum share of lines in the core that hold only a comment."""


@cache  # three tests read each module, and parsing takes most of their time
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, without their expressions, which `ast.walk` yields too."""
    yield node
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for inner in getattr(node, name, ()):
            yield from statements(inner)


def docstrings(module: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, its classes, functions, constants and fields."""
    for node in statements(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                yield text
            for before, after in zip(node.body, node.body[1:], strict=False):
                match before, after:
                    case (ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(text)))):
                        yield text


def sql_comments(source: str) -> Iterator[str]:
    """Yield the comments of an SQL file: adjacent lines are one comment, names of statements are skipped."""
    block: list[str] = []
    for line in [*source.splitlines(), ""]:
        text = line.strip()
        if text.startswith("--") and not re.match(r"--\s*name:", text):
            block.append(text.removeprefix("--").strip())
        elif block:
            yield " ".join(block)
            block = []


def opens_with_function_word(text: str) -> bool:
    first = re.match(r"[\W_]*([A-Za-z']+)", text)
    return bool(first and FUNCTION_WORDS.fullmatch(first[1]))


def is_elliptic(text: str) -> bool:
    return bool(ELLIPTIC.search(text.partition("\n\n")[0]))


@cache
def texts(tree: str) -> list[tuple[Path, str]]:
    """Return the docstrings of a tree with their files; `sql` stands for the comments of SQL files."""
    if tree == "sql":
        files = sorted(file for part in TREES for file in (ROOT / part).rglob("*.sql"))
        files = [file for file in files if "landed" not in file.parts]  # files in `landed` never change
        return [(file, text) for file in files for text in sql_comments(file.read_text("utf-8"))]
    files = sorted((ROOT / tree).rglob("*.py"))
    return [(file, text) for file in files for text in docstrings(parsed(file))]


def shown(found: list[tuple[Path, str]]) -> str:
    return "\n".join(f"{file.relative_to(ROOT)}: {text.splitlines()[0]}" for file, text in found)


@pytest.mark.parametrize("tree", [*TREES, "sql"])
def test_texts_open_with_a_verb_or_the_thing(tree: str) -> None:
    said = texts(tree)
    wrong = [(file, text) for file, text in said if opens_with_function_word(text)]
    assert len(wrong) <= MOST_OPENINGS * len(said), shown(wrong)


@pytest.mark.parametrize("tree", [*TREES, "sql"])
def test_first_paragraphs_name_their_subjects(tree: str) -> None:
    said = texts(tree)
    wrong = [(file, text) for file, text in said if is_elliptic(text)]
    assert len(wrong) <= MOST_ELLIPTIC * len(said), shown(wrong)


@pytest.mark.parametrize("tree", TREES)
def test_class_names_are_not_repeated(tree: str) -> None:
    names = Counter(
        node.name
        for file in (ROOT / tree).rglob("*.py")
        for node in parsed(file).body
        if isinstance(node, ast.ClassDef)
    )
    repeated = [name for name, times in names.items() if times > 1]
    assert len(repeated) <= MOST_REPEATED_CLASSES, repeated


def test_the_core_has_comments_on_lines_of_their_own() -> None:
    lines = comments = 0
    for file in (ROOT / "dedup").rglob("*.py"):
        if "extras" in file.relative_to(ROOT).parts:
            continue
        with file.open("rb") as source:
            tokens = [token for token in tokenize.tokenize(source.readline) if token.type == tokenize.COMMENT]
        comments += sum(token.line.lstrip().startswith("#") for token in tokens)
        lines += len(file.read_text("utf-8").splitlines())
    assert comments >= LEAST_COMMENTS * lines, f"{comments} comments in {lines} lines"


@pytest.mark.parametrize(
    ("text", "opens", "elliptic"),
    [
        ("Return the articles of a story.", False, False),
        ("What C is held to.", True, False),
        ("Those of a row.", True, True),
        ("Articles, and who is first.", False, True),
        ("Skip pairs.\n\nWhat is left is compared.", False, False),
    ],
)
def test_texts_are_judged(text: str, opens: bool, elliptic: bool) -> None:
    assert (opens_with_function_word(text), is_elliptic(text)) == (opens, elliptic)


def test_docstrings_and_comments_are_found() -> None:
    source = '"""A module."""\nX = 1\n"""A constant."""\ndef f():\n    """Do it."""\n'
    assert sorted(docstrings(ast.parse(source))) == ["A constant.", "A module.", "Do it."]
    statements = "-- Read\n-- all.\n-- name: x\nSELECT 1 -- no\n-- End."
    assert list(sql_comments(statements)) == ["Read all.", "End."]
