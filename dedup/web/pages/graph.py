"""Who copies whom as inline SVG: outlets on a circle, lines from those that were first to those that copied.

Colours are the page's (`templates/charts.css`). The page has the same numbers as a table beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dedup.web.pages.charts import coordinate, cut_label, picture

WIDTH, HEIGHT = 720, 480
CENTRE, ACROSS, DOWN = (WIDTH / 2, HEIGHT / 2), 190, 190
"""The circle, in its own pixels: left and right of it is room for labels."""

BEND = 0.18  # How far a line leaves the straight way, as a share of its length: two outlets have two lines

THINNEST, THICKEST = 1.0, 9.0


@dataclass(frozen=True, slots=True)
class Tie:
    """What one outlet took from another."""

    original: str
    copier: str
    copies: int


def tie_graph(ties: Sequence[Tie], name: str = "ties") -> Markup:
    """Outlets and their ties; empty without ties. `name` prefixes the ids on the page."""
    if not ties:
        return Markup("")
    outlets = list(dict.fromkeys(outlet for tie in ties for outlet in (tie.original, tie.copier)))
    most = max(tie.copies for tie in ties)
    places = {outlet: _place(n, len(outlets)) for n, outlet in enumerate(outlets)}
    parts = [
        Markup(
            '<defs><marker id="{}-head" viewBox="0 0 10 10" refX="18" refY="5" markerWidth="11"'
            ' markerHeight="11" markerUnits="userSpaceOnUse" orient="auto">'
            '<path class="head" d="M0 0L10 5L0 10Z"/></marker></defs>'
        ).format(name)
    ]
    for tie in sorted(ties, key=lambda tie: tie.copies):
        if tie.original != tie.copier:
            width = THINNEST + (THICKEST - THINNEST) * tie.copies / most
            parts.append(
                Markup('<path class="tie" stroke-width="{}" marker-end="url(#{}-head)" d="{}"/>').format(
                    coordinate(width), name, _way(places[tie.original], places[tie.copier])
                )
            )
    for outlet, (x, y, angle) in places.items():
        parts.append(
            Markup('<circle class="dot strong" cx="{}" cy="{}" r="5"/>').format(coordinate(x), coordinate(y))
        )
        side = "middle" if abs(math.cos(angle)) < 0.2 else "end" if math.cos(angle) < 0 else ""
        parts.append(
            Markup('<text class="label {}" x="{}" y="{}">{}</text>').format(
                side,
                coordinate(x + 12 * math.cos(angle)),
                coordinate(y + 4 + 14 * math.sin(angle)),
                cut_label(outlet),
            )
        )
    told = "; ".join(f"{tie.copier} from {tie.original}: {tie.copies:,}" for tie in ties[:10])
    return picture("ties", name, (WIDTH, HEIGHT), "Who copies whom", told, parts)


def _place(n: int, count: int) -> tuple[float, float, float]:
    """Where an outlet stands, the first on top, and its angle."""
    angle = 2 * math.pi * n / count - math.pi / 2
    return CENTRE[0] + ACROSS * math.cos(angle), CENTRE[1] + DOWN * math.sin(angle), angle


def _way(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    """A curve that bends to its left."""
    (x1, y1, _), (x2, y2, _) = start, end
    middle = (x1 + x2) / 2 + BEND * (y2 - y1), (y1 + y2) / 2 - BEND * (x2 - x1)
    points = (x1, y1, *middle, x2, y2)
    return "M{} {}Q{} {} {} {}".format(*map(coordinate, points))
