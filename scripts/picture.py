"""Write charts of measurements as SVG with a background. Equal numbers give equal bytes."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure


def save(figure: Figure, file: Path) -> None:
    # Without these settings random ids and the time would change the file at every run.
    with rc_context({"svg.hashsalt": "dedup", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
