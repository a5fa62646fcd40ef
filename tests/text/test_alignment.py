"""Alignment of two texts: exactly the known edits are found, and the work grows with the length only."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from dedup.text import alignment, differences
from dedup.text.alignment import AlignedRow, Kind, Passage, Segment, align, align_letters, reflowed, twins

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "benchmarks"))
import aligning

from tests.corpora import misread, text, window

STORM = "The storm reached the coast on Monday. "
BOATS = "Two boats were lost, and their crews were taken off by helicopter. "
MAYOR = "The mayor of the town spoke at noon. "

prose = st.lists(
    st.sampled_from(["Rain fell. ", "rain", "Fell on the town. ", ". ", "! ", "\n\n", " -- ", "雨。", "كتاب"])
).map("".join)
anything = st.text(max_size=60) | prose


def told(row: AlignedRow) -> tuple[str | None, str | None]:
    """Return the texts of both sides of a row, without spaces at the ends."""
    return tuple(None if side is None else side.text.strip() for side in (row.a, row.b))  # type: ignore[return-value]


def marked(passage: Passage | None) -> list[tuple[str, str]]:
    """Return the parts of a passage that the other passage lacks, each with its kind."""
    return [(s.kind.value, s.text.strip(" .")) for s in passage.segments if not s.shared] if passage else []


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("aligned", [align, align_letters])
@given(a=anything, b=anything)
def test_the_passages_of_a_side_are_its_text(
    aligned: Callable[[str, str], list[AlignedRow]], a: str, b: str
) -> None:
    rows = aligned(a, b)
    assert "".join(row.a.text for row in rows if row.a) == a
    assert "".join(row.b.text for row in rows if row.b) == b
    assert all(row.a or row.b for row in rows)
    assert all(side.text for row in rows for side in (row.a, row.b) if side)


@given(anything)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    rows = align(text, text)
    assert all(row.same for row in rows)
    assert not any(side.elsewhere for row in rows for side in (row.a, row.b) if side)


@given(anything, anything)
def test_the_order_of_the_texts_does_not_matter(a: str, b: str) -> None:
    def sides(rows: list[AlignedRow]) -> list[list[tuple[str, bool]]]:
        every = ([row.a for row in rows], [row.b for row in rows])
        return [[(s.text, s.shared) for p in side if p for s in p.segments] for side in every]

    assert sides(align(a, b)) == sides(align(b, a))[::-1]


@dataclass
class Edited:
    """A text, an edited version of it, and the rows that their alignment must have."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    rows: list[tuple[list[tuple[str, str]], list[tuple[str, str]]]] = field(default_factory=list)


EDITS = ("keep", "insert", "remove", "replace", "add word", "remove word", "change word")


def edited(acts: list[str], seed: int) -> Edited:
    """Make a text and edit it, one act for each sentence; no word occurs twice."""
    rng = random.Random(seed)
    number = iter(range(10_000))
    found = Edited()

    def sentence() -> list[str]:
        return [f"Word{next(number)}", *(f"word{next(number)}" for _ in range(rng.randint(7, 14)))]

    def note(a: list[str] | None, b: list[str] | None, left: list[str], right: list[str]) -> None:
        kinds = ("changed", "changed") if left and right else ("removed", "added")
        found.rows.append(
            ([(kinds[0], " ".join(left))] * bool(left), [(kinds[1], " ".join(right))] * bool(right))
        )
        for words, side in ((a, found.before), (b, found.after)):
            if words:
                side.append(" ".join(words) + ".")

    for act in acts:
        one, place = sentence(), rng.randint(1, 5)
        new = [f"word{next(number)}" for _ in range(rng.randint(1, 2))]
        if act == "keep":
            note(one, one, [], [])
        elif act == "insert":
            note(None, one, [], one)
        elif act == "remove":
            note(one, None, one, [])
        elif act == "replace":
            other = sentence()
            note(one, None, one, [])
            note(None, other, [], other)
        elif act == "add word":
            note(one, one[:place] + new + one[place:], [], new)
        elif act == "remove word":
            note(one, one[:place] + one[place + 1 :], [one[place]], [])
        else:
            note(one, one[:place] + new + one[place + 1 :], [one[place]], new)
    return found


@given(st.lists(st.sampled_from(EDITS), min_size=1, max_size=25), st.integers(0, 10_000))
def test_known_edits_are_found_and_nothing_else(acts: list[str], seed: int) -> None:
    made = edited(acts, seed)
    rows = align(" ".join(made.before), " ".join(made.after))
    found = [(marked(row.a), marked(row.b)) for row in rows]
    # `align` lists removed sentences before added ones; the editor here may not, so compare the rows sorted.
    assert sorted(found) == sorted(made.rows)
    both = [row for row in found if not (row[0] and not row[1]) and not (row[1] and not row[0])]
    assert both == [row for row in made.rows if not (row[0] and not row[1]) and not (row[1] and not row[0])]
    assert not any(side.elsewhere for row in rows for side in (row.a, row.b) if side)


@given(st.integers(3, 12), st.data(), st.booleans())
def test_a_moved_sentence_is_found_with_its_edit(count: int, data: st.DataObject, change: bool) -> None:
    made = edited(["keep"] * count, 1)
    origin = data.draw(st.integers(0, count - 1))
    others = made.before[:origin] + made.before[origin + 1 :]
    # A sentence that moves by one place only cannot be told from its neighbour, which moves too.
    target = data.draw(st.sampled_from([n for n in range(count) if abs(n - origin) > 1] or [origin]))
    version = made.before[origin].replace(" ", " changed ", 1) if change else made.before[origin]
    rows = align(" ".join(made.before), " ".join([*others[:target], version, *others[target:]]))
    moved = [row for row in rows if not (row.a and row.b)]
    if target == origin:
        assert moved == []
        return
    assert {told(row) for row in moved} == {(made.before[origin], None), (None, version)}
    assert all(side.elsewhere for row in moved for side in (row.a, row.b) if side)
    assert [mark for row in rows for mark in marked(row.a) + marked(row.b)] == [("added", "changed")] * change


def test_a_sentence_that_was_split_stays_one_row() -> None:
    split = "Two boats were lost. Their crews were taken off by helicopter. "
    for a, b in (
        (STORM + BOATS + MAYOR, STORM + split + MAYOR),
        (STORM + split + MAYOR, STORM + BOATS + MAYOR),
    ):
        rows = align(a, b)
        assert [told(row) for row in rows][1] == ((BOATS if BOATS in a else split).strip(), told(rows[1])[1])
        assert len(rows) == 3
        assert marked(rows[1].a) + marked(rows[1].b) == [("removed" if BOATS in a else "added", "and")]


def test_a_sentence_that_one_text_repeats_is_no_difference() -> None:
    rows = align(STORM + BOATS + STORM, STORM + BOATS)
    assert told(rows[2]) == (STORM.strip(), None)
    assert rows[2].a is not None
    assert (rows[2].a.different, rows[2].a.elsewhere) == (False, True)


def test_common_sentences_are_marked_even_if_they_are_split_differently() -> None:
    common = "Mr. Smith of St. Mary's Rd. Harbour edited this."
    rows = align(f"{STORM}{common} {MAYOR}", f"{STORM}{MAYOR}", [common.upper()])
    assert "".join(row.a.text for row in rows if row.a and row.a.common) == f"{common} "
    assert not [row for row in rows if row.b and row.b.common]


def test_paragraphs_are_told() -> None:
    rows = align(f"{STORM}{BOATS}\n\n{MAYOR}", STORM + BOATS + MAYOR)
    assert [(row.a.opens, row.b.opens) for row in rows if row.a and row.b] == [
        (True, True), (False, False), (True, False),
    ]  # fmt: skip
    assert reflowed(f"Storm\nhits the\r\ncoast.\n\n\n{MAYOR}") == f"Storm hits the coast.\n\n{MAYOR.strip()}"


@pytest.mark.parametrize(
    ("a", "b"), [("", ""), ("", STORM), (" \n", "!"), ("\x00", "\ud800"), ("...", STORM)]
)
def test_texts_without_words(a: str, b: str) -> None:
    assert ["".join(side.text for row in align(a, b) if (side := getattr(row, n))) for n in "ab"] == [a, b]


def test_misread_letters_are_marked_even_if_sentences_are_broken() -> None:
    rows = align_letters(
        f"{STORM}{BOATS}\n\n{MAYOR}",
        "Thc stormreached tlie coast on Mon day Two bcats wer"
        "e lost. and thelr crews were. taken off by helicopter, The mayor of the town spoke at nnoon. -",
    )
    assert [(marked(row.a), marked(row.b)) for row in rows] == [
        ([("changed", "e"), ("changed", "h")], [("changed", "c"), ("changed", "li")]),
        ([("changed", "o"), ("changed", "i")], [("changed", "c"), ("changed", "l")]),
        ([], [("added", "n")]),
    ]  # fmt: skip
    assert [told(row)[1] for row in rows][1:] == [
        "Two bcats were lost. and thelr crews were. taken off by helicopter,",
        "The mayor of the town spoke at nnoon. -",
    ]


def test_a_misread_text_may_be_long_and_lack_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "WINDOW_LETTERS", 1_000)
    codes = window(0, 60, ring=1_000)
    rows = align_letters(text(codes), misread(text([*codes[:20], *codes[26:]]), 25))
    kept = [
        row.a and row.b and 2 * sum(len(s.text) for s in row.a.segments if s.shared) > len(row.a.text)
        for row in rows
    ]
    assert all([*kept[:20], *kept[27:]])
    assert sum(row.b is None for row in rows[20:26]) >= 4


def test_twins_are_found_wherever_they_stand() -> None:
    a = ["The storm reached the coast on Monday.", "Two boats were lost.", "The mayor spoke at noon."]
    b = ["Schools stay closed.", "The mayor spoke at one.", "A storm reached the coast on Monday."]
    assert twins(a, b) == [(0, 2), (1, None), (2, 1), (None, 0)]


def test_the_most_alike_are_twins() -> None:
    near, nearer = "Two red boats were lost off the cape.", "Two boats were lost off the cape."
    assert twins([near, nearer], [nearer]) == [(0, None), (1, 0)]


@given(st.lists(prose, max_size=6), st.lists(prose, max_size=6))
def test_every_sentence_is_told_once(a: list[str], b: list[str]) -> None:
    found = twins(a, b)
    assert [i for i, _ in found if i is not None] == [*range(len(a))]
    assert sorted(j for _, j in found if j is not None) == [*range(len(b))]


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("name", aligning.CASES)
def test_the_work_for_100_000_characters_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cells, compared = 0, 0

    class Counting:
        @staticmethod
        def opcodes(a: list[int], b: list[int]) -> object:
            nonlocal cells
            cells += len(a) * len(b)
            return LCSseq.opcodes(a, b)

    class Words(frozenset[str]):
        def __and__(self, other: object) -> frozenset[str]:
            nonlocal compared
            compared += 1
            return frozenset.__and__(self, other)  # type: ignore[operator]

    monkeypatch.setattr(alignment, "LCSseq", Counting)
    monkeypatch.setattr(differences, "LCSseq", Counting)
    monkeypatch.setattr(alignment, "frozenset", Words, raising=False)
    a, b = aligning.texts(name)
    rows = align(a, b)
    assert min(len(a), len(b)) > 95_000
    assert cells <= 25_000**2
    assert 0 < compared + (name == "no sentence") <= 30 * len(rows)


def test_segments_are_exported_where_rows_are() -> None:
    assert align("", "Rain fell.") == [
        AlignedRow(None, Passage((Segment("Rain fell.", Kind.ADDED),), True, False, False))
    ]
