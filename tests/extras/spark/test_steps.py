"""Steps are written once. A killed run continues with the first step that is not done."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import pytest

from dedup.base.errors import WorkError
from dedup.base.settings import Settings
from tests.corpora import assert_equal
from tests.extras.spark.corpora import Abstract, FingerprintMaker, answer, expected, frame, settle

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_800)]


def numbers(spark: Any, upto: int) -> Any:
    return lambda: spark.range(upto)


def steps(spark: Any, work: Path, digest: str = "one") -> Any:
    from dedup.extras.spark.steps import SparkSteps

    return SparkSteps(spark, str(work), digest)


def forbidden() -> Any:
    raise AssertionError("the step is there")


def test_a_step_is_made_once(spark: Any, tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    first = steps(spark, tmp_path)
    first.told = lambda name, seconds, rows: told.append((name, rows))
    assert first.table("numbers", numbers(spark, 3), "id long").count() == 3
    assert first.table("numbers", forbidden, "id long").count() == 3
    later = steps(spark, tmp_path)
    assert sorted(row.id for row in later.table("numbers", forbidden).collect()) == [0, 1, 2]
    assert (first.done["numbers"].made, later.done["numbers"].made) == (True, False)
    assert later.rows("numbers") == 3
    assert told == [("numbers", 3)]
    assert later.sizes()["numbers"] > 0


def test_the_folder_of_another_run_is_refused(spark: Any, tmp_path: Path) -> None:
    steps(spark, tmp_path).table("numbers", numbers(spark, 3))
    with pytest.raises(WorkError, match=r"holds the steps of another run.*take another folder"):
        steps(spark, tmp_path, "two").table("numbers", numbers(spark, 3))


@pytest.mark.parametrize("left", ["no marker", "an empty marker", "part of a marker"])
def test_a_step_without_its_marker_is_made_again(spark: Any, tmp_path: Path, left: str) -> None:
    steps(spark, tmp_path).table("numbers", numbers(spark, 3))
    done = tmp_path / "numbers" / "done"
    for path in done.glob("*.parquet"):
        path.unlink()
    for path in done.glob(".*.crc"):
        path.unlink()
    if left == "no marker":
        for path in done.iterdir():
            path.unlink()
        done.rmdir()
    elif left == "part of a marker":
        (done / "_temporary" / "0").mkdir(parents=True)
        (done / "_temporary" / "0" / "part-00000.parquet").write_bytes(b"PAR1")
    assert steps(spark, tmp_path).table("numbers", numbers(spark, 5), "id long").count() == 5


def test_no_step_has_no_rows(spark: Any, tmp_path: Path) -> None:
    assert steps(spark, tmp_path).tables([], "node long").collect() == []
    with pytest.raises(ValueError, match="a schema is needed"):
        steps(spark, tmp_path).tables([])


def corpus() -> Abstract:
    return FingerprintMaker(11, Settings()).corpus(40, "a")


class Small(TypedDict):
    head_minimum: int
    budget: int


SMALL: Small = {"head_minimum": 4, "budget": 0}


def written(work: Path) -> dict[str, int]:
    """Return the finished steps, each with the lowest inode of its files."""
    found = {}
    for done in work.glob("*/done"):
        files = list(done.parent.glob("data/*.parquet"))
        if list(done.glob("*.parquet")):
            found[done.parent.name] = min(file.stat().st_ino for file in files)
    return found


class KilledError(Exception):
    """Raised in place of a kill, because a process for each step would take too long."""


def stop_if_made(steps: Any, name: str, seconds: float, rows: int) -> None:
    """Stop a run after it has made a step."""
    if steps.done[name].made:
        raise KilledError


def test_a_run_that_is_stopped_after_any_step_goes_on_there(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run stops after each step in turn. Sometimes the step's marker is removed, and the step runs
    again."""
    from dedup.extras.spark.engine import settle as run
    from dedup.extras.spark.fingerprinting import Taken
    from dedup.extras.spark.options import CorpusState, Options, Pins
    from dedup.extras.spark.schema import REFUSED
    from dedup.extras.spark.steps import SparkSteps

    given, work = corpus(), tmp_path / "work"
    options = Options(**SMALL)
    attempts = 0
    before: dict[str, int] = {}
    result = None
    while result is None:
        attempts += 1
        assert attempts < 200

        made = SparkSteps(spark, str(work), "digest")
        made.told = partial(stop_if_made, made)
        state = CorpusState(pins=Pins(given.pairs, given.sentences))
        refused = spark.createDataFrame([], REFUSED)
        try:
            result = run(Taken(made, frame(spark, given.entries), refused, {}), state, options)
        except KilledError:
            after = written(work)
            assert after.items() >= before.items()
            assert len(after) == len(before) + 1
            before = after
            if attempts % 5 == 0:  # as if killed before the last marker was written
                (last,) = [name for name, step in made.done.items() if step.made]
                for path in (work / last / "done").glob("*.parquet"):
                    path.unlink()
                del before[last]
    assert attempts > 20
    assert_equal(answer(result).answer, expected(given))


CHILD = """
import os, signal, sys
from pathlib import Path
from tests.extras.spark.conftest import session
from tests.extras.spark.test_steps import SMALL, corpus
from tests.extras.spark.corpora import settle
from dedup.extras.spark import steps

work, kills = Path(sys.argv[1]), sys.argv[2]
spark = session(work / "warehouse")
write = steps.SparkSteps._make

def make(self, name, build, schema):
    def begun():
        if kills == "in " + name:
            os.kill(os.getpid(), signal.SIGKILL)
        return build()
    found = write(self, name, begun, schema)
    if kills == "after " + name:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

steps.SparkSteps._make = make
settle(spark, work / "steps", corpus(), **SMALL)
"""


def test_a_driver_that_is_killed_goes_on(spark: Any, tmp_path: Path) -> None:
    before: dict[str, int] = {}
    for kills in ("in nodes", "after round-0001-star", "in matches"):
        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path), kills], capture_output=True, timeout=900
        )
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()[-2_000:]
        after = written(tmp_path / "steps")
        assert after.items() >= before.items()
        assert len(after) > len(before)
        before = after
    found = answer(settle(spark, tmp_path / "steps", corpus(), None, **SMALL))
    assert_equal(found.answer, expected(corpus()))
    assert written(tmp_path / "steps").items() >= before.items()
