"""Two texts side by side: long texts are folded or cut with a count, and hostile texts stay text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup.extras.pages.comparison import FOLDED_ROWS, OPENED, SHOWN, SIDE, Block, compare
from dedup.extras.pages.environment import environment
from dedup.text.alignment import Kind, reflowed

STORM = "The storm reached the coast on Monday. Two boats were lost off the cape. The mayor spoke at noon."


def drawn(blocks: list[Block]) -> str:
    """Render the component as HTML."""
    page = environment("dedup.extras.pages").from_string(
        '{% from "components.html.j2" import comparison %}{{ comparison(blocks) }}'
    )
    return page.render(blocks=blocks)


def shown(blocks: list[Block], side: str) -> str:
    cells = (getattr(line, side) for block in blocks for line in block.lines)
    return "".join(part.text for cell in cells if cell for part in cell.parts)


def sentences(first: int, stop: int) -> str:
    return " ".join(f"Ward{n} saw water{n} stand hands{n} high." for n in range(first, stop))


@given(st.text(max_size=80), st.text(max_size=80))
def test_short_texts_are_shown_whole(a: str, b: str) -> None:
    blocks = compare(a, b)
    assert (shown(blocks, "a"), shown(blocks, "b")) == (reflowed(a), reflowed(b))


def test_marks_have_an_element_of_their_own() -> None:
    other = STORM.replace("Monday", "Tuesday").replace("Two boats", "Two red boats").replace(" at noon", "")
    made = drawn(compare(STORM, other))
    for mark in ("<mark>Monday.</mark>", "<mark>Tuesday.</mark>", "<ins>red</ins>", "<del>at noon.</del>"):
        assert made.count(mark) == 1
    assert (made.count("<mark>"), made.count("<ins>"), made.count("<del>")) == (2, 1, 1)


def test_common_and_moved_sentences_are_told_in_words() -> None:
    moved = (
        "The mayor spoke at noon. The storm reached the coast on Monday. Two boats were lost off the cape."
    )
    made = drawn(compare(STORM, moved, ["Two boats were lost off the cape."]))
    assert made.count("common sentence") == 2
    assert made.count("elsewhere in the other text") == 2


def test_what_both_texts_have_is_folded_except_beside_a_difference() -> None:
    same = sentences(0, FOLDED_ROWS + 2)
    blocks = compare(f"{same} Rain fell on Monday.", f"{same} Snow came much later.")
    assert [(len(block.lines), block.folded) for block in blocks] == [
        (1, False), (FOLDED_ROWS, True), (1, False), (2, False),
    ]  # fmt: skip
    assert f"{FOLDED_ROWS} sentences that both texts have" in drawn(blocks)
    fewer = sentences(0, FOLDED_ROWS + 1)
    assert not any(block.folded for block in compare(fewer, fewer))


def test_what_is_too_long_is_left_out_and_counted() -> None:
    same = sentences(0, OPENED // 20)
    head, left_out, tail = compare(same, same)
    assert (left_out.lines, left_out.same) == ((), True)
    assert len(shown([head, tail], "a")) + left_out.cut == len(same)
    long = "w" * (SHOWN + 1)
    (line,) = compare(long, "")[0].lines
    assert line.a
    assert sum(len(part.text) + part.cut for part in line.a.parts) == len(long)
    assert {part.kind for part in line.a.parts} == {Kind.REMOVED}
    blocks = compare(sentences(0, 2_000), sentences(5_000, 7_000))
    assert blocks[-1].cut > SIDE
    assert max(len(shown(blocks, side)) for side in "ab") <= SIDE + SHOWN


def test_hostile_texts_stay_text() -> None:
    hostile = (
        '</div></ins><script>alert(1)</script> "quoted" <img src=x onerror=alert(1)> {{ 7 * 7 }} \x1b[31m'
    )
    made = drawn(compare(hostile, f"{hostile} more", [hostile]))
    assert "<script" not in made
    assert "<img" not in made
    assert "{{ 7 * 7 }}" in made
    assert "\x1b" not in made
