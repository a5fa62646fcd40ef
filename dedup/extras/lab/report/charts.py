"""Coordinates of charts: small precision-recall curves, and a scatter of cost and quality."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

MAX_POINTS = 100  # maximum number of points of a curve: a chart of 160 pixels shows no more
SIDE, LEFT, TOP = 160, 26, 8  # side, left edge and top edge of the square of a small chart, in pixels
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line in the unit square; `mark` is drawn as a ring."""

    label: str
    points: Sequence[Point]
    mark: Point | None = None

    @property
    def path(self) -> str:
        # A single point is repeated: SVG draws a line of no length as a dot, by its round ends.
        drawn = thinned(self.points)
        return " ".join(
            f"{LEFT + SIDE * x:.1f},{TOP + SIDE * (1 - y):.1f}" for x, y in drawn * (1 + (len(drawn) == 1))
        )


def thinned(points: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """Return at most `most` + 1 points of a line: its ends, and points at equal distances along it.

    >>> thinned([(0.0, 0.0), (0.1, 0.0), (0.5, 0.0), (1.0, 0.0)], most=2)
    [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)]
    """
    if len(points) <= most:
        return list(points)
    way = list(accumulate((math.dist(a, b) for a, b in pairwise(points)), initial=0.0))
    kept = sorted({bisect_left(way, way[-1] * part / most) for part in range(most)})
    return [*(points[place] for place in kept), points[-1]]


WIDTH, HEIGHT = 960, 480
FLOOR, CEILING, WEST, EAST = HEIGHT - 50, 26, 52, WIDTH - 28  # edges of the area of dots, in pixels
LETTER, LINE = 7.8, 15  # maximum width and height of a letter at font size 13, in pixels


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot of a scatter chart, with positive `x`. `strong`: draw a diamond in the main colour instead."""

    label: str
    x: float
    y: float
    strong: bool = False


@dataclass(frozen=True, slots=True)
class PlacedDot:
    """A dot and its label, in pixels. The label begins or ends at `label_x`; its middle is at `label_y`."""

    dot: Dot
    x: float
    y: float
    label_x: float
    label_y: float

    @property
    def anchor(self) -> str:
        return "start" if self.label_x > self.x else "end"


@dataclass(frozen=True, slots=True)
class Scatter:
    across: list[tuple[float, str]]  # ticks of an axis: position in pixels, and label
    up: list[tuple[float, str]]
    dots: list[PlacedDot]


def scatter(dots: Sequence[Dot]) -> Scatter:
    """Place dots and labels; x is logarithmic, y runs from the lowest y (rounded down to 0.1) to 1."""
    low = math.floor(math.log10(min(dot.x for dot in dots)))
    high = max(math.ceil(math.log10(max(dot.x for dot in dots))), low + 1)
    bottom = min(9, *(math.floor(dot.y * 10 + 1e-9) for dot in dots)) / 10

    def across(value: float) -> float:
        return WEST + (EAST - WEST) * (math.log10(value) - low) / (high - low)

    def up(value: float) -> float:
        return FLOOR - (FLOOR - CEILING) * (value - bottom) / (1 - bottom)

    powers = [10.0**power for power in range(low, high + 1)]
    tenths = [tenth / 10 for tenth in range(round(bottom * 10), 11)]
    return Scatter(
        [(across(value), f"{value:,.10g}") for value in powers],
        [(up(value), f"{value:.1f}") for value in tenths],
        _labelled(dots, [(across(dot.x), up(dot.y)) for dot in dots]),
    )


def _labelled(dots: Sequence[Dot], places: Sequence[Point]) -> list[PlacedDot]:
    """Place each label right or left of its dot, at the nearest height without another dot or label."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    found = []
    for dot, (x, y) in zip(dots, places, strict=True):
        wide = len(dot.label) * LETTER
        boxes = [
            (left, y + shift - LINE / 2, left + wide, y + shift + LINE / 2)
            for shift in sorted(range(-12 * LINE, 12 * LINE + 1, 5), key=abs)
            for left in (x + 9 + abs(shift) / 4, x - 9 - abs(shift) / 4 - wide)
            if left > WEST and left + wide < WIDTH and LINE < y + shift < FLOOR
        ]
        # Of equally free boxes, `min` takes the nearest. If no box fits the chart, the label covers its dot.
        box = min(boxes, key=lambda box: sum(_overlap(box, other) for other in taken), default=(x, y, x, y))
        taken.append(box)
        found.append(PlacedDot(dot, x, y, box[0] if box[0] >= x else box[2], (box[1] + box[3]) / 2))
    return found


def _overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the common area of two boxes, each given by left, top, right and bottom."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0
