"""Two kinds of chart as inline SVG: little precision-recall curves, and a scatter of cost and quality.

Shapes only carry classes: colours, fonts and strokes are the page's. Every label is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

MAX_POINTS = 100  # points of a curve that are drawn: a chart of 160 pixels shows no more
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """One line in the unit square; `mark` is drawn as a dot, on it or not."""

    label: str
    points: Sequence[Point]
    mark: Point | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of a scatter; `x` is positive; `strong` draws it as a diamond in the main colour."""

    label: str
    x: float
    y: float
    strong: bool = False


def thinned(points: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """At most `most` + 1 points of a line: its ends, and between them one for each stretch of its length.

    >>> thinned([(0.0, 0.0), (0.1, 0.0), (0.2, 0.0), (1.0, 0.0)], most=2)
    [(0.0, 0.0), (1.0, 0.0)]
    """
    if len(points) <= most:
        return list(points)
    step = sum(math.dist(a, b) for a, b in pairwise(points)) / (most - 1)
    kept, way = [points[0]], 0.0
    for before, point in pairwise(points[:-1]):
        way += math.dist(before, point)
        if way > step:
            kept.append(point)
            way = 0.0
    return [*kept, points[-1]]


SIDE, LEFT, TOP, BELOW = 160, 26, 8, 30
"""A little chart in its own pixels: the square of the curve, and what surrounds it."""


def curve_shapes(curves: Sequence[Curve]) -> Markup:
    """All curves once, invisible: each little chart refers to them. To be placed before the charts."""
    shapes = Markup("").join(
        Markup('<polyline id="curve-{}" points="{}"/>').format(number, _path(curve.points))
        for number, curve in enumerate(curves)
    )
    return Markup(
        '<svg class="shapes" width="0" height="0" aria-hidden="true"><defs><g id="curves">{}</g></defs></svg>'
    ).format(shapes)


def curve_chart(curves: Sequence[Curve], number: int) -> Markup:
    """One curve in the foreground and all the others behind it; needs `curve_shapes` on the page."""
    curve = curves[number]
    mark = Markup("")
    described = f"Precision over recall of {curve.label}"
    if curve.mark:
        x, y = _place(curve.mark)
        mark = Markup('<circle class="mark" cx="{}" cy="{}" r="4"/>').format(_n(x), _n(y))
        described += "; at its own threshold recall {:.2f}, precision {:.2f}".format(*curve.mark)
    return Markup(
        '<svg class="curve" viewBox="0 0 {} {}" role="img" aria-labelledby="curve-t{n} curve-d{n}">'
        '<title id="curve-t{n}">{}</title><desc id="curve-d{n}">{}.</desc>{}'
        '<use href="#curves" class="others"/><use href="#curve-{n}" class="halo"/>'
        '<use href="#curve-{n}" class="this"/>{}</svg>'
    ).format(LEFT + SIDE + 8, TOP + SIDE + BELOW, curve.label, described, _unit_axes(), mark, n=number)


def _unit_axes() -> Markup:
    lines = []
    for value, label in ((0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        x, y = _place((value, value))
        lines += [
            Markup('<path class="grid" d="M{} {}H{}"/>').format(LEFT, _n(y), LEFT + SIDE),
            Markup('<text x="{}" y="{}" class="tick end">{}</text>').format(LEFT - 5, _n(y + 4), label),
            Markup('<text x="{}" y="{}" class="tick {}">{}</text>').format(
                _n(x), TOP + SIDE + 14, "end" if value == 1 else "middle", label
            ),
        ]
    lines.append(
        Markup('<text x="{}" y="{}" class="axis middle">recall</text>').format(
            LEFT + SIDE / 2, TOP + SIDE + 27
        )
    )
    lines.append(
        Markup('<text class="axis middle" transform="translate({} {}) rotate(-90)">precision</text>').format(
            LEFT - 12, TOP + SIDE * 0.76
        )
    )
    return Markup("").join(lines)


def _place(point: Point) -> Point:
    return LEFT + SIDE * point[0], TOP + SIDE * (1 - point[1])


def _path(points: Sequence[Point]) -> str:
    drawn = [_place(point) for point in thinned(points)]
    if len(drawn) == 1:
        drawn *= 2  # the round ends of a line of no length make a dot
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in drawn)


WIDTH, HEIGHT, MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 960, 480, 52, 28, 26, 50
"""The scatter in its own pixels, with its margins."""

LETTER, LINE = 7.8, 15
"""Width and height that a letter of a label takes at most, in the same pixels, at 13 pixels a letter."""

Box = tuple[float, float, float, float]  # left, top, right, bottom


def scatter(dots: Sequence[Dot], *, x_title: str, y_title: str) -> Markup:
    """Dots with their labels; x is logarithmic, y ends at 1 and starts at the tenth below the lowest dot."""
    low, high = _decades([dot.x for dot in dots])
    bottom = min([math.floor(dot.y * 10 + 1e-9) / 10 for dot in dots], default=0.0)
    bottom = min(bottom, 0.9)
    right, floor = WIDTH - MARGIN_RIGHT, HEIGHT - MARGIN_BOTTOM

    def across(value: float) -> float:
        return MARGIN_LEFT + (right - MARGIN_LEFT) * (math.log10(value) - low) / (high - low)

    def down(value: float) -> float:
        return floor - (floor - MARGIN_TOP) * (value - bottom) / (1 - bottom)

    parts = []
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts.append(Markup('<path class="grid" d="M{} {}V{}"/>').format(_n(x), MARGIN_TOP, floor))
        parts.append(
            Markup('<text class="tick middle" x="{}" y="{}">{:,}</text>').format(
                _n(x), floor + 18, 10**power if power >= 0 else 10.0**power
            )
        )
    for tenth in range(round(bottom * 10), 11):
        y = down(tenth / 10)
        parts.append(Markup('<path class="grid" d="M{} {}H{}"/>').format(MARGIN_LEFT, _n(y), right))
        parts.append(
            Markup('<text class="tick end" x="{}" y="{}">{:.1f}</text>').format(
                MARGIN_LEFT - 8, _n(y + 4), tenth / 10
            )
        )
    parts.append(Markup('<text class="axis end" x="{}" y="{}">{}</text>').format(right, HEIGHT - 10, x_title))
    parts.append(
        Markup('<text class="axis end" transform="translate(14 {}) rotate(-90)">{}</text>').format(
            MARGIN_TOP, y_title
        )
    )
    places = [(across(dot.x), down(dot.y)) for dot in dots]
    for dot, place, box in zip(dots, places, _label_boxes(dots, places), strict=True):
        parts.append(_labelled(dot, place, box))
    words = "; ".join(f"{dot.label}: {dot.x:.3g}, {dot.y:.3f}" for dot in dots)
    return Markup(
        '<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-labelledby="scatter-t scatter-d">'
        '<title id="scatter-t">{} against {}</title><desc id="scatter-d">{}</desc>{}</svg>'
    ).format(WIDTH, HEIGHT, y_title, x_title, words, Markup("").join(parts))


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values, default=1.0)))
    high = math.ceil(math.log10(max(values, default=10.0)))
    return low, max(high, low + 1)


def _labelled(dot: Dot, place: Point, box: Box) -> Markup:
    x, y = place
    kind = "dot strong" if dot.strong else "dot"
    shape = (
        Markup('<path class="{}" d="M{} {}l7 7-7 7-7-7z"/>').format(kind, _n(x), _n(y - 7))
        if dot.strong
        else Markup('<circle class="{}" cx="{}" cy="{}" r="4.5"/>').format(kind, _n(x), _n(y))
    )
    near = min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])
    leader = Markup("")
    if math.dist(near, place) > 14:
        leader = Markup('<path class="leader" d="M{} {}L{} {}"/>').format(
            _n(x), _n(y), _n(near[0]), _n(near[1])
        )
    if box[2] < x:
        anchor, at = "end", box[2]
    elif box[0] > x:
        anchor, at = "start", box[0]
    else:
        anchor, at = "middle", (box[0] + box[2]) / 2
    kind = f"label {anchor} strong" if dot.strong else f"label {anchor}"
    return Markup('{}{}<text class="{}" x="{}" y="{}">{}</text>').format(
        leader, shape, kind, _n(at), _n(box[3] - 4), dot.label
    )


def _label_boxes(dots: Sequence[Dot], places: Sequence[Point]) -> list[Box]:
    """Where each label goes: the nearest place that touches no dot and no label, or the least bad one."""
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    found: list[Box] = []
    for dot, (x, y) in zip(dots, places, strict=True):
        box = min(
            _boxes_around(x, y, len(dot.label) * LETTER),
            key=lambda candidate: sum(_overlap(candidate, other) for other in taken),  # the first of equals
        )
        taken.append(box)
        found.append(box)
    return found


def _boxes_around(x: float, y: float, width: float) -> Iterator[Box]:
    """Places for a label, the best first: beside the dot, above, below, then farther away."""
    for away in range(0, 12 * LINE, LINE):
        beside = 9 + away / 2
        for left, middle in (
            (x + beside, y),
            (x - beside - width, y),
            (x - width / 2, y - 15 - away),
            (x - width / 2, y + 15 + away),
            (x + beside, y - 11 - away),
            (x + beside, y + 11 + away),
            (x - beside - width, y - 11 - away),
            (x - beside - width, y + 11 + away),
        ):
            box = (left, middle - LINE / 2, left + width, middle + LINE / 2)
            if box[0] > MARGIN_LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT - MARGIN_BOTTOM + 4:
                yield box
    yield (x, y - LINE, x + width, y)  # a label that fits nowhere is shown all the same


def _overlap(a: Box, b: Box) -> float:
    """In square pixels."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _n(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")
