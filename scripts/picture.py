"""Charts of measurements as SVG, with a background of their own. Equal numbers give equal bytes."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure


def save(figure: Figure, file: Path) -> None:
    # Random ids and the time would make every picture another file.
    with rc_context({"svg.hashsalt": "dedup", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
