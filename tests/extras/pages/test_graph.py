"""A picture of copying: every outlet once, thick lines for many copies, hostile names as text."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from dedup.extras.pages.charts import THICKEST, Tie, tie_graph
from tests.extras.pages.test_charts import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"


def parsed(ties: list[Tie]) -> ElementTree.Element:
    drawn = str(tie_graph(ties))
    return ElementTree.fromstring(drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def lines(drawn: ElementTree.Element) -> list[ElementTree.Element]:
    return [path for path in drawn.iter(f"{SVG}path") if path.get("class") == "tie"]


def test_every_outlet_stands_once_and_every_tie_is_a_line() -> None:
    drawn = parsed([Tie("Wire", "Courier", 8), Tie("Wire", "Mercury", 2), Tie("Courier", "Wire", 1)])
    assert [label.text for label in drawn.iter(f"{SVG}text")] == ["Wire", "Courier", "Mercury"]
    widths = [
        float(path.get("stroke-width") or 0)
        for path in drawn.iter(f"{SVG}path")
        if path.get("class") == "tie"
    ]
    assert widths == sorted(widths)
    assert widths[-1] == THICKEST
    assert len(widths) == 3
    ways = {path.get("d") for path in drawn.iter(f"{SVG}path")}
    assert len(ways) == 4  # also there and back


def test_an_outlet_that_copies_itself_has_no_line_to_itself() -> None:
    drawn = parsed([Tie("Wire", "Wire", 3)])
    assert len(list(drawn.iter(f"{SVG}circle"))) == 1
    assert lines(drawn) == []


def test_nothing_is_drawn_of_nothing() -> None:
    assert tie_graph([]) == ""


def test_everything_is_within_the_picture() -> None:
    drawn = parsed([Tie(f"Outlet {n}", f"Outlet {n + 1}", n + 1) for n in range(40)])
    _, _, width, height = map(float, (drawn.get("viewBox") or "").split())
    for circle in drawn.iter(f"{SVG}circle"):
        assert 0 < float(circle.get("cx") or -1) < width
        assert 0 < float(circle.get("cy") or -1) < height


@pytest.mark.parametrize("count", range(2, 32))
def test_labels_do_not_collide(count: int) -> None:
    names = [f"The Long-named Mercury {n}"[-22:] for n in range(count)]
    drawn = parsed([Tie(one, other, 1) for one, other in pairwise(names)])
    _, _, width, height = map(float, (drawn.get("viewBox") or "").split())
    boxes = []
    for label in drawn.iter(f"{SVG}text"):
        x, y, long = float(label.get("x") or 0), float(label.get("y") or 0), 7.5 * len(label.text or "")
        kind = (label.get("class") or "").removeprefix("label").strip()
        left = x - {"end": long, "middle": long / 2, "": 0}[kind]
        boxes.append((left, left + long, y - 12, y + 4))
        assert left > 0
        assert left + long < width
        assert 12 < y < height - 4
    for one, other in combinations(boxes, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart, (one, other)


def test_names_of_strangers_are_text() -> None:
    made = str(tie_graph([Tie(HOSTILE, f"{HOSTILE}2", 1)], name="ties"))
    assert "<script" not in made
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", made)
