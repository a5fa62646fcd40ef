"""Commands `dedup export panel` and `dedup export network`: outlets over time, and who reprints whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from dedup.cli import output
from dedup.cli.shared import ForceOption, JsonOption, corpus, refuse_existing
from dedup.extras.coverage import ResearchExport


def panel(
    file: Annotated[Path, Argument(metavar="FILE", help="File, NAME.csv or NAME.parquet.")],
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write a row per outlet and month: numbers of own articles, copies and agency copy; and the diversity.

    The month is the month of publication, in UTC. Articles without a known time of publication are in a row
    without a month. `own`, `copied`, `agency`, `first_unknown` and `not_compared` add up to `articles`.
    `diversity` is the effective number of origins (inverse Simpson index). An alias (`dedup outlets`) counts
    as its outlet. A Parquet file needs the extra `parquet`.

    **Example**

        dedup export panel panel.csv
    """
    refuse_existing(file, force=force)
    with corpus() as dd:
        _tell(dd.export_panel(file, replace=force), json)


def network(
    file: Annotated[Path, Argument(metavar="FILE", help="File, NAME.graphml, .gexf or .csv.")],
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write the network of outlets, for Gephi or NetworkX: who reprints whom, how often and how fast.

    An edge leads from the outlet that was first to the outlet with the copies. It has the number of copies,
    the number of copies of an agency's text, and the median delay in seconds. If times do not tell which
    outlet was first, the edge has no direction: CSV has one row of the type `Undirected`; GraphML and GEXF
    have an edge in each direction, with `times_known` false. Copies within an outlet and its aliases are left
    out.

    **Examples**

        dedup export network outlets.gexf

        dedup export network outlets.graphml
    """
    refuse_existing(file, force=force)
    with corpus() as dd:
        _tell(dd.export_network(file, replace=force), json)


def _tell(report: ResearchExport, json: bool) -> None:
    if json:
        output.write_json(report.as_dict())
        return
    rows = ", ".join(f"{name} {count:,}" for name, count in report.rows.items())
    output.say(f"wrote {report.file}; rows: {rows}")
