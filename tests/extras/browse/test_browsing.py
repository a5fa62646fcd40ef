"""Queries of pages give the answers that plain Python gives from all rows of a random corpus."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from statistics import median
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.base.errors import InputError, NotFoundError
from dedup.extras.browse.questions import counting, outlets, queue, reading, search, sentences, story
from dedup.extras.browse.questions import day as days
from dedup.extras.browse.questions.reading import LABEL_CHARACTERS
from dedup.store.pins import PairPin
from dedup.store.stories import delay_between
from tests.conftest import Server
from tests.corpora import code, text, window

START = datetime(2026, 11, 18, tzinfo=UTC)
DAYS = 5
FIRST, LAST = START.date(), (START + timedelta(days=DAYS - 1)).date()
FOOTER = [code(900), code(901)]
"""Boilerplate sentences of articles that are otherwise unlike each other."""

LONG = "A very long name " * 200
OUTLETS = ("Wire", "Herald", "Courier", "O'Brien \\ Söhne", "<b>Bold</b>", "\u202eyknaP", LONG, None)
TITLES = ("Rain", "<script>alert(1)</script>", "\u202eesrever", "x\x01\x1b[31m", LONG, "a\u0301 & <i>", None)


CREDITED = b"""
    INSERT INTO dedup.credit (article_id, agency_id, place)
    SELECT a.id, g.id, CASE WHEN a.id % 5 = 0 THEN 'contribution' ELSE 'byline' END
    FROM dedup.article a
    JOIN dedup.agency g ON (g.name = 'AP' AND a.id % 2 = 0) OR (g.name = 'dpa' AND a.id % 3 = 0)
"""


def credits_of(row: Row) -> set[str]:
    """Return the agencies that `CREDITED` names in the byline of an article."""
    each = {"AP": row.id % 2 == 0, "dpa": row.id % 3 == 0}
    return {name for name, credits in each.items() if credits and row.id % 5}


@pytest.fixture(scope="module")
def newsroom(server: Server) -> Iterator[Deduplicator]:
    """A corpus of stories with many copies, single articles, waiting articles, and articles that failed."""
    url = server.create("dedup_browsing")
    Deduplicator.initialize(url)
    with Deduplicator(url) as corpus:
        corpus.load(articles(220))
        corpus.settings.change({"similar_pairs": 10})
        corpus.backfill(workers=0)
        corpus.load(articles(226))  # the last six articles wait
        with corpus._database.transaction(settling=True) as cursor:
            cursor.execute("UPDATE dedup.article SET language = 'de' WHERE source_id IN ('a 7', 'a 8')")
            cursor.execute(CREDITED)
            cursor.execute(
                "UPDATE dedup.article_mark SET limit_fired = 'too much at once'"
                " WHERE id = (SELECT id FROM dedup.article WHERE source_id = 'a 221')"
            )
        corpus.pins.set("a 1", "a 2", "unrelated", by="ann", reason="no")
        with Operation(url) as owner:
            assert owner.make_searchable()
        yield corpus


def articles(count: int) -> list[Article]:
    """Return `count` articles; each call returns the same articles."""
    rng = random.Random(13)
    made = []
    for number in range(count):
        if number % 31 == 30:
            body = "..."  # a text without words fails
        elif number % 9 == 8:
            body = text([*(code(2_000 + 10 * number + i) for i in range(5)), *FOOTER])
        else:
            body = text(window(rng.randrange(30), 6, ring=40))
        when = START + timedelta(minutes=rng.randrange(DAYS * 24 * 60) // 7 * 7)
        made.append(
            Article(
                f"a {number}",
                body + ("\n\nStorm." if number % 3 else ""),
                title=rng.choice(TITLES),
                url=f"javascript:alert({number % 40})",
                publication=rng.choice(OUTLETS),
                published_at=None if number % 10 == 0 else when,
                added_at=when,
            )
        )
    return made


@dataclass(frozen=True)
class Row:
    """An article with its mark, as the view `marked_article` shows it."""

    id: int
    source_id: str
    title: str | None
    publication: str | None
    at: datetime
    status: str
    stale: bool
    duplicate_of: int | None
    reason: str | None
    limit_fired: str | None
    url: str | None
    text: str
    known_at: datetime | None
    language: str | None
    shared: bool = False

    def after(self, other: Row) -> timedelta | None:
        return delay_between(self.known_at, other.known_at)

    @property
    def outlet(self) -> str:
        return self.publication if self.publication is not None else f"\x01{self.id}"

    @property
    def place(self) -> tuple[datetime, int]:
        return self.at, self.id


@pytest.fixture(scope="module")
def rows(newsroom: Deduplicator) -> dict[int, Row]:
    """Return all articles by id."""
    columns = (
        "id, source_id, title, publication, coalesce(published_at, added_at), status, stale, duplicate_of,"
    )
    with newsroom._database.transaction() as cursor:
        found = cursor.execute(
            f"SELECT {columns} reason, limit_fired, url, text, published_at, language"
            " FROM dedup.marked_article".encode()
        )
        every = [Row(*row) for row in found.fetchall()]
    stories: dict[int, list[Row]] = defaultdict(list)
    for row in every:
        stories[row.duplicate_of or row.id].append(row)
    return {row.id: replace(row, shared=is_shared(row, stories[row.duplicate_of or row.id])) for row in every}


def later(one: Row, other: Row) -> bool:
    after = one.after(other)
    return after is not None and after > timedelta(0)


def is_shared(row: Row, story: list[Row]) -> bool:
    """Return whether an article is one of several that may have been the first of their story."""
    maybe = [one for one in story if not any(later(one, other) for other in story)]
    return len(maybe) > 1 and row in maybe and row.status in ("unique", "similar", "duplicate")


def within(rows: dict[int, Row], first: date, last: date) -> list[Row]:
    """Return the articles of some days, by the time of publication or else of storing, newest first."""
    found = [row for row in rows.values() if first <= row.at.date() <= last]
    return sorted(found, key=lambda row: row.place, reverse=True)


def tallied(rows: list[Row]) -> tuple[int, ...]:
    counts = Counter("shared" if row.shared else row.status for row in rows)
    names = ("unique", "similar", "duplicate", "pending", "failed")
    stale = sum(row.stale for row in rows)
    return (len(rows), *(counts[name] for name in names), stale, counts["shared"])


def values(marks: Any) -> tuple[int, ...]:
    return tuple(getattr(marks, item.name) for item in fields(marks))


def cut(label: str | None) -> str | None:
    return label if label is None or len(label) <= LABEL_CHARACTERS else label[:LABEL_CHARACTERS] + "…"


def test_the_corpus_has_everything(rows: dict[int, Row]) -> None:
    assert {row.status for row in rows.values()} == {"unique", "similar", "duplicate", "pending", "failed"}
    assert any(row.stale for row in rows.values())
    copies = Counter(row.duplicate_of for row in rows.values() if row.duplicate_of)
    assert copies.most_common(1)[0][1] >= 6


@pytest.mark.parametrize(
    ("first", "last", "counted"),
    [
        (FIRST, FIRST, 1_000),
        (FIRST, LAST, 1_000),
        (FIRST, LAST, 100),
        (FIRST, LAST, 1),
        (date(2026, 1, 1), date(2026, 12, 31), 226),
        (date(2020, 1, 1), date(2020, 1, 1), 5),
        (date.max, date.max, 5),
    ],
)
def test_a_day(
    newsroom: Deduplicator,
    rows: dict[int, Row],
    monkeypatch: pytest.MonkeyPatch,
    first: date,
    last: date,
    counted: int,
) -> None:
    monkeypatch.setattr(counting, "COUNTED", counted)
    read, more = within(rows, first, last)[:counted], len(within(rows, first, last)) > counted
    day = newsroom.browsing.day(first, last, by="day")
    assert day.counted_from == (read[-1].at if more else None)
    found = dated = [row for row in read if row.known_at]
    assert values(day.marks) == tallied(found)
    assert day.undated == counting.Marks()
    timed = [row for row in dated if row.at.time() != time()]
    assert all(n == sum(row.at.hour == hour for row in timed) for hour, n in enumerate(day.hours))
    assert day.no_hour == len(dated) - len(timed)
    start = read[-1].at.date() if more else first
    days = [start + timedelta(days=n) for n in range((last - start).days + 1)]
    assert [period.first for period in day.periods] == days
    for period in day.periods:
        assert values(period.marks) == tallied([r for r in dated if r.at.date() == period.first])
    by_outlet: dict[str | None, list[Row]] = defaultdict(list)
    for row in found:
        by_outlet[row.publication].append(row)
    assert {o.publication: values(o.marks) for o in day.outlets} == {
        cut(name): tallied(of) for name, of in by_outlet.items()
    }
    assert day.other_outlets == 0
    languages = Counter(row.language for row in found)
    assert {one.language: one.marks.articles for one in day.languages} == languages
    check_stories(day, rows, found)
    check_troubles(day, found)


def check_stories(day: Any, rows: dict[int, Row], found: list[Row]) -> None:
    copies: dict[int, list[Row]] = defaultdict(list)
    for row in found:
        if row.duplicate_of is not None:
            copies[row.duplicate_of].append(row)
    counted = {row.id for row in found}
    reached = {}

    def original_outlet(number: int) -> str:
        return rows[number].outlet

    for number, of in copies.items():
        original = rows[number]
        first_at: dict[str, datetime] = {}
        for row in sorted(of, key=lambda row: row.place):
            after = row.after(original)
            if row.outlet != original.outlet and after is not None and after > timedelta(0):
                first_at.setdefault(row.outlet, row.at)
        if number in counted and len(first_at) >= 3:
            reached[number] = sorted(first_at.values())[2] - original.at
    told = {
        rows[number].source_id: (
            len(of),
            len({row.outlet for row in of} - {original_outlet(number)}),
            max(row.at for row in of) if all(row.known_at for row in of) else None,
            reached.get(number),
        )
        for number, of in copies.items()
    }
    biggest = sorted(copies, key=lambda n: (-len(copies[n]), -told[rows[n].source_id][1], n))[:10]
    fastest = sorted(reached, key=lambda n: (reached[n], -len(copies[n]), n))[:10]
    for lines, wanted in ((day.biggest, biggest), (day.fastest, fastest)):
        assert [line.original.source_id for line in lines] == [rows[number].source_id for number in wanted]
        for line in lines:
            assert (line.copies, line.outlets, line.last_at, line.reached) == told[line.original.source_id]


def check_troubles(day: Any, found: list[Row]) -> None:
    expected: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for row in found:
        if row.status == "failed":
            expected["failed", (row.reason or "").partition(":")[0]].append(row.source_id)
        elif row.status == "pending" or row.stale:
            expected["stale" if row.stale else "pending", row.limit_fired].append(row.source_id)
    assert {(t.kind, t.reason): t.articles for t in day.troubles} == {k: len(v) for k, v in expected.items()}
    for trouble in day.troubles:
        names = [line.source_id for line in trouble.examples]
        assert names == expected[trouble.kind, trouble.reason][:5]


def test_what_is_no_range(newsroom: Deduplicator) -> None:
    for ask in (newsroom.browsing.day, newsroom.browsing.outlets):
        with pytest.raises(InputError, match="before it begins"):
            ask(LAST, FIRST)
    with pytest.raises(InputError, match="no grouping 'hour'"):
        newsroom.browsing.day(by="hour")  # type: ignore[arg-type]
    assert newsroom.browsing.newest_day() is not None


def test_the_whole_corpus(newsroom: Deduplicator, rows: dict[int, Row]) -> None:
    every = newsroom.browsing.day()
    assert (every.first, every.last, every.counted_from) == (None, None, None)
    assert values(every.marks) == tallied(list(rows.values()))
    assert [period.first for period in every.periods] == [FIRST + timedelta(days=n) for n in range(DAYS)]
    until = newsroom.browsing.day(None, FIRST)
    assert values(until.marks) == tallied([row for row in within(rows, date.min, FIRST) if row.known_at])
    matrix = newsroom.browsing.outlets()
    assert matrix.copies == sum(row.duplicate_of is not None for row in rows.values())


@pytest.mark.parametrize(
    ("first", "last", "by", "chosen", "starts"),
    [
        (date(2026, 11, 18), date(2026, 11, 22), None, "day", 5),
        (date(2026, 11, 18), date(2026, 11, 22), "week", "week", 1),
        (date(2026, 11, 15), date(2026, 11, 23), "week", "week", 3),
        (date(2026, 11, 15), date(2026, 12, 1), "month", "month", 2),
        (date(2026, 1, 1), date(2026, 12, 31), None, "week", 53),
        (date(2026, 1, 1), date(2026, 12, 31), "day", "day", 365),
        (date(2025, 1, 1), date(2026, 12, 31), "day", "week", 105),
        (date(2000, 1, 1), date(2026, 12, 31), "week", "month", 324),
        (date(2026, 12, 31), date(2027, 1, 1), "year", "year", 2),
        (date.min, date.max, None, "day", 5),
    ],
)
def test_articles_are_counted_by_week_and_month(
    newsroom: Deduplicator,
    rows: dict[int, Row],
    first: date,
    last: date,
    by: counting.Grouping | None,
    chosen: str,
    starts: int,
) -> None:
    day = newsroom.browsing.day(first, last, by=by)
    assert (day.by, len(day.periods)) == (chosen, starts)
    dated = [row for row in within(rows, first, last) if row.known_at]
    for period in day.periods:
        end = counting.end_of(period.first, day.by)
        wanted = [row for row in dated if period.first <= row.at.date() <= end]
        assert values(period.marks) == tallied(wanted)
    assert sum(period.marks.articles for period in day.periods) == len(dated)


@pytest.mark.long("dedup", "migrations")
@given(st.dates(), st.sampled_from(get_args(counting.Grouping)))
@example(date.min, "week")
@example(date.max, "year")
@example(date(2024, 2, 29), "month")
def test_every_day_is_in_one_period(day: date, by: counting.Grouping) -> None:
    start, end = counting.start_of(day, by), counting.end_of(day, by)
    assert start <= day <= end
    assert counting.start_of(start, by) == start
    assert counting.start_of(end, by) == start
    if end < date.max:
        assert counting.start_of(end + timedelta(days=1), by) == end + timedelta(days=1)


FILTERS: list[dict[str, Any]] = [
    {"publication": "Wire"},
    {"publication": LONG},
    {"publication": "nobody"},
    {"language": "de"},
    {"language": "de", "publication": "Herald"},
    {"credit": "AP"},
    {"credit": "dpa", "publication": "Wire"},
    {"credit": "nobody"},
]


@pytest.mark.parametrize("only", FILTERS, ids=str)
@pytest.mark.parametrize("counted", [60, 1_000])
def test_only_some_articles_are_counted(
    newsroom: Deduplicator,
    rows: dict[int, Row],
    monkeypatch: pytest.MonkeyPatch,
    only: dict[str, Any],
    counted: int,
) -> None:
    monkeypatch.setattr(counting, "COUNTED", counted)
    every = within(rows, FIRST, LAST)
    read = [row for row in every if only.get("publication") in (None, row.publication)]
    found = [row for row in read[:counted] if only.get("language") in (None, row.language) and row.known_at]
    found = [row for row in found if only.get("credit") in (None, *credits_of(row))]
    day = newsroom.browsing.day(FIRST, LAST, **only)
    matrix = newsroom.browsing.outlets(FIRST, LAST, **only)
    from_when = read[counted - 1].at if len(read) > counted else None
    assert (day.counted_from, matrix.counted_from) == (from_when, from_when)
    assert (day.only, values(day.marks)) == (counting.Only(**only), tallied(found))
    credits = Counter(name for row in found for name in credits_of(row))
    assert {one.agency: one.articles for one in day.credits} == credits
    assert day.credited == sum(bool(credits_of(row)) for row in found)
    assert matrix.copies == sum(row.duplicate_of is not None for row in found)
    assert matrix.copies == matrix.unknown + matrix.undated + matrix.own + matrix.other + sum(
        c.copies for c in matrix.cells
    )


def test_lists_are_as_long_as_is_asked(newsroom: Deduplicator, monkeypatch: pytest.MonkeyPatch) -> None:
    every = newsroom.browsing.day(rows=1_000)
    short = newsroom.browsing.day(rows=2)
    assert short.biggest == every.biggest[:2]
    assert short.outlets == every.outlets[:2]
    assert short.other_outlets == len(every.outlets) - 2
    story_ids = {story.original.source_id for story in every.biggest}
    assert len(story_ids) > days.LISTED
    monkeypatch.setattr(reading, "ROWS", 3)
    assert len(newsroom.browsing.day(rows=1_000).biggest) == 3


def middle(delays: list[timedelta]) -> timedelta | None:
    seconds = [delay.total_seconds() for delay in delays]
    return timedelta(seconds=median(seconds)) if seconds else None


@pytest.mark.parametrize("language", [None, "de"])
@pytest.mark.parametrize("name", ["Wire", "O'Brien \\ Söhne", LONG, "nobody"])
def test_an_outlet(newsroom: Deduplicator, rows: dict[int, Row], name: str, language: str | None) -> None:
    page = newsroom.browsing.outlet(name, language=language, rows=1_000)
    own = [row for row in rows.values() if row.publication == name and language in (None, row.language)]
    assert values(page.marks) == tallied(own)
    assert values(page.undated) == tallied([row for row in own if not row.known_at])
    assert page.credited == sum(bool(credits_of(row)) for row in own)
    ids = {row.id for row in own if row.status in ("unique", "similar")}
    made = [(row, rows[row.duplicate_of]) for row in own if row.duplicate_of is not None]
    given_away = [(row, rows[row.duplicate_of]) for row in rows.values() if row.duplicate_of in ids]
    maybe: dict[str | None, set[int]] = defaultdict(set)
    of_own = {row.duplicate_of or row.id for row in own if row.shared}
    for row in rows.values():
        if row.shared and row.publication != name and (row.duplicate_of or row.id) in of_own:
            maybe[cut(row.publication)].add(row.duplicate_of or row.id)
    for told, between, pairs, place in (
        (page.copies_from, page.delay_from, made, 1),
        (page.copied_by, page.delay_by, given_away, 0),
    ):
        delays: dict[str | None, list[timedelta]] = defaultdict(list)
        for pair in pairs:
            if later(*pair):
                delays[cut(pair[place].publication)].append(pair[0].after(pair[1]) or timedelta(0))
        assert {one.publication for one in told} == set(delays) | set(maybe)
        for one in told:
            known = delays[one.publication]
            assert (one.copies, one.undated) == (len(known), len(maybe.get(one.publication, ())))
            assert one.median_delay == (middle(known))
        totals = [(one.copies, one.undated) for one in told]
        assert totals == sorted(totals, reverse=True)
        others = [d for other, of in delays.items() if other != cut(name) for d in of]
        assert between == (middle(others))
    given_away = [pair for pair in given_away if later(*pair)]
    assert (page.copied_counted, page.more_copied) == (len(given_away), False)
    copies = Counter(original.id for _, original in given_away)
    biggest = sorted(copies, key=lambda id: (-copies[id], id))
    assert [(s.original.source_id, s.copies) for s in page.biggest] == [
        (rows[id].source_id, copies[id]) for id in biggest
    ]
    few = newsroom.browsing.outlet(name, language=language, rows=1)
    assert few.copies_from == page.copies_from[:1]
    assert few.other_from == max(0, len(page.copies_from) - 1)


def test_an_outlet_in_a_range(newsroom: Deduplicator, rows: dict[int, Row]) -> None:
    page = newsroom.browsing.outlet("Wire", FIRST, FIRST + timedelta(days=1), by="week")
    every = within(rows, FIRST, FIRST + timedelta(days=1))
    wanted = [r for r in every if r.publication == "Wire" and r.known_at]
    assert (page.by, values(page.marks)) == ("week", tallied(wanted))


def test_outlets_and_languages_are_offered(newsroom: Deduplicator) -> None:
    names = {name for name in OUTLETS if name is not None and len(name) < 100}
    assert set(newsroom.browsing.outlet_names()) == names
    assert list(newsroom.browsing.outlet_names()) == sorted(names, key=str.encode)
    assert newsroom.browsing.languages() == ("de",)
    assert {"AP", "dpa"} < set(newsroom.browsing.agencies())


@pytest.mark.long("dedup", "migrations")
def test_a_story(newsroom: Deduplicator, rows: dict[int, Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "STORY_PAGE", 3)
    for row in rows.values():
        page = newsroom.browsing.story(row.source_id)
        original = rows[row.duplicate_of or row.id]
        assert (page.asked, page.original.source_id) == (row.source_id, original.source_id)
        if row is not original:
            continue
        copies = sorted((r for r in rows.values() if r.duplicate_of == row.id), key=lambda r: r.place)
        assert (page.copies_counted, page.more_copies) == (len(copies), False)
        prints = sorted([original, *copies], key=lambda r: r.at)
        assert [p.time for p in page.prints] == [r.at for r in prints]
        several = Counter(cut(r.publication) for r in prints if r.publication is not None)
        assert sorted(map(len, page.versions)) == sorted(n for n in several.values() if n > 1)
        similar = {m.id: m for m in newsroom.get(row.source_id).verdict.matches if m.relation == "similar"}  # type: ignore[union-attr]
        if row.status == "similar":
            assert {b.article.source_id: b.match for b in page.beside} == similar
        found = list(page.copies)
        while page.after:
            page = newsroom.browsing.story(row.source_id, page.after)
            assert not page.prints
            assert len(page.copies) <= 3
            found += page.copies
        assert [c.article.source_id for c in found] == [r.source_id for r in copies]
        for line, copy in zip(found, copies, strict=True):
            assert line.delay == copy.after(original)
            assert line.article.duplicate_of == original.source_id
            assert line.article.title == cut(copy.title)
    with pytest.raises(NotFoundError):
        newsroom.browsing.story("nobody")


@pytest.mark.long("dedup", "migrations")
def test_an_article(newsroom: Deduplicator, rows: dict[int, Row]) -> None:
    for row in rows.values():
        page, stored = newsroom.browsing.article(row.source_id), newsroom.get(row.source_id)
        assert stored is not None
        assert page.verdict == stored.verdict
        assert tuple(m.match for m in page.matches) == stored.verdict.matches
        assert all(m.article.source_id == m.match.id for m in page.matches)
        assert page.text is not None
        assert (page.text.text, page.text.cut) == (row.text, False)
        assert page.line.url == row.url
        assert (page.line.title, page.line.publication) == (cut(row.title), cut(row.publication))
        if not row.stale:
            assert (page.fingerprint is None) == (row.status in ("pending", "failed"))
    assert [pin.pinned_by for pin in newsroom.browsing.article("a 2").pins] == ["ann"]
    with pytest.raises(NotFoundError):
        newsroom.browsing.article("nobody")


def test_two_articles(newsroom: Deduplicator) -> None:
    newsroom.judgements.record(("a 1", "a 2"), "ann", "different")
    found = newsroom.browsing.compare("a 2", "a 1")
    assert found.explanation == newsroom.explain("a 1", "a 2")
    assert {found.earlier.source_id, found.later.source_id} == {"a 1", "a 2"}
    assert found.earlier.source_id == found.explanation.earlier.id
    assert found.pin is not None
    assert found.pin.reason == "no"
    assert [(j.judged_by, j.label, j.stale) for j in found.judgements] == [("ann", "different", False)]
    assert [j.label for j in newsroom.browsing.article("a 2").judgements] == ["different"]
    common = newsroom.browsing.compare("a 8", "a 17")
    assert set(common.common) == set(text(FOOTER).split("\n\n"))
    with pytest.raises(InputError, match="two articles"):
        newsroom.browsing.compare("a 1", "a 1")


def all_pages(ask: Callable[[str | None], Any], items: str) -> list[Any]:
    """Return the rows of all pages of an answer."""
    found, after, asked = [], None, 0
    while True:
        page = ask(after)
        asked += 1
        assert asked < 500
        found += getattr(page, items)
        assert page.after is not None or not page.more
        if page.after is None:
            return found
        after = page.after


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("few", [3, 50, 1_000])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"words": "storm"},
        {"words": "STORM the"},
        {"words": "absent"},
        {"words": "storm", "publication": "Wire"},
        {"words": "storm", "publication": "O'Brien \\ Söhne"},
        {"words": "storm", "publication": LONG},
        {"words": "storm", "first": FIRST + timedelta(days=1), "last": FIRST + timedelta(days=2)},
        {"words": "storm", "first": FIRST, "last": FIRST},
        {"words": "storm", "status": "duplicate"},
        {"publication": "Herald"},
        {"language": "de"},
        {"language": "de", "words": "storm"},
        {"dated": False},
        {"credit": "AP"},
        {"credit": "dpa", "words": "storm", "publication": "Wire"},
        {"dated": True, "publication": "Herald"},
        {"dated": False, "words": "storm"},
        {"dated": False, "source_id": "a 10"},
        {"publication": LONG, "status": "unique"},
        {"status": "pending"},
        {"first": LAST},
        {"last": FIRST, "status": "duplicate"},
        {"url": "javascript:alert(3)"},
        {"url": "javascript:alert(3)", "status": "duplicate"},
        {"source_id": "a 9"},
        {"source_id": "a 9", "publication": "nobody"},
    ],
    ids=lambda fields: (
        " ".join(f"{k}={v[:12] if isinstance(v, str) else v}" for k, v in fields.items()) or "all"
    ),
)
def test_a_search(
    newsroom: Deduplicator,
    rows: dict[int, Row],
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, Any],
    few: int,
) -> None:
    monkeypatch.setattr(search, "SEARCH_PAGE", 7)
    monkeypatch.setattr(search, "SCANNED", max(few, 10))
    monkeypatch.setattr(search, "FEW", few)
    monkeypatch.setattr(search, "STEPS", 2 if few < 1_000 else 60)
    every = [row for row in within(rows, date.min, date.max) if holds(row, fields)]
    undated = [row for row in every if row.known_at is None]
    wanted = [*(row for row in every if row.known_at is not None), *undated]
    found = all_pages(lambda after: newsroom.browsing.search(**fields, after=after), "found")
    first = newsroom.browsing.search(**fields)
    names = [one.article.source_id for one in found]
    # If the search reaches its limit without a dated match, it shows the undated matches at once, and `more`
    # is true.
    if names != [row.source_id for row in wanted]:
        assert names == [row.source_id for row in undated]
        assert first.more
    if "words" in fields:
        hits = {piece.text.casefold() for one in found for piece in one.snippet if piece.hit}
        assert hits <= {"storm", "the"}
        assert all(any(piece.hit for piece in one.snippet) for one in found)
    assert first.hits is not None
    counted = wanted[: first.hits.counted]
    assert first.hits.counted <= first.hits.articles <= len(wanted)
    assert first.hits.more or first.hits.counted == len(wanted) == first.hits.articles
    if names:
        assert first.hits.undated == sum(row.known_at is None for row in counted) or first.more
    if few == 1_000:
        assert not first.hits.more
        outlets_found = Counter(row.publication for row in wanted if row.publication not in (None, LONG))
        assert dict(first.hits.facets["publication"]) == {
            k: v for k, v in outlets_found.items() if len(k) <= 300
        }
        assert dict(first.hits.facets["language"]) == Counter(row.language for row in wanted if row.language)
        assert dict(first.hits.facets["credit"]) == Counter(c for row in wanted for c in credits_of(row))
        assert sum(count for _, count in first.hits.periods) == len(wanted) - first.hits.undated


def holds(row: Row, fields: dict[str, Any]) -> bool:
    words = f"{row.title or ''} {row.text}".casefold().replace(".", " ").split()
    known: dict[str, Callable[[Any], bool]] = {
        "words": lambda v: all(word in words for word in v.casefold().split()),
        "first": lambda v: row.at.date() >= v,
        "last": lambda v: row.at.date() <= v,
        "dated": lambda v: (row.known_at is not None) == v,
    }
    known["credit"] = lambda v: v in credits_of(row)
    return all(
        known[name](value) if name in known else getattr(row, name) == value for name, value in fields.items()
    )


def test_what_cannot_be_searched(newsroom: Deduplicator) -> None:
    for wrong, message in (
        ({"words": "..."}, "no word"),
        ({"words": "x" * 1_001}, "at most 1,000 characters"),
        ({"words": "a\0b"}, "NUL"),
        ({"first": LAST, "last": FIRST}, "before it begins"),
        ({"after": "nonsense"}, "not a token of this list"),
    ):
        with pytest.raises(InputError, match=message):
            newsroom.browsing.search(**wrong)


def copied(rows: dict[int, Row], found: list[Row]) -> list[tuple[Row, Row]]:
    return [(row, rows[row.duplicate_of]) for row in found if row.duplicate_of is not None]


@pytest.mark.parametrize("shown", [2, 40])
@pytest.mark.parametrize("counted", [60, 1_000])
def test_who_copies_whom(
    newsroom: Deduplicator, rows: dict[int, Row], monkeypatch: pytest.MonkeyPatch, shown: int, counted: int
) -> None:
    monkeypatch.setattr(outlets, "PAIRS", shown)
    monkeypatch.setattr(outlets, "TIED", shown)
    monkeypatch.setattr(counting, "COUNTED", counted)
    matrix = newsroom.browsing.outlets(FIRST, LAST)
    found = within(rows, FIRST, LAST)
    assert matrix.counted_from == (found[counted - 1].at if len(found) > counted else None)
    pairs = copied(rows, [row for row in found[:counted] if row.known_at])
    stories = {original.id for _, original in pairs}
    delays: dict[tuple[str, str], list[float]] = defaultdict(list)
    unknown = undated = 0
    for copy, original in pairs:
        after = copy.after(original)
        if after is None or not later(copy, original):
            undated += 1
        elif copy.publication is None or original.publication is None:
            unknown += 1
        else:
            delays[copy.publication, original.publication].append(after.total_seconds())
    own = sum(len(delays.pop(pair)) for pair in [*delays] if pair[0] == pair[1])
    ranked = sorted(delays, key=lambda pair: (-len(delays[pair]), pair[0].encode(), pair[1].encode()))
    cells = {pair: delays[pair] for pair in ranked[:shown]}
    assert [(c.copier, c.original) for c in matrix.cells] == [*cells]
    assert [c.copies for c in matrix.cells] == [len(each) for each in cells.values()]
    for cell in matrix.cells:
        delay = timedelta(seconds=median(cells[cell.copier, cell.original]))
        assert cell.median_delay == delay
    known = own + sum(map(len, delays.values()))
    assert (matrix.copies, matrix.unknown, matrix.undated) == (len(pairs), unknown, undated)
    assert (matrix.own, matrix.pairs) == (own, len(delays))
    assert own
    assert len(pairs) == known + unknown + undated
    assert undated or counted == 60
    maybe = {
        (row.duplicate_of or row.id, row.publication)
        for row in rows.values()
        if row.shared and row.publication and (row.duplicate_of or row.id) in stories
    }
    totals = Counter(name for _, name in maybe)
    names = sorted(totals, key=lambda name: (-totals[name], name.encode()))[:shown]
    pairs_of = ((one, two) for story, one in maybe for other, two in maybe if story == other)
    both = Counter((one, two) for one, two in pairs_of if one.encode() < two.encode())
    tied = [pair for pair in both if set(pair) <= set(names)]
    tied.sort(key=lambda pair: (-both[pair], pair[0].encode(), pair[1].encode()))
    assert [((t.copier, t.original), t.copies) for t in matrix.shared] == [(p, both[p]) for p in tied[:shown]]
    assert matrix.other == known - own - sum(map(len, cells.values()))


def test_the_copies_behind_a_cell(
    newsroom: Deduplicator, rows: dict[int, Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlets, "CELL_PAGE", 2)
    monkeypatch.setattr(outlets, "CELL_SCANNED", 5)
    pairs = copied(rows, within(rows, FIRST, LAST))
    for copier in ("Wire", "O'Brien \\ Söhne", LONG):
        for original in ("Herald", LONG):
            wanted = [
                (c.source_id, o.source_id, c.after(o))
                for c, o in pairs
                if (c.publication, o.publication) == (copier, original) and later(c, o)
            ]
            found = all_pages(
                lambda after, a=copier, b=original: newsroom.browsing.copied(a, b, FIRST, LAST, after),  # type: ignore[misc]
                "copies",
            )
            assert [(f.copy.article.source_id, f.original.source_id, f.copy.delay) for f in found] == wanted


@pytest.mark.parametrize("order", ["carriers", "stories"])
def test_common_sentences(
    newsroom: Deduplicator, monkeypatch: pytest.MonkeyPatch, order: sentences.SentenceOrder
) -> None:
    newsroom.common_sentences.pin(text([code(1)]), common=False)
    everything = newsroom.common_sentences.list()
    assert sum(s.common for s in everything) >= 2
    monkeypatch.setattr(sentences, "SENTENCES_PAGE", 1)
    first = newsroom.browsing.common_sentences(order)
    assert [s.pin for s in first.pinned] == ["never"]
    found, after = list(first.sentences), first.after
    while after:
        page = newsroom.browsing.common_sentences(order, after)
        assert not page.pinned
        found, after = [*found, *page.sentences], page.after
    column = {"carriers": "carriers", "stories": "effective_stories"}[order]
    wanted = sorted((s for s in everything if s.common), key=lambda s: (-getattr(s, column), s.sentence_hash))
    assert found == wanted
    footer = newsroom.browsing.sentence(found[0].sentence_hash)
    assert footer.sentence == found[0]
    assert len(footer.articles) == min(sentences.CARRIERS, found[0].carriers or 0)
    assert newsroom.browsing.sentence(first.pinned[0].sentence_hash).sentence == first.pinned[0]
    with pytest.raises(NotFoundError, match="neither common nor pinned"):
        newsroom.browsing.sentence(1)
    with pytest.raises(InputError, match="no order"):
        newsroom.browsing.common_sentences("beauty")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["duplicate", "similar"])
def test_the_pairs_most_worth_judging(newsroom: Deduplicator, kind: queue.QueueKind) -> None:
    found = newsroom.browsing.queue(kind)
    margins = [abs(pair.margin or 0) for pair in found]
    assert margins == sorted(margins)
    assert found
    settings = newsroom.settings.in_force()
    for pair in found:
        assert pair.match is not None
        assert pair.threshold is not None
        assert pair.margin is not None
        measured = pair.threshold.removeprefix(f"{kind}_")
        value = getattr(pair.match, measured) + 0.0
        assert pair.margin == pytest.approx(value - getattr(settings, pair.threshold))
        assert pair.match.id == pair.earlier.source_id
    first = found[0].earlier.source_id, found[0].later.source_id
    newsroom.judgements.record((min(first), max(first)), "ann", "unsure")
    again = [(pair.earlier.source_id, pair.later.source_id) for pair in newsroom.browsing.queue(kind)]
    assert first not in again
    if len(found) < queue.QUEUE_PAIRS:
        assert again == [(p.earlier.source_id, p.later.source_id) for p in found[1:]]


def test_the_pairs_that_were_picked(newsroom: Deduplicator) -> None:
    from dedup.extras.judging.judgements import Pick

    kinds = ("plain", "plain", "methods disagree", "methods disagree")
    newsroom.judgements.pick(
        Pick(f"a {n}", f"a {n + 20}", kind, 2, 2, {"minhash": n / 10}) for n, kind in enumerate(kinds, 40)
    )
    newsroom.judgements.record(("a 40", "a 60"), "ann", "different")
    found = newsroom.browsing.queue("picked")
    assert [pair.scores["minhash"] for pair in found] == [4.2, 4.1, 4.3]  # strata take turns; 4.0 is judged
    assert all({p.earlier.source_id, p.later.source_id} < {f"a {n}" for n in range(100)} for p in found)
    newsroom.judgements.pick([])
    with pytest.raises(InputError, match="no queue"):
        newsroom.browsing.queue("best")  # type: ignore[arg-type]


def test_what_was_pinned_is_listed(newsroom: Deduplicator, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        newsroom.pins.set(f"x{number}", "y'\u202e", "similar", by="ann")
    monkeypatch.setattr(queue, "PINS_PAGE", 2)
    found: list[PairPin] = []
    after = None
    while True:
        page = newsroom.browsing.pins(after)
        found += page.pins
        if page.after is None:
            break
        after = page.after
    assert sorted(found, key=str) == sorted(newsroom.pins.list(), key=str)
    assert [p.pinned_at for p in found] == sorted((p.pinned_at for p in found), reverse=True)


def test_health(newsroom: Deduplicator, rows: dict[int, Row]) -> None:
    key = "a secret of thirty-two characters"
    before = newsroom.browsing.health()
    newsroom.settings.change({"hash_key": key})
    found = newsroom.browsing.health()
    newsroom.settings.change({"hash_key": None}, for_good=True)
    assert key not in str(found)
    changed = {s.name: s.wanted for s in found.settings if s.wanted != s.value}
    assert set(changed) == {"hash_key"}
    assert {s.name: s.value for s in before.settings}["similar_pairs"] == 10
    assert found.searchable
    assert found.sizes["article"] > 0
    assert found.vitals.failed == {"empty": sum(row.status == "failed" for row in rows.values())}
    assert found.runs[0].what == "backfill"


def test_a_pin_takes_effect_at_once(newsroom: Deduplicator, rows: dict[int, Row]) -> None:
    copies = Counter(row.duplicate_of for row in rows.values() if row.duplicate_of and not row.stale)
    alone = next(r for r in rows.values() if r.duplicate_of and copies[r.duplicate_of] == 1 and not r.stale)
    assert alone.duplicate_of is not None
    original = rows[alone.duplicate_of].source_id
    newsroom.pins.set(original, alone.source_id, "unrelated")
    first, second = newsroom.pins.settle(original, alone.source_id)
    assert (first.article.source_id, second.article.source_id) == (original, alone.source_id)
    assert not first.stale
    assert not second.stale
    assert second.verdict.duplicate_of != original
    newsroom.pins.remove(original, alone.source_id)
    _, second = newsroom.pins.settle(original, alone.source_id)
    assert second.verdict.duplicate_of == original
    assert newsroom.pins.settle("nobody", "nothing") == ()


STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | STORABLE, max_size=4))
def test_a_place_is_read_as_it_was_written(given_values: list[Any]) -> None:
    word = reading.token(*given_values)
    assert reading.position(word, *map(type, given_values)) == given_values


@given(st.text(max_size=60))
def test_nothing_else_is_a_place(word: str) -> None:
    with pytest.raises(InputError, match="not a token of this list"):
        reading.position(word, int, int, int, str)
