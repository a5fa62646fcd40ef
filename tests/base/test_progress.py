"""Progress: totals only grow, and no work passes 100 %."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup.base.progress import Steps

COUNTS = st.integers(0, 1_000)


@given(st.none() | COUNTS, st.lists(st.tuples(COUNTS, st.none() | COUNTS)))
def test_a_total_only_grows_and_nothing_is_done_beyond_it(
    total: int | None, told: list[tuple[int, int | None]]
) -> None:
    steps = Steps(total)
    for count, of in told:
        before = steps.total
        steps.advance(count, of)
        assert before is None or steps.total is not None
        if steps.total is not None:
            assert steps.total >= max(before or 0, of or 0, steps.done)
    assert steps.done == sum(count for count, _ in told)
