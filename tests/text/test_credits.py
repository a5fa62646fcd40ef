"""Credits: which agencies a text says it is of, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.text.credits import HEAD, PLACES, Agency, CreditReader

AGENCIES = [
    Agency(1, "AP", ("AP", "Associated Press")),
    Agency(2, "dpa", ("dpa", "Deutsche Presse-Agentur")),
    Agency(3, "Reuters", ("Reuters",)),
    Agency(4, "PTI", ("PTI", "Press Trust of India")),
    Agency(5, "AFP", ("AFP", "Agence France-Presse")),
]
NAMES = {agency.id: agency.name for agency in AGENCIES}
READER = CreditReader(AGENCIES)
BODY = "The ferry ran late on Monday. Nobody saw it from the pier.\n" * 12


def read(text: str, byline: str | None = None) -> dict[str, str]:
    return {NAMES[number]: place for number, place in READER.read(text, byline)}


DATELINES = {
    "BRIG (AP) \u2014 A ferry ran late.": {"AP"},
    "PORT HALE, Jan. 5 (Reuters) - A ferry ran late.": {"Reuters"},
    "Brig (dpa/lno) \u2013 Eine F\u00e4hre kam sp\u00e4t.": {"dpa"},
    "Brig (AFP/dpa) - Eine F\u00e4hre kam sp\u00e4t.": {"AFP", "dpa"},
    "New Delhi, Jan 5 (PTI) The ferry ran late.": {"PTI"},
    "MUMBAI (PTI) The ferry ran late.": {"PTI"},
    "(AP) The ferry ran late.": {"AP"},
    "Reuters. \u2013 The ferry ran late.": {"Reuters"},
    "dpa - Eine F\u00e4hre kam sp\u00e4t.": {"dpa"},
    "Ferry late\n\nBRIG (Associated Press) - A ferry ran late.": {"AP"},
}


@pytest.mark.parametrize("beginning", DATELINES)
def test_the_agency_of_a_dateline_is_a_credit(beginning: str) -> None:
    assert read(f"{beginning} {BODY}") == dict.fromkeys(DATELINES[beginning], "dateline")


BYLINES = {
    "By The Associated Press": {"AP"},
    "BY ASSOCIATED PRESS": {"AP"},
    "By Ada Roe, Associated Press Writer": {"AP"},
    "By Ada Roe | AP Sports Writer": {"AP"},
    "Von Deutsche Presse-Agentur": {"dpa"},
    "By AFP and Reuters": {"AFP", "Reuters"},
    "PTI | May 11, 2016": {"PTI"},
    "AFP, Paris": {"AFP"},
    "Reuters": {"Reuters"},
}


@pytest.mark.parametrize("line", BYLINES)
def test_the_agency_of_a_byline_is_a_credit_in_a_text_and_beside_it(line: str) -> None:
    assert read(f"Ferry late\n{line}\n{BODY}") == dict.fromkeys(BYLINES[line], "byline")
    if "May" not in line and "Paris" not in line:
        assert read(BODY, line) == dict.fromkeys(BYLINES[line], "byline")


ENDS = {
    "It sank. (AP)": ({"AP"}, "end"),
    "It sank. (dpa/lno)": ({"dpa"}, "end"),
    "It sank.  (AFP, dpa, 11.9.2015)": ({"AFP", "dpa"}, "end"),
    "It sank. (Reuters, red)": ({"Reuters"}, "end"),
    "It sank.\nAFP": ({"AFP"}, "end"),
    "It sank. - Reuters": ({"Reuters"}, "end"),
    "It sank.\u201d \u2014 PTI/AFP": ({"PTI", "AFP"}, "end"),
    "It sank. AFP": ({"AFP"}, "end"),
    "It sank.\n\n\u00a9 AFP": ({"AFP"}, "copyright"),
    "It sank.\nCopyright 2020 The Associated Press. All rights reserved.": ({"AP"}, "copyright"),
    "It sank.\n\u00a9 Copyright 2019 The Associated Press. All rights reserved.": ({"AP"}, "copyright"),
    "It sank (dpa, 29.4.2016)": ({"dpa"}, "end"),
    "It sank.\n-- Reuters Brig Bureau (416) 555-8100": ({"Reuters"}, "end"),
    "It sank.\n\n With Associated Press and Agence France-Presse": ({"AP", "AFP"}, "contribution"),
    "It sank.\nThis report contains material from the Associated Press and Reuters.": (
        {"AP", "Reuters"},
        "contribution",
    ),
    "It sank.\n(c) Reuters Limited 1997": ({"Reuters"}, "copyright"),
    "It sank.\n(C) Reuters Limited 1997": ({"Reuters"}, "copyright"),
    "It sank.\n\nMaterial from Reuters was used in this story.": ({"Reuters"}, "contribution"),
    "It sank.\nThe Associated Press contributed to this report.": ({"AP"}, "contribution"),
    "It sank.\nThe Associated Press and Reuters contributed to this report.": (
        {"AP", "Reuters"},
        "contribution",
    ),
    "It sank.\n___\nAssociated Press writers Ada Roe and Bo Day contributed to this report.": (
        {"AP"},
        "contribution",
    ),
}


@pytest.mark.parametrize("ending", ENDS)
def test_the_agency_of_a_closing_line_is_a_credit(ending: str) -> None:
    names, place = ENDS[ending]
    assert read(BODY + ending) == dict.fromkeys(names, place)


NONE = [
    "The AP exam is hard. " + BODY,
    "An AP photographer saw the ferry. " + BODY,
    "Advanced Placement (AP) exams start on Monday. " + BODY,
    "The Associated Press (AP) reported that the ferry ran late. " + BODY,
    "AP, the agency, said so. " + BODY,
    BODY + "It sank, he told Reuters.",
    BODY + "It sank, according to AFP",
    BODY + "The ferry before it sank. (AP Photo/Ada Roe, File)",
    BODY + "The ferry before it sank. (Ada Roe/AFP/Getty Images)",
    BODY + "Photo \u00a9 AFP and others\n" + BODY,
    BODY + "BRIG (AP) - Another ferry ran late.\n" + BODY,
    "Who contributed to this report? " + BODY,
    "",
    "(",
    "(AP",
]


@pytest.mark.parametrize("text", NONE)
def test_what_only_names_an_agency_is_no_credit(text: str) -> None:
    assert read(text) == {}


def test_an_agency_counts_only_at_its_places() -> None:
    reader = CreditReader([Agency(1, "AP", ("AP",), ("end",))])
    assert reader.read("BRIG (AP) - " + BODY, "AP") == ()
    assert reader.read(BODY + "It sank. (AP)") == ((1, "end"),)


def test_of_several_places_the_first_is_told() -> None:
    assert read("BRIG (AP) - " + BODY + "\n\u00a9 AP") == {"AP": "dateline"}
    assert read("BRIG (AP) - " + BODY, "AP") == {"AP": "byline"}


def test_case_counts_in_short_names_only() -> None:
    assert read("Brig (ap) - " + BODY) == {}
    assert read("Brig (REUTERS) - " + BODY) == {"Reuters": "dateline"}


@given(st.text(), st.text() | st.none(), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_any_text_and_any_list_can_be_read(text: str, byline: str | None, names: list[str]) -> None:
    listed = [Agency(i, name, (name,)) for i, name in enumerate(names)]
    for number, place in CreditReader(listed).read(text, byline):
        assert number < len(names)
        assert place in PLACES


@given(st.text(max_size=3 * HEAD))
def test_what_stands_between_beginning_and_end_does_not_count(middle: str) -> None:
    text = "x" * HEAD + "\n" + middle + "\n" + "The ferry ran late on Monday. " * 20
    assert read(text) == {}
