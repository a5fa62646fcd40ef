"""`dedup export panel` and `dedup export network`: figures of outlets over time, and a reprint network."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pyarrow.parquet
import pytest

from dedup import Article, Deduplicator
from dedup.base.errors import InputError
from dedup.db.database import Database
from tests.cli.conftest import Dedup, dedup
from tests.corpora import text, window

pytestmark = pytest.mark.long("dedup", "migrations")

__all__ = ["dedup"]

HOSTILE = 'Evil "<&>\x1b\ufffe\n=1+1'
STORIES = [text(window(20 * number, 6, ring=1_000)) for number in range(6)]


def printed(
    name: str, story: int, publication: str | None, when: datetime | None, byline: str | None = None
) -> Article:
    """Return an article that prints one of the stories."""
    return Article(name, STORIES[story], publication=publication, published_at=when, byline=byline)


def march(day: int, hour: int = 8) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


@pytest.fixture
def corpus(database: Database) -> Iterator[Deduplicator]:
    """A corpus of the stories 0 to 4, and of an article without text.

    Wire has stories 0, 1 and 2; a hostile outlet has story 3; story 4 has no outlet.
    Wire credits story 1 to the AP. Herald copies story 0 after 2 hours and story 1 after 4. `Herald Online`,
    an alias of Herald, copies story 0. The hostile outlet and Wire share story 2 without known times. One
    article is of April.
    """
    with database.transaction() as cursor:
        cursor.execute(
            b"INSERT INTO dedup.outlet (name, family) VALUES ('Herald', 'Holding'), ('Wire', NULL)"
        )
        cursor.execute(b"INSERT INTO dedup.outlet (name, alias_of) VALUES ('Herald Online', 'Herald')")
    with Deduplicator(database.url) as dd:
        dd.load(
            [
                printed("w0", 0, "Wire", march(1)),
                printed("h0", 0, "Herald", march(1, 10)),
                printed("o0", 0, "Herald Online", march(1, 11)),
                printed("w1", 1, "Wire", march(2), "Associated Press"),
                printed("h1", 1, "Herald", march(2, 12)),
                printed("w2", 2, "Wire", None),
                printed("e2", 2, HOSTILE, None),
                printed("e3", 3, HOSTILE, datetime(2026, 4, 1, 9, tzinfo=UTC)),
                printed("n4", 4, None, march(5)),
                Article("empty", "", publication="Wire", published_at=march(6)),
            ]
        )
        dd.backfill(workers=0)
        yield dd
    with database.transaction() as cursor:
        cursor.execute(b"DELETE FROM dedup.outlet")


def panel(corpus: Deduplicator, folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    file = folder / "panel.csv"
    corpus.export_panel(file)
    with file.open(encoding="utf-8", newline="") as opened:
        return {(row["month"], row["outlet"]): row for row in csv.DictReader(opened)}


def test_the_panel_has_each_outlet_by_month_and_its_undated_articles(
    corpus: Deduplicator, tmp_path: Path
) -> None:
    found = panel(corpus, tmp_path)
    evil = next(outlet for _, outlet in found if outlet.startswith("Evil"))
    assert set(found) == {
        *(("2026-03-01", "Wire"), ("2026-03-01", "Herald"), ("2026-03-01", "")),
        *(("2026-04-01", evil), ("", "Wire"), ("", evil)),
    }
    counts = ("articles", "own", "copied", "agency", "first_unknown", "not_compared")
    by_outlet = {key: [int(row[name]) for name in counts] for key, row in found.items()}
    assert by_outlet["2026-03-01", "Wire"] == [3, 1, 0, 1, 0, 1]
    assert by_outlet["2026-03-01", "Herald"] == [3, 0, 2, 1, 0, 0]
    assert by_outlet["", "Wire"] == [1, 0, 0, 0, 1, 0]
    for articles, *parts in by_outlet.values():
        assert articles == sum(parts)
    assert found["2026-03-01", "Herald"]["family"] == "Holding"
    assert [found["", "Wire"]["times_known"], found["2026-03-01", "Wire"]["times_known"]] == ["False", "True"]


def test_diversity_is_the_effective_number_of_origins(corpus: Deduplicator, tmp_path: Path) -> None:
    found = panel(corpus, tmp_path)
    assert float(found["2026-03-01", "Wire"]["diversity"]) == 2  # Wire itself, and the AP
    # Herald prints two articles from Wire and one from the AP: 1 / ((2/3)² + (1/3)²).
    assert float(found["2026-03-01", "Herald"]["diversity"]) == pytest.approx(9 / 5)
    assert float(found["2026-03-01", ""]["diversity"]) == 1


def test_a_parquet_panel_has_the_same_rows_with_types(corpus: Deduplicator, tmp_path: Path) -> None:
    report = corpus.export_panel(tmp_path / "panel.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "panel.parquet")
    assert report.rows == {"panel": found.num_rows} == {"panel": 6}
    assert str(found.schema.field("month").type) == "date32[day]"
    rows = {(str(row["month"] or ""), row["outlet"]): row for row in found.to_pylist()}
    assert rows["2026-03-01", "Wire"]["articles"] == 3
    assert rows["", HOSTILE]["first_unknown"] == 1  # Parquet files keep names unchanged


@pytest.mark.extra("frames")
def test_frames_have_the_rows_of_files_and_answers(corpus: Deduplicator, tmp_path: Path) -> None:
    from dedup import frames

    corpus.export_panel(tmp_path / "panel.parquet")
    file = pyarrow.parquet.read_table(tmp_path / "panel.parquet")
    assert frames.panel(corpus).cast(file.schema).equals(file)  # months are dates in files, times in frames
    assert frames.panel(corpus._database.url).num_rows == 6
    assert frames.network(corpus).to_pylist() == [
        {
            **{"original_outlet": "Wire", "outlet": HOSTILE, "copies": 1, "agency_copies": 0},
            **{"median_delay_seconds": None, "times_known": False},
        },
        {
            **{"original_outlet": "Wire", "outlet": "Herald", "copies": 3, "agency_copies": 1},
            **{"median_delay_seconds": 3.0 * 3600, "times_known": True},
        },
    ]
    assert frames.credits(corpus).to_pylist() == [one.as_dict() for one in corpus.credits.publications()]
    found = frames.origins(corpus, publication="Herald").to_pylist()
    assert found == [one.as_dict() for one in corpus.origins(publication="Herald").origins]
    assert {row["name"] for row in found} == {"Wire", "AP"}
    assert frames.origins(corpus, limit=1).num_rows == 1 < frames.origins(corpus).num_rows


def ties(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the edges that NetworkX reads from a file, by the names of the outlets."""
    graph = (nx.read_gexf if file.suffix == ".gexf" else nx.read_graphml)(file)
    assert isinstance(graph, nx.DiGraph)
    label = graph.nodes(data="label")
    return {(label[a], label[b]): values for a, b, values in graph.edges(data=True)}


@pytest.mark.parametrize("name", ["outlets.gexf", "outlets.graphml"])
def test_networkx_opens_the_network(corpus: Deduplicator, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    report = corpus.export_network(file)
    assert report.rows == {"outlets": 3, "ties": 2}
    found = ties(file)
    evil = next(label for _, label in found if label.startswith("Evil"))
    assert set(found) == {("Wire", "Herald"), ("Wire", evil), (evil, "Wire")}
    known = found["Wire", "Herald"]
    assert (known["copies"], known["agency_copies"], known["times_known"]) == (3, 1, True)
    assert known["median_delay_seconds"] == 3 * 3600
    assert known["weight"] == 3
    for pair in (("Wire", evil), (evil, "Wire")):
        assert (found[pair]["copies"], found[pair]["times_known"]) == (1, False)
        assert "median_delay_seconds" not in found[pair]


@pytest.mark.parametrize("name", ["outlets.gexf", "outlets.graphml"])
def test_nodes_have_their_owner_and_articles(corpus: Deduplicator, tmp_path: Path, name: str) -> None:
    corpus.export_network(tmp_path / name)
    graph = (nx.read_gexf if name.endswith("gexf") else nx.read_graphml)(tmp_path / name)
    found = {values["label"]: values for _, values in graph.nodes(data=True)}
    assert (found["Herald"]["family"], found["Herald"]["articles"]) == ("Holding", 3)
    assert "family" not in found["Wire"]
    (evil,) = found.keys() - {"Herald", "Wire"}
    assert evil == 'Evil "<&>\ufffd\ufffd =1+1'


def test_a_gexf_file_is_what_the_reader_of_gephi_accepts(corpus: Deduplicator, tmp_path: Path) -> None:
    corpus.export_network(tmp_path / "outlets.gexf")
    root = ElementTree.parse(tmp_path / "outlets.gexf").getroot()
    gexf = "{http://gexf.net/1.3}"
    assert (root.tag, root.get("version")) == (f"{gexf}gexf", "1.3")
    (graph,) = root
    assert (graph.get("defaultedgetype"), graph.get("mode")) == ("directed", "static")
    columns = {group.get("class"): {a.get("id"): a.get("type") for a in group} for group in graph[:2]}
    assert set(columns) == {"node", "edge"}
    types = {kind for group in columns.values() for kind in group.values()}
    assert types <= {"string", "long", "double", "boolean"}  # types that GEXF 1.3 defines
    ids = [node.get("id") for node in graph.iter(f"{gexf}node")]
    edges = list(graph.iter(f"{gexf}edge"))
    assert len(set(ids)) == len(ids)
    assert len({edge.get("id") for edge in edges}) == len(edges) == 3
    for edge in edges:
        assert edge.get("source") in ids
        assert edge.get("target") in ids
        assert edge.get("source") != edge.get("target")
        assert edge.get("type") == "directed"
        assert {value.get("for") for value in edge.iter(f"{gexf}attvalue")} <= columns["edge"].keys()
    # Gephi merges parallel edges of the same kind, so there must be none.
    ends = [(edge.get("source"), edge.get("target"), edge.get("kind")) for edge in edges]
    assert len(set(ends)) == len(ends)


def test_a_csv_says_which_ties_have_no_direction(corpus: Deduplicator, tmp_path: Path) -> None:
    corpus.export_network(tmp_path / "outlets.csv")
    with (tmp_path / "outlets.csv").open(encoding="utf-8", newline="") as opened:
        found = {row["Type"]: row for row in csv.DictReader(opened)}
    directed, undirected = found["Directed"], found["Undirected"]
    assert (directed["Source"], directed["Target"], directed["Weight"]) == ("Wire", "Herald", "3")
    assert (directed["target_family"], directed["times_known"]) == ("Holding", "True")
    assert {undirected["Source"], undirected["Target"]} == {"Wire", 'Evil "<&>\ufffd\ufffd =1+1'}
    assert (undirected["median_delay_seconds"], undirected["times_known"]) == ("", "False")


def test_a_name_that_a_spreadsheet_would_run_is_guarded(database: Database, tmp_path: Path) -> None:
    with Deduplicator(database.url) as dd:
        dd.load([printed("a", 0, "=HYPERLINK()", march(1)), printed("b", 0, "Wire", march(2))])
        dd.backfill(workers=0)
        dd.export_network(tmp_path / "n.csv")
        dd.export_panel(tmp_path / "p.csv")
    for name in ("n.csv", "p.csv"):
        assert "'=HYPERLINK()" in (tmp_path / name).read_text("utf-8")


def test_a_tie_in_both_ways_and_one_without_a_direction_are_three_edges(
    database: Database, tmp_path: Path
) -> None:
    with Deduplicator(database.url) as dd:
        dd.load(
            [
                *(printed("w0", 0, "Wire", march(1)), printed("h0", 0, "Herald", march(2))),
                *(printed("h1", 1, "Herald", march(3)), printed("w1", 1, "Wire", march(4))),
                *(printed("w2", 2, "Wire", None), printed("h2", 2, "Herald", None)),
            ]
        )
        dd.backfill(workers=0)
        dd.export_network(tmp_path / "n.gexf")
    graph = nx.read_gexf(tmp_path / "n.gexf")
    label = graph.nodes(data="label")
    found = sorted((label[a], label[b], tie["times_known"]) for a, b, tie in graph.edges(data=True))
    assert found == [
        *(("Herald", "Wire", False), ("Herald", "Wire", True)),
        *(("Wire", "Herald", False), ("Wire", "Herald", True)),
    ]


def test_an_empty_corpus_is_a_network_without_nodes(database: Database, tmp_path: Path) -> None:
    with Deduplicator(database.url) as dd:
        for name in ("n.gexf", "n.graphml"):
            assert dd.export_network(tmp_path / name).rows == {"outlets": 0, "ties": 0}
            graph = (nx.read_gexf if name.endswith("gexf") else nx.read_graphml)(tmp_path / name)
            assert len(graph) == 0
        assert dd.export_panel(tmp_path / "p.csv").rows == {"panel": 0}


def test_the_commands_say_what_they_wrote(corpus: Deduplicator, dedup: Dedup, tmp_path: Path) -> None:
    done = dedup("export", "network", "outlets.gexf")
    assert (done.code, done.out) == (0, "")
    assert "wrote outlets.gexf; rows: outlets 3, ties 2" in done.err
    assert json.loads(dedup("export", "panel", "p.csv", "--json").out) == {
        "file": "p.csv",
        "rows": {"panel": 6},
    }
    again = dedup("export", "panel", "p.csv")
    assert again.code != 0
    assert "p.csv exists; give another name, or --force to replace it" in again.err
    (tmp_path / "p.csv").write_text("older")
    for kind, name in (("panel", "p.csv"), ("network", "outlets.gexf")):
        assert dedup("export", kind, name, "--force").code == 0
    assert (tmp_path / "p.csv").read_text().startswith("month,")
    for kind, name in (("panel", "p.xlsx"), ("network", "n.dot")):
        refused = dedup("export", kind, name)
        assert "the name must end with" in refused.err
    assert {path.name for path in tmp_path.iterdir()} >= {"outlets.gexf", "p.csv"}
    with pytest.raises(InputError, match="cannot be written"):
        corpus.export_network(tmp_path / "none" / "n.gexf")
