"""An oracle in plain Python finds the same origins; copies and reprints never raise their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.db.database import Database
from dedup.extras.coverage.origins import Origins
from dedup.extras.coverage.outlets import Outlet
from tests.conftest import empty
from tests.corpora import START, rows, text, window

NAMES = (None, " ", "Courier", "www.courier", "Herald", "Post", "reuters", "wire.example")
AGENCIES = (None, "AP", "Reuters", "Reuters, AP")
FAMILIES = (None, "Roe", "Ada & Sons")
TEXTS = 4
ADDED = START + timedelta(days=30)


@dataclass(frozen=True)
class Printed:
    """An article: the text that it prints, its outlet, its byline's agencies, and its hour (None:
    unknown)."""

    body: int
    outlet: str | None
    credit: str | None
    hour: int | None

    def article(self, source_id: str) -> Article:
        time = None if self.hour is None else START + timedelta(hours=self.hour, minutes=7)
        return Article(
            source_id, text(window(self.body * 50, 6, ring=10_000)), publication=self.outlet,
            byline=self.credit, published_at=time, added_at=ADDED,
        )  # fmt: skip


Known = Mapping[str, Outlet]


def outlet_of(name: str | None, known: Known) -> Outlet | None:
    if name is None or not name.strip():
        return None
    row = known.get(name, Outlet(name))
    return known.get(row.alias_of, Outlet(row.alias_of)) if row.alias_of else row


def agency_of(one: Printed, known: Known) -> str | None:
    """Return a version's agency: of its outlet, or else the alphabetically first agency of its byline."""
    outlet = outlet_of(one.outlet, known)
    if outlet and (outlet.agency or outlet.name.lower() == "reuters"):
        return outlet.agency or "Reuters"
    return min(one.credit.split(", ")) if one.credit else None


def origin_of(versions: Sequence[tuple[str, Printed]], known: Known) -> tuple[str, str | None]:
    """Return the origin of a text from all articles that print it, given with their ids."""
    added = (ADDED - START) / timedelta(hours=1)
    canonical = min(versions, key=lambda v: (added if v[1].hour is None else v[1].hour, v[0]))
    if agency := agency_of(canonical[1], known):
        return "agency", agency
    copies = [one for name, one in versions if name != canonical[0]]
    agencies = [agency_of(one, known) for one in copies]
    own = {agency_of(replace(one, credit=None), known) for one in copies} - {None}
    most = {name for name in agencies if name and agencies.count(name) > len(copies) / 2}
    if named := own or most:
        return "agency", min(named, key=lambda name: (-agencies.count(name), name or ""))
    outlet = outlet_of(canonical[1].outlet, known)
    if outlet is None:
        return "unknown", None
    return ("family", outlet.family) if outlet.family else ("outlet", outlet.name)


def oracle(
    all_of_them: Mapping[str, Printed], chosen: Iterable[str], known: Known
) -> set[tuple[str, str | None]]:
    found = set()
    for body in {all_of_them[name].body for name in chosen}:
        found.add(origin_of([(n, one) for n, one in all_of_them.items() if one.body == body], known))
    return found


printed = st.builds(
    Printed, st.integers(0, TEXTS - 1), st.sampled_from(NAMES), st.sampled_from(AGENCIES),
    st.none() | st.integers(0, 40),
)  # fmt: skip
statements = st.builds(
    lambda families, agency, aliases: [
        *(Outlet(name, family, None, None) for name, family in families.items()),
        *([Outlet("wire.example", None, None, agency)] if agency else []),
        *(Outlet(name, None, target) for name, target in aliases.items()),
    ],
    st.dictionaries(st.sampled_from(("Courier", "Herald", "Post")), st.sampled_from(FAMILIES)),
    st.sampled_from((None, "AP", "Reuters")),
    st.dictionaries(st.just("www.courier"), st.sampled_from(("Courier", "Herald"))),
)


@dataclass
class Corpus:
    """A corpus of exactly the articles in `articles`."""

    dd: Deduplicator
    articles: dict[str, Printed]

    def load(self, order: Sequence[str] = ()) -> None:
        empty(self.dd._database)
        for name in order or self.articles:
            self.dd.load([self.articles[name].article(name)])
        self.dd.backfill(workers=0)

    def add(self, one: Printed) -> str:
        """Add an article with an id after all other ids."""
        name = f"z{len(self.articles):03}"
        self.articles[name] = one
        self.dd.load([one.article(name)])
        self.dd.backfill(workers=0)
        return name

    def count(self, chosen: Iterable[str]) -> int:
        return self.dd.origins(list(chosen)).independent


@pytest.fixture
def dd(database: Database) -> Iterable[Deduplicator]:
    with Deduplicator(database.url) as found:
        yield found


def told(found: Origins) -> set[tuple[str, str | None]]:
    return {(one.kind, one.name) for one in found.origins}


@pytest.mark.long("dedup", "migrations")
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.generate],  # shrinking a case would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(printed, min_size=1, max_size=8),
    statements,
    st.data(),
    st.sampled_from(NAMES),
    st.sampled_from(AGENCIES),
)
def test_origins_are_those_of_the_oracle_and_never_more_for_a_copy(
    dd: Deduplicator,
    made: list[Printed],
    stated: list[Outlet],
    data: st.DataObject,
    outlet: str | None,
    credit: str | None,
) -> None:
    corpus = Corpus(dd, {f"a{place:03}": one for place, one in enumerate(made)})
    corpus.load(data.draw(st.permutations(list(corpus.articles))))
    dd.outlets.write(stated)
    known = {row.name: row for row in dd.outlets.stated()}
    chosen = data.draw(st.sets(st.sampled_from(list(corpus.articles)), min_size=1))
    found = dd.origins(chosen)
    assert told(found) == oracle(corpus.articles, chosen, known)
    assert found.independent == len(found.origins)
    with dd._database.transaction() as cursor:
        query = "SELECT dedup.independent_origins(array_agg(a.id) || array_agg(a.id)) FROM dedup.article a"
        cursor.execute(f"{query} WHERE a.source_id = ANY (%s)", [list(chosen)])
        assert cursor.fetchone() == (found.independent,)
    stories = rows(dd._database, "SELECT origin_kind, origin, independent_origins FROM dedup.story")
    whole = oracle(corpus.articles, corpus.articles, known)
    assert {row[:2] for row in stories} == whole
    assert {row[2] for row in stories} == {1}
    assert told(dd.origins()) == whole

    # Add a later copy of any text, printed by any outlet, with any credit.
    body = corpus.articles[data.draw(st.sampled_from(sorted(chosen)))].body
    of_body = [name for name in chosen if corpus.articles[name].body == body]
    origin = told(dd.origins(of_body))
    added = corpus.add(Printed(body, outlet, credit, data.draw(st.none() | st.just(50))))
    assert corpus.count({*of_body, added}) == 1
    if told(dd.origins(of_body)) == origin:
        assert corpus.count({*chosen, added}) <= found.independent
    chosen |= {added}
    there, before = dd.origins(chosen), corpus.count(chosen)
    families = {row.family: row.name for row in known.values() if row.family}
    for number, (kind, name) in enumerate(sorted(told(there), key=str), start=TEXTS):
        if kind == "agency" and name:  # add an article that credits this agency
            chosen |= {corpus.add(Printed(number, "Reprinter", name, 51))}
        # First add a text by an outlet of this family, then a text by an outlet that joins the family.
        elif kind == "family" and name:
            chosen |= {corpus.add(Printed(number, families[name], None, 52))}
            assert corpus.count(chosen) <= before
            chosen |= {corpus.add(Printed(number + 100, "New Outlet", None, 53))}
            dd.outlets.set("New Outlet", family=name)
        assert corpus.count(chosen) <= before
    assert told(dd.origins(chosen)) <= told(there)
