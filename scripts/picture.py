"""Charts of measurements as SVG: the same bytes for the same numbers, on a ground of their own.

A page, light or dark, shows them as they are.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure


def save(figure: Figure, file: Path) -> None:
    # Ids that are drawn by chance and the hour would make each picture another file.
    with rc_context({"svg.hashsalt": "dedup", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
