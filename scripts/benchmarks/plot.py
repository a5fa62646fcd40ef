"""Draw the results of `growth.py`: time, memory and disk against the size of the corpus, as one SVG.

    scripts/benchmarks/plot.py RESULTS docs/growth.svg

Both scales of each panel are logarithmic, so that growth by a power is a straight line; the power is beside
it. Colours follow the page, light or dark.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from growth import MEASURES, exponent, figure

WIDTH, HEIGHT = 300, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 40
"""Pixels of a panel, and of the room around its field."""

STYLE = """
    text { font: 11px system-ui, sans-serif; fill: #57606a; }
    .title { font-size: 13px; font-weight: 600; fill: #1f2328; }
    .grid { stroke: #d0d7de; stroke-width: 1; }
    .line { fill: none; stroke-width: 2; }
    .a { stroke: #0969da; } .fill-a { fill: #0969da; }
    .b { stroke: #bc4c00; stroke-dasharray: 5 3; } .fill-b { fill: #bc4c00; }
    @media (prefers-color-scheme: dark) {
        text { fill: #9198a1; } .title { fill: #f0f6fc; } .grid { stroke: #3d444d; }
        .a { stroke: #4493f8; } .fill-a { fill: #4493f8; }
        .b { stroke: #f0883e; } .fill-b { fill: #f0883e; }
    }
"""

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One field: its title, and for each line its label and its points."""

    title: str
    lines: tuple[tuple[str, Points], ...]


def main() -> int:
    results, picture = (Path(word) for word in sys.argv[1:3])
    sizes = json.loads(results.read_text(encoding="utf-8"))["sizes"]

    def points(measure: str) -> Points:
        found = [(size["size"], figure(size, MEASURES[measure])) for size in sizes]
        return [(size, value) for size, value in found if value]

    text = [(size["size"], size["text_mb"]) for size in sizes]
    panels = [
        Panel("seconds", (("backfill", points("backfill seconds")), ("a night", points("night seconds")))),
        Panel("peak memory, MB", (("all processes", points("peak memory")),)),
        Panel("disk, MB", (("kept by dedup", points("disk")), ("the texts", text))),
    ]
    picture.write_text(svg(panels), encoding="utf-8")
    return 0


def svg(panels: Sequence[Panel]) -> str:
    """The picture: the panels side by side."""
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" role="img">',
        "<title>Time, memory and disk against articles</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * WIDTH} 0)">{_panel(panel)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten just below and above some values; at least one apart."""
    low = math.floor(math.log10(min(values)) + 1e-9)
    return low, max(low + 1, math.ceil(math.log10(max(values)) - 1e-9))


def _panel(panel: Panel) -> str:
    every = [point for _, points in panel.lines for point in points]
    parts = [f'<text class="title" x="{LEFT}" y="18">{escape(panel.title)}</text>']
    if not every:
        return parts[0]
    across, up = decades([x for x, _ in every]), decades([y for _, y in every])

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - across[0]) / (across[1] - across[0])
        above = (math.log10(y) - up[0]) / (up[1] - up[0])
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - above * (HEIGHT - TOP - BOTTOM)

    for power in range(up[0], up[1] + 1):
        _, y = place(10.0 ** across[0], 10.0**power)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>')
    for power in range(across[0], across[1] + 1):
        x, _ = place(10.0**power, 10.0 ** up[0])
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        label = f"{10**power:,}" if power < 6 else f"{10 ** (power - 6):,} m"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">articles</text>')
    for row, (kind, (label, points)) in enumerate(zip("ab", panel.lines, strict=False)):
        if not points:
            continue
        places = [place(*point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="line {kind}" points="{path}"/>')
        parts += [f'<circle class="fill-{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places]
        law = f": grows as n^{exponent(points):.2f}" if len(points) > 1 else ""
        y = TOP + 14 + 15 * row
        parts.append(f'<circle class="fill-{kind}" cx="{LEFT + 10}" cy="{y - 4}" r="3"/>')
        parts.append(f'<text x="{LEFT + 18}" y="{y}">{escape(label)}{law}</text>')
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(main())
