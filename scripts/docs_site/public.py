"""Find the public names of the package in its source code, without importing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[2]

MODULES = (
    *("dedup", "dedup.errors", "dedup.server", "dedup.worker", "dedup.operation", "dedup.metrics"),
    *("dedup.watch", "dedup.scrapy", "dedup.spooling", "dedup.frames", "dedup.spark", "dedup.spark.reading"),
)
"""The modules with public names, in the order of their pages."""

UNTOLD = (
    *("dedup.db.", "dedup.extras.browse.", "dedup.files.rejects."),
    *("dedup.store.bookkeeping.", "dedup.store.snapshots."),
)
"""Packages with classes that get no entry: connections, questions of pages, and internal parts of reports."""

BASES = ("dedup.api.OfCorpus", "dedup.api.OpenCorpus", "dedup.api.questions.Questions")
"""Classes without an entry; their methods are in the entries of their derived classes."""


@dataclass(frozen=True)
class Entry:
    """A public object. `path`: its name for an import, or else the name under which it is defined."""

    path: str
    found: griffe.Object
    exported: bool = True

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def is_data(self) -> bool:
        return "dataclass" in self.found.labels

    def is_based_on(self, *names: str) -> bool:
        return self.found.is_class and any(base.name in names for base in [self.found, *self.found.mro()])


class Public:
    """The names that modules export, and the classes and types of dedup in their signatures and fields.

    Attributes:
        modules: the objects that each module exports.
        entries: all public objects, by the name under which they are defined.
    """

    def __init__(self) -> None:
        self._package = griffe.load("dedup", search_paths=[str(ROOT)], allow_inspection=False)
        self.modules = {name: list(self._exported(name)) for name in MODULES}
        self.entries: dict[str, Entry] = {}
        waiting = [entry for entries in self.modules.values() for entry in entries]
        while waiting:
            entry = waiting.pop(0)
            if entry.found.canonical_path not in self.entries:
                self.entries[entry.found.canonical_path] = entry
                waiting += self._needed(entry)

    def module(self, name: str) -> griffe.Module:
        return self._package if name == "dedup" else self._package[name.removeprefix("dedup.")]

    def resolve(self, path: str) -> griffe.Object | None:
        """Return the object of a dotted name of the package; None for a name of another package."""
        if not path.startswith("dedup."):
            return None
        found = self._package[path.removeprefix("dedup.")]
        return found.final_target if isinstance(found, griffe.Alias) else found

    def _exported(self, name: str) -> Iterator[Entry]:
        for member in self.module(name).members.values():
            known = member.is_alias and member.name != "of_extra" and not member.name.startswith("_")
            if not known or not (found := self.resolve(member.target_path)):
                continue
            if not found.is_module:
                yield Entry(f"{name}.{member.name}", found)
                continue
            for part in found.members.values():
                if not part.is_alias and (part.is_function or part.is_class) and part.name[0] != "_":
                    yield Entry(f"{name}.{member.name}.{part.name}", part)

    def _needed(self, entry: Entry) -> Iterator[Entry]:
        """Yield the classes and types that an entry names."""
        told = [found for member in self.members(entry) for found in _types(member)]
        told += [entry.found.value] if entry.found.is_attribute else _types(entry.found)
        for path in (path for expression in told for path in _names(expression)):
            found = None if path.startswith(UNTOLD) or path in BASES else self.resolve(path)
            if found and (
                found.is_class or (found.is_attribute and not isinstance(found.value, griffe.ExprCall))
            ):
                yield Entry(found.canonical_path, found, exported=False)

    def members(self, entry: Entry) -> list[griffe.Object]:
        """Return the public fields, then the properties and methods of a class and of its `BASES`."""
        if not entry.found.is_class:
            return []
        owners = [entry.found, *(base for base in entry.found.mro() if base.canonical_path in BASES)]
        found = {name: member for owner in reversed(owners) for name, member in owner.members.items()}
        names = dict.fromkeys(name for owner in owners for name in owner.members if not name.startswith("_"))
        listed = [self._behind(found[name]) for name in names]
        fields = [member for member in listed if is_field(member)]
        if entry.is_data and not entry.exported:
            return fields
        methods = [member for member in listed if member not in fields]
        # A method of a dataclass is internal if the method has no docstring.
        return [*fields, *(method for method in methods if method.docstring or not entry.is_data)]

    def _behind(self, member: griffe.Object | griffe.Alias) -> griffe.Object:
        """Return a method. If it runs a function in a transaction or a thread, use that function's signature
        and docstring."""
        if isinstance(member, griffe.Alias):
            member = member.final_target
        value = getattr(member, "value", None)
        made = str(value.function) if isinstance(value, griffe.ExprCall) else ""
        if made not in ("transacted", "_threaded", "_streamed"):
            return member
        assert value
        # Look up `first`, such as an imported module, in the module and not in the class, which may have a
        # method with the same name.
        first, _, rest = str(value.arguments[0]).partition(".")
        work = self.resolve(f"{member.module.resolve(first)}.{rest}".rstrip("."))
        assert work
        work, returns = self._behind(work), None
        if made == "_streamed":
            assert isinstance(work.returns, griffe.ExprSubscript)
            given = griffe.ExprTuple([work.returns.slice, "None"], implicit=True)
            returns = griffe.ExprSubscript("AsyncGenerator", given)
        found = griffe.Function(
            member.name, parameters=work.parameters, returns=returns or work.returns, parent=member.parent
        )
        found.docstring, found.labels = work.docstring, {"async"} if made == "_threaded" else set()
        return found


def is_field(member: griffe.Object) -> bool:
    return bool(member.is_attribute) and "property" not in member.labels


def _types(found: griffe.Object) -> list[object]:
    """Return the type annotations and the base classes of a class, function or attribute."""
    given = [parameter.annotation for parameter in getattr(found, "parameters", ())]
    if found.is_class:
        return [*found.bases, *given]
    return [found.returns, *given] if found.is_function else [found.annotation]


def _names(expression: object) -> Iterator[str]:
    """Yield the full names in an expression."""
    if isinstance(expression, griffe.ExprName | griffe.ExprAttribute):
        yield expression.canonical_path
    elif isinstance(expression, griffe.Expr):
        for part in expression.iterate(flat=False):
            yield from _names(part)
