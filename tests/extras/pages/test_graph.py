"""The picture of copying shows each outlet once, thicker lines for more copies, hostile names as text."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from dedup.extras.pages.charts import LETTER, THICKEST, Tie, tie_graph
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
    assert len(ways) == 4  # three different lines, and the arrowhead


def test_an_outlet_that_copies_itself_has_no_line_to_itself() -> None:
    drawn = parsed([Tie("Wire", "Wire", 3), Tie("Wire", "Courier", 1)])
    assert len(lines(drawn)) == 1
    assert float(lines(drawn)[0].get("stroke-width") or 0) == THICKEST
    assert tie_graph([Tie("Wire", "Wire", 3)]) == ""


def test_a_tie_has_an_arrow_only_if_the_first_is_known() -> None:
    drawn = parsed([Tie("Wire", "Courier", 3), Tie("Courier", "Mercury", 1, directed=False)])
    assert [bool(line.get("marker-end")) for line in lines(drawn)] == [False, True]


def test_nothing_is_drawn_of_nothing() -> None:
    assert tie_graph([]) == ""


def test_everything_is_within_the_picture() -> None:
    drawn = parsed([Tie(f"Outlet {n}", f"Outlet {n + 1}", n + 1) for n in range(40)])
    _, _, width, height = map(float, (drawn.get("viewBox") or "").split())
    for circle in drawn.iter(f"{SVG}circle"):
        assert 0 < float(circle.get("cx") or -1) < width
        assert 0 < float(circle.get("cy") or -1) < height
    for line in lines(drawn):
        x, bent, _, _ = (float(n) for n in re.findall(r"[\d.-]+", line.get("d") or "")[:4])
        # The middle of an arc is its leftmost point: at three quarters of the way from its ends to its bend.
        assert x - 0.75 * (x - bent) - float(line.get("stroke-width") or 0) / 2 >= 0


@pytest.mark.parametrize("count", [2, 31])
def test_labels_do_not_collide(count: int) -> None:
    names = [f"{'The Long-named Mercury of ' * 3}{n}" for n in range(count)]
    drawn = parsed([Tie(one, other, 1) for one, other in pairwise(names)])
    _, _, width, height = map(float, (drawn.get("viewBox") or "").split())
    labels = [*drawn.iter(f"{SVG}text")]
    for label in labels:
        assert float(label.get("x") or 0) + LETTER * len(label.text or "") <= width
    places = [float(label.get("y") or 0) for label in labels]
    assert all(other - one >= 18 for one, other in pairwise(places))
    assert 12 < places[0] < places[-1] < height


def test_names_of_strangers_are_text() -> None:
    made = str(tie_graph([Tie(HOSTILE, f"{HOSTILE}2", 1)], name="ties"))
    assert "<script" not in made
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", made)
