"""Charts of pages: every print has its place, every bar its height, and labels cannot harm the page."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from dedup.extras.pages import charts
from dedup.extras.pages.charts import LEFT, RIGHT, WIDTH, Bar, Print, bars, story_timeline
from dedup.extras.pages.environment import environment

START = datetime(2031, 3, 4, 6, 10)
HOSTILE = "</text></svg><script>alert(1)</script> \"quoted' \x00\x1b[31m \u202e"


def printed(*minutes: float, outlet: str = "") -> list[Print]:
    return [
        Print(outlet or f"outlet {n}", START + timedelta(minutes=m), n == 0) for n, m in enumerate(minutes)
    ]


def parts(drawn: str, tag: str) -> list[dict[str, str]]:
    return [dict(part.attrib) for part in ElementTree.fromstring(drawn).iter(tag)]


def test_outlets_stand_in_the_order_in_which_they_printed() -> None:
    drawn = story_timeline([*printed(0, 30), *printed(90, outlet="late"), *printed(20, outlet="early")])
    labels = re.findall(r'class="label end"[^>]*>([^<]*)<', drawn)
    assert labels == ["outlet 0", "early", "outlet 1", "late"]
    assert re.findall(r'tick middle"[^>]*>([^<]*)<', drawn)[:3] == ["first", "+15 min", "+30 min"]
    dots = parts(drawn, "circle")
    assert [dot["class"] for dot in dots] == ["dot strong", "dot strong", "dot", "dot strong"]
    assert (float(dots[0]["cx"]), float(dots[-1]["cx"])) == (LEFT, WIDTH - RIGHT)


@given(st.lists(st.floats(0, 10**7), min_size=1, max_size=60))
def test_every_print_has_a_place_within_the_picture(minutes: list[float]) -> None:
    drawn = story_timeline(printed(*minutes))
    dots = parts(drawn, "circle")
    assert len(dots) == min(len(minutes), charts.OUTLETS_DRAWN)
    assert all(LEFT <= float(dot["cx"]) <= WIDTH - RIGHT for dot in dots)
    assert all(float(one["cy"]) < float(two["cy"]) for one, two in pairwise(dots))
    assert 1 <= drawn.count("tick middle") <= charts.MARKS + 2


def test_of_many_outlets_the_earliest_are_drawn_and_that_is_said() -> None:
    drawn = story_timeline(printed(*range(charts.OUTLETS_DRAWN + 5)))
    assert f"the {charts.OUTLETS_DRAWN} earliest outlets are drawn" in drawn
    assert f"{charts.OUTLETS_DRAWN + 5} outlets" in drawn


def test_bars_have_the_height_of_their_values() -> None:
    drawn = bars([Bar("6 h", 50, 0.5), Bar("7 h", 200), Bar("8 h", 0)], "Articles by hour")
    heights = [(bar["class"], float(bar["height"])) for bar in parts(drawn, "rect")]
    assert heights == [
        ("bar", charts.BAR_HEIGHT / 4),
        ("bar strong", charts.BAR_HEIGHT / 8),
        ("bar", charts.BAR_HEIGHT),
        ("bar strong", charts.BAR_HEIGHT),
    ]
    assert "6 h: 50; 7 h: 200; 8 h: 0" in drawn
    assert parts(bars([Bar("a", 0)], "Nothing"), "rect") == []
    assert bars([Bar(str(n), n) for n in range(100)], "Many").count("tick middle") <= charts.BAR_LABELS + 1


def test_a_reader_without_eyes_is_told_title_and_numbers() -> None:
    for drawn in (story_timeline(printed(0, 5), "s1"), bars([Bar("a", 3)], "Articles", "b1")):
        root = ElementTree.fromstring(drawn)
        assert root.get("role") == "img"
        told = [part.text for part in root if part.get("id") in (root.get("aria-labelledby") or "").split()]
        assert len(told) == 2
        assert all(told)
    assert (story_timeline([]), bars([], "None")) == ("", "")


def test_hostile_labels_stay_text() -> None:
    for drawn in (story_timeline(printed(0, outlet=HOSTILE)), bars([Bar(HOSTILE, 1)], HOSTILE)):
        assert [part.tag for part in ElementTree.fromstring(drawn).iter() if "script" in part.tag] == []
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", drawn)
        assert all(len(label) <= charts.LETTERS * 6 for label in re.findall(r"<text[^>]*>([^<]*)<", drawn))


def test_a_chart_has_its_numbers_as_a_table() -> None:
    page = environment("dedup.extras.pages").from_string(
        '{% from "components.html.j2" import chart %}'
        '{{ chart(picture, ("Outlet", "Articles"), rows, caption) }}'
    )
    drawn = page.render(picture=bars([Bar(HOSTILE, 7)], "Outlets"), rows=[(HOSTILE, 7)], caption="Outlets")
    root = ElementTree.fromstring(drawn)
    assert [part.text for part in root.iter("td")] == ["7"]
    assert [part.get("scope") for part in root.iter("th")] == ["col", "col", "row"]
    assert [part.tag for part in root.iter() if "script" in part.tag] == []
    assert len([*root.iter("svg")]) == 1
