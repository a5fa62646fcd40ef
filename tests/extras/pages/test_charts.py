"""Charts of pages: every bar has its height, every label its place, and labels do no harm."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from dedup.extras.pages import charts
from dedup.extras.pages.charts import Bar, Print, bars, story_timeline
from dedup.extras.pages.environment import environment

START = datetime(2031, 3, 4, 6, 10)
HOSTILE = "</text></svg><script>alert(1)</script> \"quoted' \x00\x1b[31m \u202e"


def printed(*minutes: float, outlet: str = "") -> list[Print]:
    return [
        Print(outlet or f"outlet {n}", START + timedelta(minutes=m), n == 0) for n, m in enumerate(minutes)
    ]


def parts(drawn: str, tag: str) -> list[dict[str, str]]:
    return [dict(part.attrib) for part in ElementTree.fromstring(drawn).iter(tag)]


def percent(value: str) -> float:
    assert value.endswith("%")
    return float(value[:-1])


def test_outlets_stand_in_the_order_in_which_they_printed() -> None:
    drawn = story_timeline([*printed(0, 30), *printed(90, outlet="late"), *printed(20, outlet="early")])
    labels = re.findall(r'class="label">([^<]+)<', drawn)
    assert labels == ["outlet 0", "early", "outlet 1", "late"]
    assert re.findall(r'<text class="tick[^>]*>([^<]*)<', drawn)[:3] == ["first", "+15 min", "+30 min"]
    dots = parts(drawn, "circle")
    assert [dot["class"] for dot in dots] == ["dot strong", "dot strong", "dot", "dot strong"]
    assert (dots[0]["cx"], dots[-1]["cx"]) == ("0%", "100%")


@given(st.lists(st.floats(0, 10**7), min_size=1, max_size=60))
def test_every_print_has_a_place_within_the_picture(minutes: list[float]) -> None:
    drawn = story_timeline(printed(*minutes))
    dots = parts(drawn, "circle")
    assert len(dots) == min(len(minutes), charts.OUTLETS_DRAWN)
    assert all(0 <= percent(dot["cx"]) <= 100 for dot in dots)
    ticks = parts(drawn, "text")
    assert 1 <= len(ticks) <= charts.MARKS + 1
    assert len([tick for tick in ticks if " more" not in tick["class"]]) <= 2


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


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=40),
    st.integers(0, 10**7),
    st.text("0Mar ", min_size=1, max_size=11),
)
def test_labels_fit_on_a_narrow_screen_and_the_heap_apart_flattens_nothing(
    values: list[int], heap: int, label: str
) -> None:
    drawn = bars([*(Bar(label, value) for value in values), Bar("undated", heap, apart=True)], "Articles")
    tops = [float(bar["height"]) for bar in parts(drawn, "rect") if bar["class"] == "bar"]
    if any(values):
        assert max(tops) == charts.BAR_HEIGHT
        # The first line is the floor of the bars. If the bar of undated articles is the tallest, it is cut,
        # and a second line shows the cut.
        assert len(parts(drawn, "line")) == 1 + (heap > max(values))
    spans = []
    for tick, words in re.findall(r'<text class="(tick[^"]*" x="[^"]*" y="[^"]*)">([^<]*)<', drawn):
        kind, x, y = re.fullmatch(r'tick([ a-z]*)" x="([\d.]+)%" y="([\d.]+)', tick).groups()  # type: ignore[union-attr]
        wide, at = charts.LETTER * len(words), charts.NARROW * float(x) / 100
        left = at - {"middle": wide / 2, "end": wide}.get(kind.replace("more", "").strip(), 0)
        assert left >= -0.5
        assert left + wide <= charts.NARROW + 0.5
        if float(y) > charts.BAR_TOP + charts.BAR_HEIGHT and "more" not in kind:
            spans.append((left, left + wide))
    assert ">undated<" in drawn
    assert f">{heap:,}<" in drawn
    assert all(one[1] <= other[0] for one, other in pairwise(sorted(spans))), spans


def test_a_reader_without_eyes_is_told_title_and_numbers() -> None:
    root = ElementTree.fromstring(bars([Bar("a", 3)], "Articles", "b1"))
    assert root.get("role") == "img"
    told = [part.text for part in root if part.get("id") in (root.get("aria-labelledby") or "").split()]
    assert told == ["Articles", "a: 3"]
    root = ElementTree.fromstring(story_timeline(printed(0, 5)))
    assert root.get("role") == "img"
    assert "2 articles of 2 outlets" in (root.get("aria-label") or "")
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
    assert [part.text for part in root.iter("figcaption")] == ["Outlets"]
