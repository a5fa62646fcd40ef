"""Draw the results of `growth.py`: time, memory and disk against the size of the corpus, as one SVG.

    scripts/benchmarks/plot.py RESULTS docs/growth.svg

Both scales of each panel are logarithmic: growth by a power is a straight line, labelled with the exponent.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path

from growth import MEASURES, exponent, figure
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `picture` in the parent folder
import picture

Points = list[tuple[float, float]]
Panels = Mapping[str, Mapping[str, Points]]
"""Points of each line, by the title of the panel and then by the label of the line."""


def main() -> int:
    results, file = (Path(word) for word in sys.argv[1:3])
    sizes = json.loads(results.read_text(encoding="utf-8"))["sizes"]

    def points(measure: str) -> Points:
        found = [(size["size"], figure(size, MEASURES[measure])) for size in sizes]
        return [(size, value) for size, value in found if value]

    text = [(size["size"], size["text_mb"]) for size in sizes]
    panels: Panels = {
        "seconds": {"backfill": points("backfill seconds"), "a night": points("night seconds")},
        "peak memory, MB": {"all processes": points("peak memory")},
        "disk, MB": {"kept by dedup": points("disk"), "the texts": text},
    }
    picture.save(drawn(panels), file)
    return 0


def drawn(panels: Panels) -> Figure:
    """Draw the panels side by side."""
    made = Figure(figsize=(4 * len(panels), 3.3), layout="constrained")
    for axes, (title, lines) in zip(
        made.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        axes.set(title=title, xlabel="articles", xscale="log", yscale="log")
        axes.grid(color="0.85")
        for style, (label, points) in zip(("o-", "s--"), lines.items(), strict=False):
            if points:
                law = f": grows as n^{exponent(points):.2f}" if len(points) > 1 else ""
                axes.plot(*zip(*points, strict=True), style, label=label + law)
        values = [value for points in lines.values() for _, value in points]
        if values:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            axes.set_ylim(10.0**low, 10.0 ** max(high, low + 1))
            axes.legend(frameon=False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.10g}")
            axis.set_minor_formatter(NullFormatter())
    return made


if __name__ == "__main__":
    sys.exit(main())
