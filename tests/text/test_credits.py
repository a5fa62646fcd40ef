"""Credits: the agencies that a text names as its source, and words that only look like a credit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.text.credits import HEAD, PLACES, Agency, CreditReader
from tests.loops import each

AGENCIES = [
    Agency(1, "AP", ("AP", "Associated Press")),
    Agency(2, "dpa", ("dpa", "Deutsche Presse-Agentur")),
    Agency(3, "Reuters", ("Reuters", "Thomson/Reuters")),
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
    "The Associated Press \u2014 By Ada Roe - AP Sports Writer\n": {"AP"},
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
    "Ada Roe, Associated Press": {"AP"},
    "Ada Roe and Bo Day, Associated Press": {"AP"},
    "Associated Press Monday, July 16": {"AP"},
    "By Ada Roe - Associated Press - Monday, July 16, 2018": {"AP"},
}


@pytest.mark.parametrize("line", BYLINES)
def test_the_agency_of_a_byline_is_a_credit_in_a_text_and_beside_it(line: str) -> None:
    assert read(f"Ferry late\n{line}\n{BODY}") == dict.fromkeys(BYLINES[line], "byline")
    if "May" not in line and "Paris" not in line:
        assert read(BODY, line) == dict.fromkeys(BYLINES[line], "byline")


AUTHORS = {
    "Ada Roe, Bo Day, Associated Press, Cy Fox, Dee Hall, Eve Ivy": set(),
    "Ada Roe, Staff Writer, Reuters, Courier Wire, Bo Day, AFP, Cy Fox": set(),
    "Ada Roe, Bo Day, Associated Press, Cy Fox, Dee Hall": {"AP"},
    "Ada Roe, Bo Day, Cy Fox, Dee Hall, Eve Ivy and Associated Press": {"AP"},
    "AFP, Reuters, Ada Roe, Bo Day, Cy Fox, Dee Hall": {"AFP", "Reuters"},
    "By Ada Roe and Bo Day - Associated Press - Monday, July 16, 2018": {"AP"},
}


@each("byline", AUTHORS)
def test_an_agency_amid_all_the_names_of_a_page_is_no_credit(byline: str) -> None:
    assert read(BODY, byline) == dict.fromkeys(AUTHORS[byline], "byline")


ENDS = {
    "It sank. (AP)": ({"AP"}, "end"),
    "It sank. (dpa/lno)": ({"dpa"}, "end"),
    "It sank.  (AFP, dpa, 11.9.2015)": ({"AFP", "dpa"}, "end"),
    "It sank. (Reuters, red)": ({"Reuters"}, "end"),
    "It sank.\nAFP": ({"AFP"}, "end"),
    "It sank. - Reuters": ({"Reuters"}, "end"),
    "It sank.\u201d \u2014 PTI/AFP": ({"PTI", "AFP"}, "end"),
    "It sank. AFP": ({"AFP"}, "end"),
    "It sank.\n\n\u00a9 AFP": ({"AFP"}, "photo"),
    "It sank.\n\n\u00a9 AFP 2020": ({"AFP"}, "copyright"),
    "It sank.\n\u00a9 2018 Thomson/Reuters. All rights reserved.": ({"Reuters"}, "copyright"),
    "It sank. (Avec AFP)": ({"AFP"}, "contribution"),
    "It sank.\nAda Roe and Reuters contributed": ({"Reuters"}, "contribution"),
    "It sank.\nAda Roe contributed to this report, along with the Associated Press.": (
        {"AP"},
        "contribution",
    ),
    "It sank.\nContributing: Ada Roe, Brig News; The Associated Press. Follow Bo Day": (
        {"AP"},
        "contribution",
    ),
    "It sank.\nAda Roe, as well as the Associated Press contributed to this report.": (
        {"AP"},
        "contribution",
    ),
    "It sank, he said.The Associated Press contributed to this report.": ({"AP"}, "contribution"),
    "It sank.\nWith files from Reuters": ({"Reuters"}, "contribution"),
    "It sank.\n__\nAssociated Press writer Ada Roe contributed from Brig.": ({"AP"}, "contribution"),
    "It sank.\nSource: Associated Press": ({"AP"}, "end"),
    "It sank.\nThis story was reported by The Associated Press.": ({"AP"}, "end"),
    "It sank.\nBrig, 11 jan 2019 (AFP) -": ({"AFP"}, "end"),
    "It sank.\nXYZ/AFP": ({"AFP"}, "end"),
    "It sank.\nBy Ada Roe, Associated Press": ({"AP"}, "end"),
    "The ferry before it sank. (AP Photo/Ada Roe, File)": ({"AP"}, "photo"),
    "The ferry before it sank. (Ada Roe/AFP/Getty Images)": ({"AFP"}, "photo"),
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
    BODY + "Photo \u00a9 AFP and others\n" + BODY,
    BODY + "The Associated Press (AP) - an agency - saw the ferry.\n" + BODY,
    BODY + "He read the agency (AP) on Monday.\n" + BODY,
    BODY + "A ferry sank in the lake ( The Associated Press ). Nobody saw it.\n" + BODY,
    BODY + "The ferry sank. (June 27) AP",
    "\u201cA ferry sank.\u201d\n\nAda Roe, Reuters\n\n" + BODY,
    BODY + "An AFP/Ipsos poll asked about ferries.",
    "Who contributed to this report? " + BODY,
    "",
    "(",
    "(AP",
]


@pytest.mark.parametrize("text", NONE)
def test_what_only_names_an_agency_is_no_credit(text: str) -> None:
    assert read(text) == {}


ITEMS = {
    "BRIG, 14. (Reuters.) \u2014 A ferry ran late.": {"Reuters"},
    "Brig , 14 . Aug . ( A. F. P. ) A ferry ran late.": {"AFP"},
    "BRIG, 14. \u2014 Reuters. \u2014 A ferry ran late.": {"Reuters"},
    "A ferry ran\nlate. (AFP-Reuters)": {"AFP", "Reuters"},
    "A ferry ran\nlate. (AFP, some others)": set(),
    "A ferry ran\nlate. (AFP, Cour.)": {"AFP"},
    "A ferry ran late. / dpa": {"dpa"},
}


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_amid_a_text_has_a_credit_of_its_own(item: str) -> None:
    assert read(f"{BODY}{item}\n{BODY}") == dict.fromkeys(ITEMS[item], "item")


def test_items_of_several_agencies_make_each_credit_one_of_an_item() -> None:
    assert read(f"BRIG (AP) - {BODY}Brig, 14. (dpa) - {BODY}") == {"AP": "item", "dpa": "item"}
    assert read(f"BRIG (AP) - {BODY}Brig, 14. (AP) - {BODY}") == {"AP": "dateline"}


PHOTOS = {
    "Enlarge this image toggle caption Ada Roe/AP Ada Roe/AP": "AP",
    "Image copyright AFP Image caption A ferry": "AFP",
    "The ferry before it sank. | AP Photo Ferry late": "AP",
    "(Reuters photo: Ada Roe)": "Reuters",
    "The ferry before it sank. (Reuters)": "Reuters",
    "Modal Trigger / Reuters": "Reuters",
    "Modal Trigger\nReuters": "Reuters",
    "Photo: AFP": "AFP",
}


@pytest.mark.parametrize("line", PHOTOS)
def test_the_credit_of_a_photo_is_no_credit_of_the_text(line: str) -> None:
    assert read(f"Ferry late\n\n{line}\n\n{BODY}") == {PHOTOS[line]: "photo"}


def test_a_dateline_after_captions_is_that_of_the_text() -> None:
    captions = "The ferry before it sank, at the pier of Brig. (AP Photo/Ada Roe)\n\n" * 8
    assert read(f"{captions}BRIG (AP) \u2014 {BODY}") == {"AP": "dateline"}


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


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(st.text(), st.text() | st.none(), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_any_text_and_any_list_can_be_read(text: str, byline: str | None, names: list[str]) -> None:
    listed = [Agency(i, name, (name,)) for i, name in enumerate(names)]
    for number, place in CreditReader(listed).read(text, byline):
        assert number < len(names)
        assert place in PLACES


@given(st.text(max_size=3 * HEAD))
def test_what_stands_between_beginning_and_end_does_not_count(middle: str) -> None:
    text = "x" * 2 * HEAD + "\n" + middle + "\n" + "The ferry ran late on Monday. " * 20
    assert set(read(text).values()) <= {"item"}
