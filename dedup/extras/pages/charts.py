"""Draw inline SVG charts, styled by `templates/charts.css`: timelines, bars, and outlets on a circle.

Every label is escaped. Each chart has a title and a description for screen readers; the macro `chart` in
`components.html.j2` adds a table with the numbers behind the chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from markupsafe import Markup

from dedup.base.words import counted, later
from dedup.extras.pages.environment import printable

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720, 170, 24, 10, 34  # Width and margins of a timeline, in SVG pixels
LINE = 18  # Pixels from one label to the label below, in a timeline or circle
LETTERS = 22  # Maximum length of a label, which fits left of a timeline; longer labels are cut
OUTLETS_DRAWN = 40  # Maximum number of outlets in a timeline; the table lists all outlets

# Possible intervals between ticks of the time axis; the shortest that fits at most `MARKS` times is used.
STEPS = tuple(
    timedelta(minutes=m)
    for m in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 43_200, 525_600)
)
MARKS = 7


@dataclass(frozen=True, slots=True)
class Print:
    outlet: str
    time: datetime
    canonical: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar; `share`, from 0 to 1, is the part of the bar that is drawn in the main colour."""

    label: str
    value: int
    share: float = 1.0


def story_timeline(prints: Sequence[Print], name: str = "timeline") -> Markup:
    """Draw a dot per article by outlet and time, the earliest outlet on top. `name`: prefix of SVG ids."""
    if not prints:
        return Markup("")
    every = sorted(prints, key=lambda p: (p.time, not p.canonical, p.outlet))
    lines = {outlet: n for n, outlet in enumerate(dict.fromkeys(p.outlet for p in every))}
    drawn = min(len(lines), OUTLETS_DRAWN)
    first, last = every[0].time, every[-1].time
    # A time of more than seven years gets only two ticks, at its ends: one interval covers the whole time.
    step = next((s for s in STEPS if (last - first) / s <= MARKS), STEPS[-1] * -((first - last) // STEPS[-1]))
    # The span is at least one step, because equal times would otherwise lead to a division by zero.
    span = max(last - first, step)
    floor = TOP + drawn * LINE

    def across(after: timedelta) -> str:
        return coordinate(LEFT + (WIDTH - LEFT - RIGHT) * (after / span))

    parts: list[Markup] = []
    for n in range(span // step + 1):
        x = across(n * step)
        parts.append(Markup('<path class="grid" d="M{} {}V{}"/>').format(x, TOP, floor))
        parts.append(_tick(x, floor + 18, later(n * step)))
    label = Markup('<text class="label end" x="{}" y="{}">{}</text>')
    for outlet, n in list(lines.items())[:drawn]:
        parts.append(label.format(LEFT - 14, TOP + n * LINE + LINE // 2 + 4, _cut_label(outlet)))
    for one in every:
        n = lines[one.outlet]
        if n < drawn:
            kind, radius = ("dot strong", 7) if one.canonical else ("dot", 5)
            place = f'cx="{across(one.time - first)}" cy="{TOP + n * LINE + LINE // 2}"'
            # Numbers need no escaping, which would take a third of the time to make the page.
            parts.append(Markup(f'<circle class="{kind}" {place} r="{radius}"/>'))  # noqa: S704
    told = (
        f"{counted(len(every), 'article')} of {counted(len(lines), 'outlet')}"
        f" from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M};"
        f" first {every[0].outlet}, last {every[-1].outlet}"
    )
    if drawn < len(lines):
        told += f"; the {drawn} earliest outlets are drawn"
    return _picture("timeline", name, (WIDTH, floor + BOTTOM), "Who printed it when", told, parts)


BAR_WIDTH, BAR_HEIGHT, BAR_TOP, BAR_BOTTOM = 720, 120, 18, 22  # SVG pixels; room for labels at both ends
BAR_LABELS = 12  # Maximum number of labels below the bars; with more bars, some bars have no label


def bars(values: Sequence[Bar], title: str, name: str = "bars") -> Markup:
    """Draw vertical bars that begin at 0, such as articles by hour; empty without values."""
    if not values:
        return Markup("")
    most = max(bar.value for bar in values)
    wide = BAR_WIDTH / len(values)
    floor = BAR_TOP + BAR_HEIGHT
    every = -(-len(values) // BAR_LABELS)
    parts = [Markup('<path class="grid" d="M0 {}H{}"/>').format(floor, BAR_WIDTH)]
    rect = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>')
    for n, bar in enumerate(values):
        high = BAR_HEIGHT * bar.value / most if most else 0.0
        x, width = coordinate(n * wide + wide * 0.1), coordinate(wide * 0.8)
        for kind, tall in (("bar", high), ("bar strong", high * bar.share)):
            if tall > 0:
                parts.append(rect.format(kind, x, coordinate(floor - tall), width, coordinate(tall)))
        if n % every == 0:
            parts.append(_tick(coordinate((n + 0.5) * wide), floor + 16, _cut_label(bar.label)))
        if bar.value == most and most and all(other.value < most for other in values[:n]):
            x = coordinate(min(max((n + 0.5) * wide, 24), BAR_WIDTH - 24))
            parts.append(_tick(x, coordinate(floor - high - 5), f"{most:,}"))
    told = "; ".join(f"{bar.label}: {bar.value:,}" for bar in values)
    return _picture("bars", name, (BAR_WIDTH, floor + BAR_BOTTOM), title, told, parts)


def _tick(x: str, y: float | str, words: str) -> Markup:
    return Markup('<text class="tick middle" x="{}" y="{}">{}</text>').format(x, y, words)


CIRCLE, RADIUS = (760, 500), 190  # SVG pixels; the size leaves room for labels left and right of the circle
BEND = 0.18  # Bend of a line per length; keeps apart the lines of two outlets that copy each other
THINNEST, THICKEST = 1.0, 9.0


@dataclass(frozen=True, slots=True)
class Tie:
    original: str
    copier: str
    copies: int
    directed: bool = True


def tie_graph(ties: Sequence[Tie], name: str = "ties") -> Markup:
    """Draw outlets on a circle, and arrows from each outlet to its copiers. `name`: prefix of SVG ids."""
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
    line = Markup('<path class="tie" stroke-width="{}"{} d="{}"/>')
    head = Markup(' marker-end="url(#{}-head)"').format(name)
    # Ties with the most copies come last, because SVG draws later lines on top.
    for tie in sorted(ties, key=lambda tie: tie.copies):
        if tie.original != tie.copier:
            width = coordinate(THINNEST + (THICKEST - THINNEST) * tie.copies / most)
            way = _way(places[tie.original], places[tie.copier])
            parts.append(line.format(width, head if tie.directed else "", way))
    dot = Markup('<circle class="dot strong" cx="{}" cy="{}" r="5"/>')
    heights = _label_heights([*places.values()])
    for (outlet, (x, y, angle)), height in zip(places.items(), heights, strict=True):
        parts.append(dot.format(coordinate(x), coordinate(y)))
        side = "middle" if _upright(angle) else "end" if math.cos(angle) < 0 else ""
        place = coordinate(x + 12 * math.cos(angle)), coordinate(height)
        label = Markup('<text class="label {}" x="{}" y="{}">{}</text>')
        parts.append(label.format(side, *place, _cut_label(outlet)))
    ways = [f"{tie.copier} {'from' if tie.directed else 'and'} {tie.original}" for tie in ties[:10]]
    told = "; ".join(f"{way}: {tie.copies:,}" for way, tie in zip(ways, ties, strict=False))
    return _picture("ties", name, CIRCLE, "Who copies whom", told, parts)


def _upright(angle: float) -> bool:
    # Labels at the top and bottom are centred; there the cosine is 0 except for rounding errors.
    return abs(math.cos(angle)) < 1e-6


def _label_heights(places: Sequence[tuple[float, float, float]]) -> list[float]:
    """Return the y of each label; on each side, labels move outwards until they are at least `LINE` apart."""
    heights = [y + 4 + 14 * math.sin(angle) for _, y, angle in places]
    for side in (-1, 1):
        beside = [
            n
            for n, (_, _, angle) in enumerate(places)
            if _upright(angle) or math.copysign(1, math.cos(angle)) == side
        ]
        for way in (-1, 1):  # upwards, then downwards
            half = [n for n in beside if (math.sin(places[n][2]) < 0) == (way < 0)]
            half.sort(key=lambda n: way * places[n][1])
            for inner, outer in pairwise(half):
                if way * (heights[outer] - heights[inner]) < LINE:
                    heights[outer] = heights[inner] + way * LINE
    return heights


def _place(n: int, count: int) -> tuple[float, float, float]:
    """Return x, y and angle of outlet number `n` on the circle; the first outlet is at the top."""
    angle = 2 * math.pi * n / count - math.pi / 2
    return CIRCLE[0] / 2 + RADIUS * math.cos(angle), CIRCLE[1] / 2 + RADIUS * math.sin(angle), angle


def _way(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    """Return an SVG path from `start` to `end` that bends to the left, as seen from `start`."""
    (x1, y1, _), (x2, y2, _) = start, end
    middle = (x1 + x2) / 2 + BEND * (y2 - y1), (y1 + y2) / 2 - BEND * (x2 - x1)
    points = (x1, y1, *middle, x2, y2)
    return "M{} {}Q{} {} {} {}".format(*map(coordinate, points))


def _picture(
    kind: str, name: str, size: tuple[int, int], title: str, told: str, parts: Sequence[Markup]
) -> Markup:
    return Markup(
        '<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-t {name}-d">'
        '<title id="{name}-t">{title}</title><desc id="{name}-d">{told}</desc>{parts}</svg>'
    ).format(
        **{"kind": kind, "width": size[0], "height": size[1], "name": name},
        **{"title": printable(title), "told": printable(told), "parts": Markup("").join(parts)},
    )


def _cut_label(label: str) -> str:
    shown = printable(label)
    return shown if len(shown) <= LETTERS else f"{shown[: LETTERS - 1]}…"


def coordinate(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
