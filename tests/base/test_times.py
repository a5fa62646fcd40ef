"""Times: the accepted forms, refusals of all other forms, and round trips through each form."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.errors import InputError
from dedup.base.times import MAX_TIME_CHARACTERS, parse_time
from tests.scripts import script

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = datetime(2024, 5, 1, tzinfo=UTC)
MORNING = datetime(2020, 11, 10, 8, tzinfo=UTC)
MOSCOW = timezone(timedelta(hours=3))
NO_TIME = "published_at is not a time; write it like 2024-05-01T12:00:00Z"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        (" \t", None),
        (NOON.astimezone(MOSCOW), NOON),
        (NOON.replace(tzinfo=None), NOON),
        (date(2024, 5, 1), DAY),
        ("2024-05-01", DAY),
        ("20240501", DAY),
        (20240501, DAY),
        (20240501.0, DAY),
        ("20240501.0", DAY),
        ("2024-W18-3", DAY),
        ("2024-05-01 UTC", DAY),
        (" 2024-05-01T12:00:00Z ", NOON),
        ("2024-05-01t12:00:00z", NOON),
        ("2024-05-01 12:00", NOON),
        ("2024-05-01 12", NOON),
        ("2024-05-01 12:00:00+00", NOON),
        ("2024-05-01T15:00:00+03:00", NOON),
        ("2024-05-01T12:00:00,000", NOON),
        ("20240501T120000Z", NOON),
        ("2024-05-01 12:00:00 UTC", NOON),
        ("2024-05-01 12:00:00.000 GMT", NOON),
        ("2024-05-01T12:00 Z", NOON),
        ("2024-05-01 15:00:00 +0300", NOON),
        ("2024-05-01 15:00:00 +03:00", NOON),
        ("Tue, 10 Nov 2020 08:00:00 GMT", MORNING),
        ("Tue, 10 Nov 2020 08:00:00 +0000 (UTC)", MORNING),
        ("Tue, 10 Nov 2020 09:00:00 +0100", MORNING),
        ("Tue, 10 Nov 2020 03:00:00 EST", MORNING),
        ("Tuesday, 10 November 2020 00:00 PST", MORNING),
        ("10 nov 2020 08:00:00", MORNING),
        ("10 Nov 20 08:00 Z", MORNING),
        ("1 Sept 1999 08:00:00 UT", datetime(1999, 9, 1, 8, tzinfo=UTC)),
        ("1 Sep 99 08:00:00 UT", datetime(1999, 9, 1, 8, tzinfo=UTC)),
        ("2024/05/01", DAY),
        ("2024/05/01 12:00", NOON),
        ("2024/05/01T12:00:00Z", NOON),
        ("2024/05/01 15:00:00 +0300", NOON),
        ("20240501120000", NOON),
        (20240501120000, NOON),
        (20240501120000.0, NOON),
        ("1 May 2024", DAY),
        ("01 may 2024", DAY),
        ("Wednesday, 1 May 2024", DAY),
        ("1 May, 2024", DAY),
        ("May 1, 2024", DAY),
        ("May 1 2024", DAY),
        ("May 1, 2024 12:00", NOON),
        ("Wed, May 1, 2024, 12:00:00 GMT", NOON),
        ("Nov. 10, 2020 03:00 EST", MORNING),
        ("10 November 2020 08:00:00", MORNING),
        ("10 Nov 2020 08:00", MORNING),
        ("Sept. 1, 1999", datetime(1999, 9, 1, tzinfo=UTC)),
        ("2024.05.01", DAY),
        ("2024/5/1 12:00", NOON),
        ("May 1, 2024 12:00 PM", NOON),
        ("1 May 2024 12:00 a.m.", DAY),
        ("Tue, 10 Nov 2020 09:00:00 CET", MORNING),
        ("2020-11-10 03:00:00 EST", MORNING),
        ("10 Nov 2020 13:30 GMT+05:30", MORNING),
        ("10. November 2020, 08:00 Uhr", MORNING),
        ("5. März 2018", datetime(2018, 3, 5, tzinfo=UTC)),
        ("5 marz 2018", datetime(2018, 3, 5, tzinfo=UTC)),
        ("mar. 12 mars 2019", datetime(2019, 3, 12, tzinfo=UTC)),
        ("12 mars 2019 à 14h30", datetime(2019, 3, 12, 14, 30, tzinfo=UTC)),
        ("1er février 2019", datetime(2019, 2, 1, tzinfo=UTC)),
        ("12 de març del 2019", datetime(2019, 3, 12, tzinfo=UTC)),
        ("12 d’abril del 2019", datetime(2019, 4, 12, tzinfo=UTC)),
        ("12 марта 2019 г., 14:30", datetime(2019, 3, 12, 14, 30, tzinfo=UTC)),
        ("١٢ مارس ٢٠١٩", datetime(2019, 3, 12, tzinfo=UTC)),
        ("12 मार्च 2019", datetime(2019, 3, 12, tzinfo=UTC)),
        ("2018年6月1日 10:30", datetime(2018, 6, 1, 10, 30, tzinfo=UTC)),
        ("12 tháng 3, 2019", datetime(2019, 3, 12, tzinfo=UTC)),
        ("43252.1458", datetime(2018, 6, 1, 3, 30, tzinfo=UTC)),
        (43252.145833333336, datetime(2018, 6, 1, 3, 30, tzinfo=UTC)),
        (43252, datetime(2018, 6, 1, tzinfo=UTC)),
        (1604995200, MORNING),
        (1604995200.0, MORNING),
        ("1604995200", MORNING),
        ("1604995200.5", MORNING + timedelta(seconds=0.5)),
        (1604995200.25, MORNING + timedelta(seconds=0.25)),
        (1604995200000, MORNING),
        ("1604995200123", MORNING + timedelta(milliseconds=123)),
        ("1604995200123.4567", MORNING + timedelta(microseconds=123_456)),
        (1604995200123.5, MORNING + timedelta(microseconds=123_500)),
        (100_000_000, datetime(1973, 3, 3, 9, 46, 40, tzinfo=UTC)),
        (-315_619_200, datetime(1960, 1, 1, tzinfo=UTC)),
        ("-315619200", datetime(1960, 1, 1, tzinfo=UTC)),
    ],
)
def test_times_that_can_be_read(value: Any, expected: datetime | None) -> None:
    found = parse_time(value, "published_at")
    assert found == expected
    assert found is None or (type(found) is datetime and found.tzinfo is UTC)


@pytest.mark.parametrize(
    "value",
    [
        "yesterday", "secret", "\0", "\ud800", "05/01/2020", "01.05.2020", "5-1-2020", "2020", "2020-05",
        "2024-13-01", "2024-02-30", "2024-05-01T25:00", "2024-05-01x12:00", "2024-05-0112:00", "20240501112",
        "2024-05-01 -0500", "2024-05-01T12:00+01:00 UTC", "2024-05-01T12:00:00+99:00", "20241301", "00000000",
        "0000000000", "²0240501", "２０２４０５０１", "20240501.5", "-20240501", "1e9", "1_604_995_200",
        "13/07/2026", "07/13/2026", "06.07.2026", "2026/07/06/", "2026/07/061",
        "2026/13/07", "2026/07-06", "2026-07/06", "26/07/06", "x2026/07/06", "6 Jul 26", "July 6, 26",
        "July 6, 26 10:00", "6 July", "July 2026", "July 36, 2026", "31 June 2026",
        "6 Ju 2026",
        "July 6, 2026 13:00 PM", "6 July 2026 0:00 PM", "6 Juli Mai 2026", "6 listopada 2026",
         "6 July 2026 UTC", "6 July 2026 10", "6July 2026",
        "6 July 2026 July 6, 2026", "20261301100000", "20260713250000", "20260713100060", "-20260713100000",
        "20260713100000.5", "202607131000000", 20261301100000, -20260713100000, 20260713100000.5,
        "Tue, 10 Nov 2020 08:00:00 IST",
        "99 Nov 2020 08:00", "12:00",
        "10 Foo 2020 08:00", "10 Nov 2020 08:00 +9900", "9" * 5000, " " * 50 + "9" * MAX_TIME_CHARACTERS,
        0, -1, 7, 1.5, 2024, 12345678901, 99999999, 10**14, 10**400, -(10**13), 1e308, 1e13,
        float("nan"), float("inf"), float("-inf"), 20240501.5, 12345678901.5,
    ],
)  # fmt: skip
def test_what_is_no_time(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        parse_time(value, "published_at")
    assert str(caught.value) == NO_TIME


@pytest.mark.parametrize("value", [True, False, ["2024"], {}, b"2024-05-01", 1j, timedelta(1)])
def test_types_that_are_no_time(value: Any) -> None:
    with pytest.raises(InputError, match=f"added_at must be a time, not {type(value).__name__}"):
        parse_time(value, "added_at")


@pytest.mark.parametrize(
    "value",
    [
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "Fri, 31 Dec 9999 23:59:59 EST",
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    ],
)
def test_a_time_beyond_the_calendar_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="outside the years 1 to 9999"):
        parse_time(value, "published_at")


def test_times_of_pandas_become_plain_ones() -> None:
    pandas = pytest.importorskip("pandas")
    found = parse_time(pandas.Timestamp("2024-05-01T15:00:00.123456789+03:00"), "published_at")
    assert type(found) is datetime
    assert found == NOON + timedelta(microseconds=123_456)
    with pytest.raises(InputError, match="leave it out"):
        parse_time(pandas.NaT, "published_at")


# Stay a day away from the first and last time, so that every time zone can express the time.
EARLIEST, LATEST = datetime(1, 1, 2), datetime(9999, 12, 30)
TIMES: st.SearchStrategy[datetime] = st.one_of(
    st.datetimes(EARLIEST, LATEST),
    st.datetimes(EARLIEST, LATEST, timezones=st.timezones()),
    st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC)),
)


def in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


@pytest.mark.long("dedup/base")
@given(TIMES)
def test_every_time_comes_back_from_iso_8601(value: datetime) -> None:
    for text in (str(value), value.isoformat(), f" {value.isoformat('T', 'microseconds')}\n"):
        assert parse_time(text, "x") == in_utc(value)
    plain = in_utc(value).replace(tzinfo=None)
    for text in (f"{plain} UTC", f"{plain} GMT", f"{plain} Z", f"{plain}Z", f"{plain.isoformat()} +0000"):
        assert parse_time(text, "x") == in_utc(value)
    assert parse_time(value, "x") == in_utc(value)


@pytest.mark.long("dedup/base")
@given(TIMES, st.integers(-23 * 60, 23 * 60))
def test_every_time_comes_back_from_the_form_of_rss(value: datetime, minutes: int) -> None:
    seconds = in_utc(value).replace(microsecond=0)
    zone = timezone(timedelta(minutes=minutes))
    try:
        there = seconds.astimezone(zone)
    except OverflowError:
        return
    assert parse_time(format_datetime(there), "x") == seconds
    assert parse_time(format_datetime(seconds.astimezone(UTC), usegmt=True), "x") == seconds


SECONDS = st.integers(10**8, 10**10 - 1)


@given(SECONDS, st.integers(0, 999_999), st.booleans())
def test_every_epoch_time_comes_back(seconds: int, microseconds: int, before: bool) -> None:
    sign = -1 if before else 1
    value = datetime(1970, 1, 1, tzinfo=UTC) + sign * timedelta(seconds=seconds, microseconds=microseconds)
    minus = "-" * before
    assert parse_time(f"{minus}{seconds}.{microseconds:06}", "x") == value
    assert parse_time(f"{minus}{seconds}{microseconds // 1000:03}.{microseconds % 1000:03}", "x") == value
    if seconds < 2**33:  # a float of this size still holds microseconds
        assert parse_time(value.timestamp(), "x") == value
    whole = value - sign * timedelta(microseconds=microseconds)
    assert parse_time(sign * seconds, "x") == parse_time(sign * seconds * 1000, "x") == whole


@given(TIMES)
def test_every_time_comes_back_from_the_forms_without_a_zone(value: datetime) -> None:
    seconds = in_utc(value).replace(microsecond=0)
    day, clock = seconds.date(), f"{seconds:%H:%M:%S}"
    assert parse_time(f"{day:%Y}".zfill(4) + f"/{day:%m/%d} {clock}", "x") == seconds
    assert parse_time(seconds.isoformat()[:19].translate(dict.fromkeys(map(ord, "-T:"))), "x") == seconds
    month = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
             "November", "December"][day.month - 1]  # fmt: skip
    for name in (month, month[:3], month.upper()):
        for date_only in (f"{day.day} {name} {day.year:04}", f"{name} {day.day}, {day.year:04}"):
            assert parse_time(date_only, "x") == seconds.replace(hour=0, minute=0, second=0)
            assert parse_time(f"{date_only} {clock}", "x") == seconds


@given(st.dates())
def test_every_day_comes_back(value: date) -> None:
    midnight = datetime(value.year, value.month, value.day, tzinfo=UTC)
    assert parse_time(value, "x") == parse_time(str(value), "x") == midnight
    assert parse_time(value.strftime("%Y%m%d").zfill(8), "x") == midnight
    if value.year >= 1000:
        assert parse_time(int(value.strftime("%Y%m%d")), "x") == midnight


PIECES = st.sampled_from(
    ["2024", "05", "01", "-", ":", "T", " ", "Z", "+", "UTC", "Nov", "Tue,", ".", "99", "(", "é"]
)


@pytest.mark.long("dedup/base")
@given(st.text(max_size=40) | st.lists(PIECES, max_size=12).map("".join) | st.floats() | st.integers())
def test_any_value_is_a_time_or_a_clear_error(value: Any) -> None:
    try:
        found = parse_time(value, "x")
    except InputError as error:
        assert str(error).startswith("x is ")  # noqa: PT017
    else:
        assert found is None or found.tzinfo is UTC


MONTH_NAMES: Any = script("month_names.py")


@pytest.mark.long("dedup/base")
def test_the_table_of_names_is_the_one_of_the_pinned_babel() -> None:
    assert MONTH_NAMES.TABLE.read_text("utf-8") == MONTH_NAMES.table()


# Basque adds suffixes; Thai counts years in another era
@pytest.mark.parametrize("language", sorted({*MONTH_NAMES.PRESS} - {"eu", "th"}))
@pytest.mark.parametrize("length", ["long", "full"])
def test_the_dates_that_a_language_writes_come_back(language: str, length: Any) -> None:
    from babel.dates import format_date

    for month in range(1, 13):
        day = date(2019, month, 23)
        text = format_date(day, length, locale=language)
        assert parse_time(text, "x", languages=[language]) == datetime(2019, month, 23, tzinfo=UTC), text
