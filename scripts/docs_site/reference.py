"""Write the pages of the API reference: signature, fields, docstring and example of every public name.

    .venv-docs/bin/python scripts/docs_site/reference.py [FOLDER]

Docstrings are Markdown, except that a block below `Args:`, `Raises:` or `Attributes:` is a list. The examples
are in docs/examples/api.md, and tests/api/test_reference.py runs them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Container, Iterable
from inspect import cleandoc
from pathlib import Path

import griffe
from public import MODULES, ROOT, Entry, Public, is_field

EXAMPLES = ROOT / "docs" / "examples" / "api.md"
PAGES = ROOT / "build" / "docs-site" / "sources" / "docs" / "reference"

EXAMPLE = re.compile(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^(Args|Raises|Attributes):\n((?:    .*\n|\n(?=    ))+)", re.MULTILINE)
ITEM = re.compile(r"^    (\w[\w, ]*): ((?:.*\n)(?:     .*\n|\n(?=     ))*)", re.MULTILINE)
CODE = re.compile(r"(?:\A|(?<=\n\n))((?:    .*\n|\n(?=    ))+)")
NAMED = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)|\b([A-Z]\w+Error)\b")

Lists = dict[str, dict[str, str]]
"""Title of a list in a docstring -> name, or several names with commas -> description."""


def sections(found: griffe.Object | None) -> tuple[str, Lists]:
    """Divide the docstring of an object into its text and its lists."""
    docstring = cleandoc(found.docstring.value) + "\n" if found and found.docstring else ""
    lists = {
        title: {names: " ".join(text.split()) for names, text in ITEM.findall(block)}
        for title, block in SECTION.findall(docstring)
    }
    return SECTION.sub("", docstring).strip(), lists


def directive(kind: str, signature: str, options: dict[str, str], parts: Iterable[str]) -> str:
    """Return an entry of Sphinx' domain for Python, which has an anchor and which the search finds."""
    body = joined(parts)
    fence = "`" * (max(map(len, re.findall(r"`{3,}", body)), default=2) + 1)
    lines = [f"{fence}{{py:{kind}}} {signature}", *(f":{name}: {value}" for name, value in options.items())]
    return "\n".join([*lines, "", body, fence])


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def fenced(found: re.Match[str]) -> str:
    """Return an indented block of code as a fenced block, which names the language."""
    code = cleandoc("\n" + found[1])
    kind = "pycon" if code.startswith(">>>") else "python"
    try:
        ast.parse("" if kind == "pycon" else code)
    except SyntaxError:
        kind = "text"
    return f"```{kind}\n{code}\n```\n\n"


class Reference(Public):
    """The pages of the reference."""

    def __init__(self) -> None:
        super().__init__()
        found = EXAMPLE.findall(EXAMPLES.read_text("utf-8"))
        self._examples = {name: CODE.sub(fenced, f"{text}\n") for name, text in found}
        self._places: dict[str, str] = {}
        """Paths of objects, by the names that docstrings and types use, such as `Operation.grant`."""
        for entry in sorted(self.entries.values(), key=lambda entry: not entry.exported):
            self._places |= {entry.path: entry.path, entry.found.canonical_path: entry.path}
            self._places.setdefault(entry.name, entry.path)
            for member in self.members(entry):
                if not is_field(member):
                    self._places.setdefault(f"{entry.name}.{member.name}", f"{entry.path}.{member.name}")

    def write(self, folder: Path) -> None:
        """Write the pages into a new folder."""
        folder.mkdir(parents=True)
        public = [entry for entry in self.modules["dedup"] if not entry.is_based_on("DedupError")]
        main = [entry for entry in public if entry.name.endswith("Deduplicator")]
        reached = [entry for entry in self.entries.values() if not entry.exported]
        parts = [entry for entry in reached if entry.is_based_on("OfCorpus")]
        types = sorted(set(reached) - set(parts), key=lambda entry: entry.name)
        values = [entry for entry in public if entry not in main]
        pages = {
            name: self._page(title, about, entries)
            for name, title, about, entries in (
                ("deduplicator", "Deduplicator", "[All examples](../examples/api.md), in order.", main[::-1]),
                ("parts", "Parts of a Deduplicator", "They are properties of a `Deduplicator`.", parts),
                ("answers", "Articles and answers", "Every answer has the methods of `Answer`.", values),
                ("types", "Further types", "Types of fields and parameters of other classes.", types),
            )
        }
        for name in MODULES[1:]:
            about = cleandoc(self.module(name).docstring.value)
            entries = [self.entries[entry.found.canonical_path] for entry in self.modules[name]]
            pages[name.removeprefix("dedup.")] = self._page(name, about, entries)
        pages["index"] = joined([self._index(), "```{toctree}\n:hidden:\n", *pages]) + "\n```\n"
        for name, page in pages.items():
            (folder / f"{name}.md").write_text(page, "utf-8")

    def _page(self, title: str, about: str, entries: Iterable[Entry]) -> str:
        return joined([f"# {title}", self._prose(about), *map(self._entry, entries)]) + "\n"

    def _index(self) -> str:
        """Return the page with a line for each public name, by module."""
        parts = [
            "# API reference",
            "Public names of the Python package, with the texts of `help()`. `dedup.tables` is left out:"
            " comments in the database describe its columns.",
        ]
        for module, entries in self.modules.items():
            known = [self.entries[entry.found.canonical_path] for entry in entries]
            rows = [f"| {self._link(entry.name, entry.path)} | {self._summary(entry)} |" for entry in known]
            parts += [f"## {module}", "\n".join(["| name | what it is |", "|---|---|", *rows])]
        return joined(parts)

    def _summary(self, entry: Entry) -> str:
        """Return the first sentence of a docstring."""
        paragraph = " ".join(sections(entry.found)[0].partition("\n\n")[0].split())
        return self._prose(re.split(r"(?<=[.]) ", paragraph)[0]).replace("|", r"\|")

    def _entry(self, entry: Entry) -> str:
        """Return the entry of an object, with its docstring, fields and methods."""
        if entry.found.is_function:
            return self._function(entry.found, entry, "function", entry.path)
        if entry.found.is_attribute:
            kind, option = ("data", "value") if entry.exported else ("type", "canonical")
            value = {option: self._type(entry.found.value)}
            return directive(kind, entry.path, value, [self._prose(sections(entry.found)[0])])
        text, lists = sections(entry.found)
        initial, more = sections(entry.found.members.get("__init__"))
        bases = [
            self._link(name, self._places[name])
            for name in map(str, entry.found.bases)
            if name in self._places
        ]
        parts = [
            *(self._prose(paragraphs, entry.path) for paragraphs in (text, initial)),
            f"Based on {', '.join(bases)}." if bases else "",
            *self._lists({**more, **lists}, entry.path),
            *(self._member(member, entry, lists) for member in self.members(entry)),
        ]
        kind = "exception" if entry.is_based_on("DedupError") else "class"
        is_other = entry.path != entry.found.canonical_path
        canonical = {"canonical": entry.found.canonical_path} if is_other else {}
        return directive(kind, f"{entry.path}{self._initial(entry)}", canonical, parts)

    def _initial(self, entry: Entry) -> str:
        """Return the parameters of a class that users construct; "" for `Settings` and kinds of `Answer`,
        whose fields are in the entry."""
        is_made = entry.exported and "__init__" in entry.found.members
        if not is_made or (entry.is_data and entry.is_based_on("Answer", "Settings")):
            return ""
        return self._parameters(entry.found.parameters, bound=True)

    def _member(self, member: griffe.Object, entry: Entry, lists: Lists) -> str:
        """Return a field, a property or a method."""
        if member.is_function:
            return self._function(member, entry, "method", member.name)
        options = {"type": self._type(member.annotation)} if member.annotation else {}
        if not is_field(member):
            parts = [self._prose(sections(member)[0], entry.path), self._example(entry, member)]
            return directive("property", member.name, options, parts)
        told = {
            name: text for names, text in lists.get("Attributes", {}).items() for name in names.split(", ")
        }
        text, value = told.get(member.name, ""), member.value
        if isinstance(value, griffe.ExprCall) and str(value.function) == "_setting":
            text, value = ast.literal_eval(str(value.arguments[2])), value.arguments[0]
        if value is not None and not isinstance(value, griffe.ExprCall):
            options["value"] = self._value(value)
        return directive("attribute", member.name, options, [self._prose(text, entry.path)])

    def _function(self, found: griffe.Object, entry: Entry, kind: str, name: str) -> str:
        text, lists = sections(found)
        returns = f" -> {self._type(found.returns)}" if found.returns else ""
        bound = kind == "method" and "staticmethod" not in found.labels
        flags = [flag for flag in ("staticmethod", "classmethod", "async") if flag in found.labels]
        parts = [
            self._prose(text, entry.path, found.parameters),
            *self._lists(lists, entry.path, found.parameters),
            self._example(entry, found) if kind == "method" else "",
        ]
        signature = f"{name}{self._parameters(found.parameters, bound=bound)}{returns}"
        return directive(kind, signature, dict.fromkeys(flags, ""), parts)

    def _example(self, entry: Entry, member: griffe.Object) -> str:
        return self._examples.get(f"{entry.name}.{member.name}", "").strip()

    def _parameters(self, parameters: griffe.Parameters, *, bound: bool) -> str:
        """Return the parameters. `bound`: leave out the first parameter, such as `self`."""
        written: list[str] = []
        kinds = griffe.ParameterKind
        for parameter in list(parameters)[bound:]:
            if parameter.kind is kinds.keyword_only and not any(one[0] == "*" for one in written):
                written.append("*")
            stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(parameter.kind, "")
            typed = f": {self._type(parameter.annotation)}" if parameter.annotation else ""
            default = "" if parameter.default is None or stars else f" = {self._value(parameter.default)}"
            written.append(f"{stars}{parameter.name}{typed}{default}")
        return f"({', '.join(written)})"

    def _value(self, value: object) -> str:
        """Return a default as text. If the default is a constant with a number or a text, return the
        constant's value instead of its name."""
        found = self.resolve(value.canonical_path) if isinstance(value, griffe.ExprName) else None
        return found.value if found and isinstance(getattr(found, "value", None), str) else str(value)

    def _type(self, expression: object) -> str:
        """Return a type as text. Objects with entries appear as their paths, other objects as short names."""
        if isinstance(expression, griffe.ExprName | griffe.ExprAttribute):
            found = self.resolve(expression.canonical_path)
            return self._places.get(found.canonical_path if found else "", str(expression).rpartition(".")[2])
        if isinstance(expression, griffe.Expr):
            return "".join(map(self._type, expression.iterate(flat=False)))
        return str(expression)

    def _lists(self, lists: Lists, owner: str, without: Container[str] = ()) -> list[str]:
        """Return the parameters and the errors as lists."""
        found = []
        for title, head in (("Args", "Parameters"), ("Raises", "Raises")):
            items = [
                f"- {self._prose(names) if title == 'Raises' else f'**{names}**'}:"
                f" {self._prose(text, owner, without)}"
                for names, text in lists.get(title, {}).items()
            ]
            found.append(joined([f"{head}:", "\n".join(items)]) if items else "")
        return found

    def _prose(self, text: str, owner: str = "", without: Container[str] = ()) -> str:
        """Return a text with code as blocks, and with links from names that are not in `without`."""

        def link(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            places = [f"{owner.rpartition('.')[2]}.{name}"] if name not in without else []
            # Link a name in lower case only to a member of the class: it may be any word, such as `watch`.
            places += [name] if name[0].isupper() or "." in name else []
            path = next((self._places[place] for place in places if place in self._places), owner)
            return found[0] if path == owner else self._link(name, path)

        blocks = re.split(r"(^```.*?^```$)", CODE.sub(fenced, f"{text}\n"), flags=re.MULTILINE | re.DOTALL)
        blocks = [block if block.startswith("```") else NAMED.sub(link, block) for block in blocks]
        return re.sub(r"\n{3,}", "\n\n", "".join(blocks)).strip()

    def _link(self, name: str, path: str) -> str:
        return f"{{py:obj}}`{name} <{path}>`"


if __name__ == "__main__":
    Reference().write(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
