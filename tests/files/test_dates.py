"""Dates of a whole file together decide how dates are read, and whether the file is refused."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.files.readers import ArticleReader, Repair, read_articles
from dedup.files.reading import Reading

JUNE = datetime(2018, 6, 1, 3, 30, tzinfo=UTC)


def written(path: Path, dates: Iterable[str]) -> Path:
    file = path / "export.csv"
    rows = (f"a-{number};The ferry to the island is late again;{text}" for number, text in enumerate(dates))
    file.write_text("\n".join(("id;text;date", *rows)) + "\n", "utf-8")
    return file


def read(path: Path, dates: Iterable[str], **options: Any) -> tuple[list[datetime | None], ArticleReader]:
    reader = read_articles(written(path, dates), **options)
    return [item.published_at for item in reader if isinstance(item, Article)], reader


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("01.06.2018 03:30", JUNE),
        ("Freitag, 01.06.2018, 3:30 Uhr", JUNE),
        ("28/09/2016 14:30", datetime(2016, 9, 28, 14, 30, tzinfo=UTC)),
        ("9/28/16", datetime(2016, 9, 28, tzinfo=UTC)),
        ("5. März 2018", datetime(2018, 3, 5, tzinfo=UTC)),
        ("12 mars 2019", datetime(2019, 3, 12, tzinfo=UTC)),
        ("43252.1458", JUNE),
        ("2018-06-01 03:30 EST", JUNE.replace(hour=8)),
        ("28-Sep-16", datetime(2016, 9, 28, tzinfo=UTC)),
        ("9/28/2016 2:30 PM", datetime(2016, 9, 28, 14, 30, tzinfo=UTC)),
    ],
)
def test_no_date_of_an_export_is_lost(tmp_path: Path, text: str, expected: datetime) -> None:
    times, reader = read(tmp_path, [text] * 680)
    assert times == [expected] * 680
    column = reader.understood.dates["published_at"]
    assert (column.given, column.lost) == (680, 0)


def test_one_date_above_12_says_how_all_are_read(tmp_path: Path) -> None:
    days = [f"{number}/06/2018" for number in range(1, 13)]
    times, reader = read(tmp_path, [*days, "13/06/2018"])
    assert times == [datetime(2018, 6, number, tzinfo=UTC) for number in range(1, 14)]
    assert reader.understood.dates["published_at"].order == "day first: 1 date cannot be read otherwise"
    times, _ = read(tmp_path, [*days, "06/13/2018"])
    assert times == [
        *(datetime(2018, number, 6, tzinfo=UTC) for number in range(1, 13)),
        datetime(2018, 6, 13, tzinfo=UTC),
    ]


def test_a_column_in_which_nothing_decides_is_asked_about(tmp_path: Path) -> None:
    dates = ["05/06/2018", "07/08/2018"]
    with pytest.raises(InputError) as caught:
        read(tmp_path, dates)
    said = str(caught.value)
    assert "2 of 2 dates in published_at" in said
    assert "'05/06/2018'" in said
    assert "--day-first" in said
    assert "--month-first" in said
    assert "--lose-dates" in said
    assert read(tmp_path, dates, day_first=True)[0][0] == datetime(2018, 6, 5, tzinfo=UTC)
    assert read(tmp_path, dates, day_first=False)[0][0] == datetime(2018, 5, 6, tzinfo=UTC)
    assert read(tmp_path, dates, date_format="%d/%m/%Y")[0][0] == datetime(2018, 6, 5, tzinfo=UTC)
    assert read(tmp_path, dates, lose_dates=True)[0] == [None, None]


def test_dates_that_contradict_each_other_decide_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 of 3 dates"):
        read(tmp_path, ["28/09/2016", "09/28/2016", "01/02/2016"])
    times, reader = read(tmp_path, ["28/09/2016"] * 10 + ["09/28/2016"])
    assert times == [datetime(2016, 9, 28, tzinfo=UTC)] * 10 + [None]
    assert reader.understood.dates["published_at"].lost == 1


def test_a_tenth_may_be_lost_and_no_more(tmp_path: Path) -> None:
    good = ["2018-06-01"] * 9
    assert read(tmp_path, ["sometime", *good])[0].count(None) == 1
    with pytest.raises(InputError, match="1 of 9 dates"):
        read(tmp_path, ["sometime", *good[1:]])
    with pytest.raises(InputError, match="11 of 100 dates"):
        read(tmp_path, [*good * 9, *good[:8], *["sometime"] * 11])


def test_a_month_of_two_languages_is_that_of_the_column(tmp_path: Path) -> None:
    polish, croatian = ["12 listopada 2019", "13 stycznia 2019"], ["12 listopada 2019", "13 srpnja 2019"]
    assert read(tmp_path, polish)[0] == [
        datetime(2019, 11, 12, tzinfo=UTC),
        datetime(2019, 1, 13, tzinfo=UTC),
    ]
    assert read(tmp_path, croatian)[0] == [
        datetime(2019, 10, 12, tzinfo=UTC),
        datetime(2019, 7, 13, tzinfo=UTC),
    ]
    with pytest.raises(InputError, match="listopada"):
        read(tmp_path, polish[:1])


def test_a_text_in_place_of_dates_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, ["The mayor of the island said on Monday that nobody knew of the ferry"])
    assert "mayor" not in str(caught.value)


@pytest.mark.parametrize("format", ["%q", "%d/%m", "%H:%M", "", "%Y", "%"])
def test_a_format_that_is_none_is_refused(format: str) -> None:
    with pytest.raises(InputError, match="is not a format of dates"):
        Reading(date_format=format)


def test_of_a_pipe_the_first_records_decide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def piped(dates: list[str]) -> ArticleReader:
        content = written(tmp_path, dates).read_bytes()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content))))
        return read_articles("-", format="csv")

    items = list(piped(["13/06/2018"] + ["05/06/2018"] * 600))
    assert items[-1].published_at == datetime(2018, 6, 5, tzinfo=UTC)  # type: ignore[union-attr]
    with pytest.raises(InputError, match="nothing was stored"):
        next(piped(["05/06/2018"] * 600))
    late = piped(["13/06/2018"] * 500 + ["sometime"] * 100)
    got: list[object] = []
    with pytest.raises(InputError, match="earlier records are stored"):
        got.extend(late)
    assert 500 < sum(isinstance(item, Article) for item in got) < 600
    assert all(isinstance(item, Article | Repair) for item in got)
