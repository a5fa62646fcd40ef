"""Origins of 30 stories and sets of real news, which a person counted by reading before the program did.

The set `25-171` is the press release of a study, and the reports on the study; the ids of its articles begin
with `is-25-171-`. Other ids are of US outlets. Each count has its reasons. The program's numbers were right
in all 30 cases. One expected name was changed afterwards: the person had counted the byline
"New Scientist staff and Press Association" as PA.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dedup import Article, Deduplicator
from dedup.extras.coverage.outlets import Outlet
from tests.conftest import Server
from tests.loops import each

ALIASES = {
    "washingtonpost.com": ("The Washington Post", "Washingtonpost.com", "Washington Post Blogs"),
    "mirror.co.uk": ("Daily Mirror", "mirror.co.uk was prev in"),
    "thesun.co.uk": ("GOOGLESEARCH thesun.co.uk", "The Sun (England)", "thesun.com"),
    "scotsman.com": ("GOOGLESEARCH scotsman.com",),
    "independent.co.uk": (
        *("Independent.co.uk", "The Independent (United Kingdom)", "independent.com"),
        *("The Independent - Daily Edition", "Daily Edition"),
    ),
    "nytimes.com": ("The New York Times",),
    "bankokpost.com": ("The Bangkok Post (Thailand)",),
    "CNN (Web News)": ("CNN - Editorial",),
    "Fox News": ("Fox News (Online)", "Fox News Opinion"),
}
FAMILIES = {
    "BBC": (
        *("BBC Radio", "BBC World Service Radio", "BBCRadio", "BBC 2 BBC Newsroom Live", "BBC Breakfast"),
        "BBC World GMT",
    ),
    "DMGT": (
        *("dailymail.co.uk", "dailymail.com", "mail online", "DAILY MAIL (London)", "Scottish Daily Mail"),
        "Irish Daily Mail",
    ),
    "Express": ("express.co.uk", "express.com", "Express Online", "The Express"),
    "Fox": ("Fox News", "Fox Online News"),
    "Guardian": ("theguardian.com", "The Guardian(London)", "guardian.com"),
    "Lebedev": ("independent.co.uk", "standard.co.uk"),
    "News Corp": (
        *("thesun.co.uk", "thesun.ie", "thescottishsun.co.uk", "couriermail.com.au", "heraldsun.com.au"),
        "couriermail.com",
    ),
    "Telegraph": ("telegraph.co.uk", "The Daily Telegraph (London)"),
    "Tronc": ("latimes.com", "chicagotribune.com"),
}
AGENCIES = {"uk.reuters.com": "Reuters", "reuters.com": "Reuters", "AP Fact Check": "AP"}
STATED = [
    *(Outlet(name, alias_of=outlet) for outlet, names in ALIASES.items() for name in names),
    *(Outlet(name, family=family) for family, names in FAMILIES.items() for name in names),
    *(Outlet(name, agency=agency) for name, agency in AGENCIES.items()),
]


@dataclass(frozen=True)
class Counted:
    """A set of articles, with the origins that a person counted, and the person's reasons."""

    ids: str
    origins: tuple[str, ...]
    why: str


SETS = (
    Counted("25-171", ("AFP", "News Corp", "press release"), "four AFP reprints; one report in two papers"),
    Counted(
        "25-159",
        ("BBC", "Telegraph", "News Corp", "PTI", "AFP", "DMGT", "Express", "Lebedev", "press release"),
        "AFP in four outlets, one of which leaves it out; the Straits Times prints the Telegraph",
    ),
    Counted(
        "26-014",
        ("PA", "cityam.com", "DMGT", "mirror.co.uk", "press release"),
        "the Scotsman prints PA and does not say so, the Independent does",
    ),
    Counted("26-021", ("IANS", "DMGT", "press release"), "IANS in two outlets"),
    Counted("26-022", ("IANS", "Express", "press release"), "IANS in two outlets; two texts of the Express"),
    Counted(
        "25-198",
        ("AP", "washingtonpost.com", "Lebedev", "Guardian", "press release"),
        "AP in three outlets; the Chicago Tribune prints the Washington Post",
    ),
    Counted(
        "25-106",
        ("Reuters", "Express", "Guardian", "washingtonpost.com", "press release"),
        "Reuters in five outlets, of which one credits it; reuters.com is the agency",
    ),
    Counted(
        "26-008",
        (
            *("BBC", "FIVE news tonight", "Sky news sunrise", "IANS", "Express", "Lebedev", "News Corp"),
            "press release",
        ),
        "IANS in two outlets; all others wrote their own",
    ),
    Counted("26-041", ("DMGT", "ANI"), "ANI reprints the press release: one text, and it is credited"),
    Counted("25-089", ("DMGT", "Telegraph", "Express", "press release"), "one report in three Mails"),
    Counted("26-040", ("Express", "Guardian", "PA"), "the Express prints the press release"),
    Counted("25-202", ("Express", "nytimes.com", "Reuters", "press release"), "uk.reuters.com is the agency"),
    Counted(
        "25-201",
        ("DMGT", "Express", "nytimes.com", "press release"),
        "the Globe and Mail prints the New York Times; three texts of the Express",
    ),
    Counted("04-012", ("IANS", "press release"), "Gulf News prints IANS"),
    Counted(
        "25-111",
        ("BBC", "newscientist.com", "press release"),
        "three broadcasts of the BBC; staff of New Scientist and PA wrote a text together",
    ),
    # Single stories
    Counted(
        "25-127-n36 25-127-n42 25-127-n30 25-127-n38 25-127-x2119 25-127-x2129 25-127-x2201", ("PA",), "PA"
    ),
    Counted("25-179-n10 25-179-n19 25-179-n28 25-179-n5", ("AFP",), "all four credit AFP"),
    Counted("27-002-n6 27-002-x1006 27-002-x1007 27-002-x1105", ("News Corp",), "one report of the Sun"),
    Counted("29-033-n9 29-033-x505 29-033-x509 29-033-x510", ("DMGT",), "one report in four Mails"),
    Counted("25-192-x1 25-192-n19", ("bankokpost.com",), "a paper and its page"),
    Counted("25-200-n14 25-200-n2", ("Tronc",), "two papers of one owner print one text"),
    Counted("25-106-n1 25-106-n2", ("Reuters",), "two reprints without credit, of a text that others credit"),
    Counted("25-198-n3 25-198-n8", ("washingtonpost.com",), "one report; the original is not in the set"),
    # Articles of US outlets, without copies among them
    Counted(
        "abp-0bLNyxHLnHODdIuH abp-haKWQpo59moHtsa1 abp-IRwDnA47Dw7HF1rV",
        ("Reuters",),
        "an article of the agency, a dateline, a copyright line",
    ),
    Counted(
        "abp-92rwNDJgkuJnxz1z abp-TE5VBqyBBalTYv88 abp-zKp2cCvxtVE0I75Q abp-yTru0WjLg4jMn9lM",
        ("AP",),
        "four texts of AP in four outlets",
    ),
    Counted(
        "abp-28HeIQdY65cNHS80 abp-mx1g0yKPZN2WIGW6 abp-SWCn5KlxQi8LJ7D0 abp-TeuQKaTTuvmAi860",
        ("AP", "NPR Online News"),
        "three texts of AP in one outlet, and one of a radio station with a picture of AP",
    ),
    Counted(
        "abp-qMv4GEla4Eed5PlW abp-6qNZO87fKqNmlUMc abp-92rwNDJgkuJnxz1z",
        ("NPR Online News", "Breitbart News", "AP"),
        "pictures are of agencies, two of the texts are not",
    ),
    Counted(
        "abp-OkDBqWYGyWPMUsLD abp-XwPPk7DdgHSMttGP abp-xd628nzDvdbTJTjn abp-91H20dCcYuDf9yWL",
        ("Newsmax", "CBS News"),
        "agencies contributed to texts of the outlets",
    ),
    Counted(
        "abp-02zKJNnnXhbqOaEM abp-0AqbiPv7FgBJj6lN abp-5IDVGjXR0v6auCAf abp-0J5A1QeMIv5AR35W",
        ("Fox",),
        "four names of one owner's outlets",
    ),
    Counted(
        "abp-01uTV2haK8JSt2sw abp-1dPdGugPfrSczWYF abp-0piexxceRMZxSluq abp-02zKJNnnXhbqOaEM",
        ("CNN (Web News)", "Reuters", "Fox"),
        "two names of one outlet, and two others",
    ),
)
OUTLETS = {"25-127-n36": 4, "25-106-x400": 5, "25-179-n10": 4, "27-002-n6": 1, "29-033-n9": 4, "25-192-x1": 1}
"""Number of outlets that printed a story, by its original. A newspaper and its web site count as one."""


def articles(file: Path, wanted: Sequence[str]) -> Iterator[Article]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            if any(prefix in line[:40] for prefix in wanted):
                one = json.loads(line)
                if one["id"].startswith(tuple(wanted)):
                    yield Article(
                        one["id"], one["text"], one.get("title"),
                        publication=one["source"], published_at=one.get("published_at"),
                    )  # fmt: skip


@pytest.fixture(scope="module")
def news(server: Server, shared_data: Path) -> Iterator[Deduplicator]:
    """A corpus with the articles of `SETS`, and with all other articles about the studies in `SETS`."""
    url = server.create("dedup_by_hand")
    Deduplicator.initialize(url)
    named = [name for one in SETS for name in one.ids.split()]
    with Deduplicator(url) as dd:
        studies = {f"is-{name[:6]}" for name in named if not name.startswith("abp")}
        dd.load(articles(shared_data / "insciout_releases_a.jsonl.gz", sorted(studies)))
        dd.load(articles(shared_data / "us_outlets_a.jsonl.gz", [n for n in named if n.startswith("abp")]))
        dd.backfill()
        dd.outlets.write(STATED)
        yield dd


@pytest.mark.shared
@pytest.mark.long("dedup", "migrations")
@each("counted", SETS)
def test_a_set_has_the_origins_that_a_person_counted(news: Deduplicator, counted: Counted) -> None:
    ids = [name if name.startswith("abp") else f"is-{name}" for name in counted.ids.split()]
    if len(ids) == 1:
        ids = [row["id"] for row in news.marks() if row["id"].startswith(f"{ids[0]}-")]
    found = news.origins(ids)
    assert sorted(one.name or "" for one in found.origins) == sorted(counted.origins), counted.why
    assert found.independent == len(counted.origins)


@pytest.mark.shared
@pytest.mark.long("dedup", "migrations")
def test_a_story_was_printed_by_the_outlets_that_a_person_counted(news: Deduplicator) -> None:
    assert {name: news.story(f"is-{name}").outlets for name in OUTLETS} == OUTLETS


def test_thirty_sets_were_counted() -> None:
    assert len(SETS) == 30
