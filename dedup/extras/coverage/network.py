"""Write the network of outlets, who reprints whom, for `Deduplicator.export_network`.

An edge leads from the outlet that was first to the outlet with the copies. If times do not tell who was
first, the tie has no direction. CSV calls such a tie `Undirected`. NetworkX reads no graph with both kinds of
edges, so GraphML and GEXF have an edge in each direction instead, whose `times_known` is false.
Formats: GraphML (Brandes et al. 2002, http://graphml.graphdrawing.org) and GEXF 1.3 (https://gexf.net).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from dedup.base.errors import InputError
from dedup.base.printable import guarded, printable
from dedup.db.database import Cursor, Database
from dedup.db.statements import Statements
from dedup.extras.coverage import ResearchExport
from dedup.files.whole import new_file

_sql = Statements("extras/coverage/network")

NODE_FIELDS = {"family": "string", "articles": "long"}  # Fields with their types in GraphML and GEXF
EDGE_FIELDS = {
    "copies": "long",
    "agency_copies": "long",
    "median_delay_seconds": "double",
    "times_known": "boolean",
}

CSV_COLUMNS = ("Source", "Target", "Type", "Weight", *EDGE_FIELDS, "source_family", "target_family")
"""Columns of CSV files; Gephi reads the first four."""


@dataclass(frozen=True, slots=True)
class Node:
    """An outlet, with its owner if known."""

    id: str  # unique in a file; names of outlets may become equal when harmful characters are replaced
    name: str
    family: str | None
    articles: int


@dataclass(frozen=True, slots=True)
class OutletTie:
    """Copies between two outlets; or, if times are unknown, stories that either outlet may have had first."""

    first: Node
    copier: Node
    copies: int
    agency_copies: int  # number of copies with the text of an agency
    median_delay_seconds: float | None
    times_known: bool

    def fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in EDGE_FIELDS}


def export(database: Database, path: Path, *, replace: bool = False) -> ResearchExport:
    """Write the network; see `Deduplicator.export_network`."""
    write = {".graphml": _write_graphml, ".gexf": _write_gexf, ".csv": _write_csv}.get(path.suffix)
    if write is None:
        raise InputError(f"{path}: the name must end with .graphml, .gexf or .csv")
    report = ResearchExport(str(path))
    with database.session() as session, session.transaction(snapshot=True) as cursor:
        nodes = _load_nodes(cursor)
        ties = _load_ties(cursor, nodes)
    with new_file(path, replace=replace) as made, made.open("wb") as file:
        write(file, nodes.values(), ties)
    report.rows = {"outlets": len(nodes), "ties": len(ties)}
    return report


def _load_nodes(cursor: Cursor) -> dict[str, Node]:
    rows = cursor.execute(_sql("nodes")).fetchall()
    return {name: Node(f"n{number}", name, *rest) for number, (name, *rest) in enumerate(rows)}


def _load_ties(cursor: Cursor, nodes: Mapping[str, Node]) -> list[OutletTie]:
    rows = cursor.execute(_sql("ties")).fetchall()
    return [OutletTie(nodes[first], nodes[copier], *rest) for first, copier, *rest in rows]


def _write_csv(file: BinaryIO, _nodes: Iterable[Node], ties: Iterable[OutletTie]) -> None:
    text = TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for tie in ties:
        kind = "Directed" if tie.times_known else "Undirected"
        families = tie.first.family, tie.copier.family
        cells = (tie.first.name, tie.copier.name, kind, tie.copies, *tie.fields().values(), *families)
        writer.writerow(guarded(cell) if isinstance(cell, str) else cell for cell in cells)
    text.detach()


def _edges(ties: Iterable[OutletTie]) -> Iterator[tuple[str, Node, Node, OutletTie]]:
    """Yield id, source, target and tie of each edge: two edges for a tie without a direction."""
    for number, tie in enumerate(ties):
        yield f"e{number}", tie.first, tie.copier, tie
        if not tie.times_known:
            yield f"e{number}r", tie.copier, tie.first, tie


def _written(value: Any) -> str:
    """Return a value as XML text. XML forbids most control characters, so they are replaced."""
    return str(value).lower() if isinstance(value, bool) else printable(str(value))


class _Elements:
    """A writer of XML elements, one per line."""

    def __init__(self, file: BinaryIO) -> None:
        self._out = XMLGenerator(file, "utf-8", short_empty_elements=True)
        self._out.startDocument()

    def _start(self, name: str, attributes: Mapping[str, Any]) -> None:
        self._out.startElement(name, AttributesImpl({key: _written(it) for key, it in attributes.items()}))

    @contextmanager
    def inside(self, name: str, **attributes: Any) -> Iterator[None]:
        self._start(name, attributes)
        self._out.ignorableWhitespace("\n")
        yield
        self._out.endElement(name)
        self._out.ignorableWhitespace("\n")

    def add(self, name: str, text: Any = None, **attributes: Any) -> None:
        self._start(name, attributes)
        if text is not None:
            self._out.characters(_written(text))
        self._out.endElement(name)
        self._out.ignorableWhitespace("\n")


def _write_graphml(file: BinaryIO, nodes: Iterable[Node], ties: Iterable[OutletTie]) -> None:
    elements = _Elements(file)

    def data(values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if value is not None:
                elements.add("data", value, key=name)

    with elements.inside("graphml", xmlns="http://graphml.graphdrawing.org/xmlns"):
        fields = {"node": {"label": "string", **NODE_FIELDS}, "edge": {"weight": "double", **EDGE_FIELDS}}
        for owner, kinds in fields.items():
            for name, kind in kinds.items():
                described = {"id": name, "for": owner, "attr.name": name, "attr.type": kind}
                elements.add("key", **described)
        with elements.inside("graph", edgedefault="directed"):
            for node in nodes:
                with elements.inside("node", id=node.id):
                    data({"label": node.name, "family": node.family, "articles": node.articles})
            for id, source, target, tie in _edges(ties):
                with elements.inside("edge", id=id, source=source.id, target=target.id):
                    data({"weight": float(tie.copies), **tie.fields()})


def _write_gexf(file: BinaryIO, nodes: Iterable[Node], ties: Iterable[OutletTie]) -> None:
    elements = _Elements(file)

    def data(values: Mapping[str, Any]) -> None:
        with elements.inside("attvalues"):
            for name, value in values.items():
                if value is not None:
                    elements.add("attvalue", **{"for": name, "value": value})

    with (
        elements.inside("gexf", xmlns="http://gexf.net/1.3", version="1.3"),
        elements.inside("graph", defaultedgetype="directed", mode="static"),
    ):
        for owner, kinds in {"node": NODE_FIELDS, "edge": EDGE_FIELDS}.items():
            with elements.inside("attributes", **{"class": owner, "mode": "static"}):
                for name, kind in kinds.items():
                    elements.add("attribute", id=name, title=name, type=kind)
        with elements.inside("nodes"):
            for node in nodes:
                with elements.inside("node", id=node.id, label=node.name):
                    data({"family": node.family, "articles": node.articles})
        with elements.inside("edges"):
            for id, source, target, tie in _edges(ties):
                # Gephi merges parallel edges of one kind, so known and unknown directions are two kinds.
                kind = "first known" if tie.times_known else "first unknown"
                ends = {"source": source.id, "target": target.id, "type": "directed", "kind": kind}
                with elements.inside("edge", id=id, weight=float(tie.copies), **ends):
                    data(tie.fields())
