"""Draw inline charts, styled by `templates/charts.css`: timelines, bars, and arcs between outlets.

Positions across are percentages, so a chart fits a screen of any width, and letters keep their size. Every
label is escaped. Each chart has a description for screen readers; the macro `chart` in `components.html.j2`
adds a title and a table with the numbers behind the chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup

from dedup.base.words import counted, later
from dedup.extras.pages.environment import printable

LETTERS = 60  # Maximum length of a label; longer labels are cut
OUTLETS_DRAWN = 40  # Maximum number of outlets in a timeline; the table lists all outlets
LETTER = 7.0  # Pixels of a letter in a label, at 13 pixels of height
# Pixels of width that bars and the dots of a timeline have on a screen with a width of 360 pixels.
NARROW, NARROW_PLOT = 320, 190

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
    apart: bool = False  # drawn to the right of the other bars, at most as high as the highest of them


def story_timeline(prints: Sequence[Print]) -> Markup:
    """Draw a dot per article by outlet and time, the earliest outlet on top."""
    if not prints:
        return Markup("")
    every = sorted(prints, key=lambda p: (p.time, not p.canonical, p.outlet))
    lines: dict[str, list[Print]] = {}
    for one in every:
        lines.setdefault(one.outlet, []).append(one)
    drawn = list(lines.items())[:OUTLETS_DRAWN]
    first, last = every[0].time, every[-1].time
    # A span of more than seven years gets only two ticks, at its ends: one interval covers the whole span.
    step = next((s for s in STEPS if (last - first) / s <= MARKS), STEPS[-1] * -((first - last) // STEPS[-1]))
    # The span is at least one step, because equal times would otherwise lead to a division by zero.
    span = max(last - first, step)
    marks = [n * step for n in range(span // step + 1)]
    grid = Markup("").join(
        Markup('<line class="grid" x1="{0}%" x2="{0}%" y2="100%"/>').format(coordinate(100 * (mark / span)))
        for mark in marks
    )
    row = Markup('<div class="row"><span class="label">{}</span><svg>{}{}</svg></div>')
    parts: list[Markup] = []
    for outlet, of in drawn:
        # Numbers need no escaping, which would take a third of the time to make the page.
        dots = "".join(
            f'<circle class="{kind}" r="{size}"'
            f' cx="{coordinate(100 * ((one.time - first) / span))}%" cy="50%"/>'
            for one in of
            for kind, size in [("dot strong", 7) if one.canonical else ("dot", 5)]
        )
        parts.append(row.format(_cut_label(outlet), grid, Markup(dots)))  # noqa: S704
    ticks = [
        _tick(100 * (mark / span), 14, later(mark), NARROW_PLOT, more=mark not in (marks[0], marks[-1]))
        for mark in marks
    ]
    parts.append(row.format("", Markup("").join(ticks), ""))
    told = (
        f"Who printed it when: {counted(len(every), 'article')} of {counted(len(lines), 'outlet')}"
        f" from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M};"
        f" first {every[0].outlet}, last {every[-1].outlet}"
    )
    if len(drawn) < len(lines):
        told += f"; the {len(drawn)} earliest outlets are drawn"
    picture = Markup('<div class="timeline" role="img" aria-label="{}">{}</div>')
    return picture.format(printable(told), Markup("").join(parts))


BAR_HEIGHT, BAR_TOP, BAR_BOTTOM = 120, 18, 22  # Pixels: the highest bar, and room for labels above and below
APART = 18.0  # Room for a bar with `apart` and for its label, in percent of the width
# Letters that fit below the bars if the chart has half the width of a wide page; minimum gap between two
# labels, in letters.
BAR_LETTERS, GAP = 60, 3


def bars(values: Sequence[Bar], title: str, name: str = "bars") -> Markup:
    """Draw vertical bars that begin at 0, such as articles by hour. `name`: prefix of SVG ids."""
    if not values:
        return Markup("")
    scaled = [bar for bar in values if not bar.apart]
    apart = [bar for bar in values if bar.apart]
    most = max(bar.value for bar in scaled or apart)
    room = 100 - APART * len(apart)
    wide = room / max(len(scaled), 1)
    longest = max((len(bar.label) for bar in scaled), default=0)
    every = max(1, math.ceil(len(scaled) * (longest + GAP) / (BAR_LETTERS * room / 100)))
    floor = BAR_TOP + BAR_HEIGHT
    parts = [Markup('<line class="grid" x2="{}%" y1="{}" y2="{}"/>').format(coordinate(room), floor, floor)]
    places = [(bar, (n + 0.5) * wide, wide * 0.8) for n, bar in enumerate(scaled)]
    places += [(bar, room + APART * (n + 0.5), APART / 2) for n, bar in enumerate(apart)]
    rect = Markup('<rect class="{}" x="{}%" y="{}" width="{}%" height="{}"/>')
    peak = next((bar for bar in scaled if most and bar.value == most), None)
    for n, (bar, middle, width) in enumerate(places):
        high = BAR_HEIGHT * min(bar.value / most, 1) if most else 0.0
        left = middle - width / 2
        for kind, tall in (("bar", high), ("bar strong", high * bar.share)):
            if tall > 0:
                size = coordinate(left), coordinate(floor - tall), coordinate(width), coordinate(tall)
                parts.append(rect.format(kind, *size))
        if bar.value > most:  # a gap shows that the bar is cut
            gap = Markup('<line class="gap" x1="{}%" x2="{}%" y1="{}" y2="{}"/>')
            parts.append(gap.format(coordinate(left - 1), coordinate(left + width + 1), 44, 36))
        right = 100 if bar.apart else room
        if bar.apart or n % every == 0:
            more = n % (2 * every) != 0 and not bar.apart
            parts.append(_tick(middle, floor + 16, _cut_label(bar.label), NARROW, right=right, more=more))
        if bar is peak or bar.apart:
            parts.append(_tick(middle, floor - high - 5, f"{bar.value:,}", NARROW, right=right))
    told = "; ".join(f"{bar.label}: {bar.value:,}" for bar in values)
    return _picture("bars", name, f'height="{floor + BAR_BOTTOM}"', title, told, parts)


def _tick(
    middle: float, y: float, words: str, narrow: int, *, right: float = 100, more: bool = False
) -> Markup:
    """Return a label centred at `middle` percent of the width, moved if a narrow screen would cut an end.

    `right`: where the room for the label ends. `more`: there is room for the label on wide screens only.
    """
    half = 100 * LETTER * len(words) / 2 / narrow
    side, x = (
        ("", 0.0) if middle < half else (" end", right) if middle > right - half else (" middle", middle)
    )
    label = Markup('<text class="tick{}{}" x="{}%" y="{}">{}</text>')
    return label.format(side, " more" if more else "", coordinate(x), coordinate(y), words)


ARCS, ROW, NAMES = 110, 22, 240  # SVG pixels: width of the arcs, height of a row, width of the names
TIE_LETTERS = 30  # Maximum length of a name beside the arcs
THINNEST, THICKEST = 1.0, 9.0


@dataclass(frozen=True, slots=True)
class Tie:
    original: str
    copier: str
    copies: int
    directed: bool = True


def tie_graph(ties: Sequence[Tie], name: str = "ties") -> Markup:
    """Draw outlets in a column, and arcs from each outlet to its copiers. `name`: prefix of SVG ids."""
    drawn = [tie for tie in ties if tie.original != tie.copier]
    if not drawn:
        return Markup("")
    most = max(tie.copies for tie in drawn)
    outlets = list(dict.fromkeys(outlet for tie in drawn for outlet in (tie.original, tie.copier)))
    heights = {outlet: ROW * n + ROW // 2 for n, outlet in enumerate(outlets)}
    parts = [
        Markup(
            '<defs><marker id="{}-head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="11"'
            ' markerHeight="11" markerUnits="userSpaceOnUse" orient="auto">'
            '<path class="head" d="M0 0L10 5L0 10Z"/></marker></defs>'
        ).format(name)
    ]
    line = Markup('<path class="tie" stroke-width="{}"{} d="{}"/>')
    head = Markup(' marker-end="url(#{}-head)"').format(name)
    # Ties with the most copies come last, because SVG draws later lines on top.
    for tie in sorted(drawn, key=lambda tie: tie.copies):
        width = coordinate(THINNEST + (THICKEST - THINNEST) * tie.copies / most)
        way = _arc(heights[tie.original], heights[tie.copier])
        parts.append(line.format(width, head if tie.directed else "", way))
    for outlet, y in heights.items():
        parts.append(Markup('<circle class="dot strong" cx="{}" cy="{}" r="5"/>').format(ARCS + 6, y))
        label = Markup('<text class="label" x="{}" y="{}">{}</text>')
        parts.append(label.format(ARCS + 18, y + 4, _cut_label(outlet, TIE_LETTERS)))
    ways = [f"{tie.copier} {'from' if tie.directed else 'and'} {tie.original}" for tie in drawn[:10]]
    told = "; ".join(f"{way}: {tie.copies:,}" for way, tie in zip(ways, drawn, strict=False))
    size = f'viewBox="0 0 {ARCS + NAMES} {ROW * len(outlets)}"'
    return _picture("ties", name, size, "Who copies whom", told, parts)


def _arc(start: float, end: float) -> str:
    """Return an SVG path between two rows, left of the names. Arcs upwards are flatter than downwards."""
    bend = min(0.6 * abs(end - start) + 20, (ARCS - THICKEST) / 0.75) * (1 if end > start else 0.8)
    return "M{0} {2}C{1} {2} {1} {3} {0} {3}".format(*map(coordinate, (ARCS, ARCS - bend, start, end)))


def _picture(kind: str, name: str, size: str, title: str, told: str, parts: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="{kind}" {size} role="img" aria-labelledby="{name}-t {name}-d">'
        '<title id="{name}-t">{title}</title><desc id="{name}-d">{told}</desc>{parts}</svg>'
    ).format(
        **{"kind": kind, "size": Markup(size), "name": name},  # noqa: S704 - numbers
        **{"title": printable(title), "told": printable(told), "parts": Markup("").join(parts)},
    )


def _cut_label(label: str, letters: int = LETTERS) -> str:
    shown = printable(label)
    return shown if len(shown) <= letters else f"{shown[: letters - 1]}…"


def coordinate(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
