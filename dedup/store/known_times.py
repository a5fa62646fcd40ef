"""What may be said of times: which are known, and of which two articles one was first.

A time of publication is known where there is one that is not implausible: from 1605 on, and at most 24 hours
after the article was stored. One of 00:00:00 UTC is known to the day only. The views say it in SQL of their
own (`migrations/sql/browsing.sql`). The order in which marks are found is another matter: there the time of
storing stands in (docs/semantics.md, sections 5 and 7).
"""

from __future__ import annotations

from datetime import datetime, time, timedelta


def known(row: str) -> str:
    """SQL: the known time of publication of an article, by the name of its row; null where there is none."""
    return (
        f"CASE WHEN {row}.published_at >= '1605-01-01 00:00:00+00'"
        f" AND {row}.published_at - {row}.added_at <= interval '24 hours' THEN {row}.published_at END"
    )


def delay(at: str, first: str) -> str:
    """SQL: from one known time to another, given as expressions; null where nobody can tell."""
    return (
        f"CASE WHEN ({at} AT TIME ZONE 'UTC')::date <> ({first} AT TIME ZONE 'UTC')::date"
        f" OR ({at} <> date_trunc('day', {at}, 'UTC') AND {first} <> date_trunc('day', {first}, 'UTC'))"
        f" THEN {at} - {first} END"
    )


def delay_between(at: datetime | None, first: datetime | None) -> timedelta | None:
    """From one known time in UTC to another; None where nobody can tell which was first."""
    if at is None or first is None:
        return None
    by_day = time() in (at.time(), first.time())
    return None if by_day and at.date() == first.date() else at - first
