"""Watching a corpus: the check for Nagios and cron, the list of runs, metrics for Prometheus, logs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from prometheus_client.parser import text_string_to_metric_families

from dedup.api.alarms import FIGURES
from dedup.api.metrics import Metrics
from dedup.api.operation import Operation
from dedup.base.errors import UnreachableError
from dedup.base.extras import installing
from dedup.cli import main, monitor
from dedup.db.database import URL_VARIABLE, Database
from dedup.runs import monitoring, runs, waiting
from dedup.store.window import NEVER_COMPARED
from tests.attached import attach, news, owned
from tests.cli.conftest import Dedup
from tests.corpora import article, deduplicator, load, wait_until, window
from tests.db.test_roles import made_roles, url_of

STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


def change(database: Database, table: str, values: str, where: str = "true") -> None:
    execute(database, f"UPDATE dedup.{table} SET {values} WHERE {where}")


def execute(database: Database, statement: str) -> None:
    with database.transaction(settling=True) as cursor:
        cursor.execute(statement.encode())


@pytest.fixture
def settled(database: Database) -> Database:
    """A corpus of twelve settled articles."""
    load(database, *(article(f"a{i:02}", window(i, 6), i) for i in range(12)))
    deduplicator(database).backfill(workers=0)
    return database


NUMBER = r"-?\d+(?:\.\d+)?"
DATA = re.compile(rf"[a-z_]+=(?:U|{NUMBER}s?);(?:{NUMBER})?;(?:{NUMBER})?;0")
"""A figure as the guidelines for Nagios plugins define it: 'label'=value[UOM];[warn];[crit];[min];[max]."""


def check(dedup: Dedup, *arguments: str) -> tuple[int, str]:
    """Run `dedup status --check`, check the form of its output, and return its exit code and message."""
    found = dedup("status", "--check", *arguments)
    first, *others = found.out.splitlines()
    message, bar, data = first.removeprefix(f"DEDUP {STATES[found.code]} - ").partition(" | ")
    assert bar
    assert len(message) < len(first), "the printed state agrees with the exit code"
    assert all(DATA.fullmatch(one) for one in data.split(" ")), data
    assert all(
        re.fullmatch(r"(WARNING|CRITICAL) [a-z_]+: .+; list: `dedup [a-z -]+`", line) for line in others
    )
    assert bool(others) == bool(found.code)
    return found.code, "\n".join([message, *others])


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
def test_all_is_well_after_a_backfill(dedup: Dedup, settled: Database) -> None:
    assert check(dedup) == (0, "0 articles wait")


def test_never_settled(dedup: Dedup, database: Database) -> None:
    code, line = check(dedup)
    assert code == 1
    assert line.startswith("nothing was settled yet: ")
    assert " settled=U;" in dedup("status", "--check").out


def test_a_success_that_is_too_old(dedup: Dedup, settled: Database) -> None:
    change(settled, "run", "ended_at = now() - interval '27 hours'")
    assert check(dedup)[0] == 1
    assert "all was last settled 27 hours ago: " in check(dedup)[1]
    assert check(dedup, "--max-age", "28h")[0] == 0


def test_a_failed_run_is_no_success(dedup: Dedup, settled: Database) -> None:
    change(settled, "run", "outcome = 'failed'")
    assert check(dedup)[0] == 1


def test_backfills_that_fail_again_and_again_are_told_at_once(
    dedup: Dedup, settled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(settled, article("late", window(3, 6)))
    with monkeypatch.context() as broken:
        broken.setattr("dedup.settling.backfill.settle", None)
        for code in (0, 1):
            with pytest.raises(TypeError):
                deduplicator(settled).backfill(workers=0)
            assert check(dedup)[0] == code, "a single failure may be temporary"
    assert "2 runs failed since the last success (TypeError): see `dedup runs`" in check(dedup)[1]
    deduplicator(settled).backfill(workers=0)
    assert check(dedup) == (0, "0 articles wait")


def test_a_worker_that_found_nothing_to_do_is_a_success(dedup: Dedup, settled: Database) -> None:
    change(settled, "run", "ended_at = now() - interval '27 hours'")
    with settled.transaction() as cursor:
        runs.see_worker(cursor, runs.begin_worker(cursor, "here", 1), idle=True)
    assert check(dedup)[0] == 0


def test_an_article_that_waits_too_long(dedup: Dedup, settled: Database) -> None:
    load(settled, article("late", window(3, 6)))
    execute(
        settled, "UPDATE dedup.article SET added_at = now() - interval '3 hours' WHERE source_id = 'late'"
    )
    execute(
        settled,
        "UPDATE dedup.run SET started_at = now() - interval '5 hours', ended_at = now() - interval '4 hours'",
    )
    code, line = check(dedup, "--max-age", "5h")
    assert (code, line) == (0, "1 article waits")
    code, line = check(dedup, "--max-age", "2h")
    assert code == 1
    assert "waited for 3 hours" in line


def test_an_edited_article_has_not_waited_since_it_was_stored(dedup: Dedup, settled: Database) -> None:
    execute(
        settled, "UPDATE dedup.article SET added_at = now() - interval '300 days' WHERE source_id = 'a01'"
    )
    assert deduplicator(settled).vitals().waiting_seconds < 60  # type: ignore[operator]
    assert check(dedup, "--max-age", "1h")[0] == 0
    ago = "now() - interval '30 days'"
    execute(settled, f"UPDATE dedup.run SET started_at = {ago}, ended_at = {ago}")
    assert deduplicator(settled).vitals().waiting_seconds < 60  # type: ignore[operator]


def test_articles_without_text_or_before_the_horizon_are_no_fault(dedup: Dedup, settled: Database) -> None:
    load(settled, article("empty", ()), article("pictures", ()), article("old", window(3, 6)))
    deduplicator(settled).backfill(workers=0)
    execute(
        settled,
        f"UPDATE dedup.article_mark SET status = 'failed', reason = '{NEVER_COMPARED}'"
        " WHERE id = (SELECT id FROM dedup.article WHERE source_id = 'old')",
    )
    assert check(dedup) == (0, "0 articles wait")
    found = deduplicator(settled).vitals()
    assert (found.failed, found.failed_lately) == ({"archived": 1, "empty": 2}, 0)


def test_a_text_that_is_too_long_or_cannot_be_read_is_told_for_a_while(
    dedup: Dedup, settled: Database
) -> None:
    load(settled, article("long", window(0, 6)), article("unreadable", window(9, 6)), article("empty", ()))
    deduplicator(settled).settings.change({"text_max_characters": 1_000})
    change(settled, "article", "text = repeat('word ', 1000)", "source_id = 'long'")
    deduplicator(settled).backfill(workers=0)
    failed = "status = 'failed', reason = 'unreadable: TypeError', marked_at = now()"
    unreadable = "id = (SELECT id FROM dedup.article WHERE source_id = 'unreadable')"
    change(settled, "article_mark", failed, unreadable)
    assert deduplicator(settled).vitals().failed == {"empty": 1, "too long": 1, "unreadable": 1}
    code, line = check(dedup, "--max-age", "1h")
    assert code == 1
    assert "2 articles failed lately: `dedup status` says why" in line
    change(settled, "article_mark", "marked_at = now() - interval '2 hours'", "status = 'failed'")
    assert check(dedup, "--max-age", "1h")[0] == 0


def test_workers_that_are_all_gone(dedup: Dedup, settled: Database) -> None:
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-1", 17)
        runs.begin_worker(cursor, "desk-2", 18)
    change(settled, "worker", "seen_at = now() - interval '3 minutes'", "host = 'desk-1'")
    assert check(dedup)[0] == 0, "one worker is left"
    change(settled, "worker", "seen_at = now() - interval '3 minutes'")
    code, line = check(dedup)
    assert code == 1
    assert "the worker on desk-1, process 17, is gone; it was last seen 3 minutes ago" in line
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-3", 19)
    assert check(dedup)[0] == 0, "a new worker removes the rows of lost workers"


def test_a_worker_whose_session_is_gone_is_gone_at_once(dedup: Dedup, settled: Database) -> None:
    with psycopg.connect(settled.url) as session:
        with settled.transaction() as cursor, session.cursor() as own:
            number = runs.begin_worker(cursor, "desk-1", 17)
            runs.see_worker(cursor, number, idle=True, session=runs.find_session(own))
        session.commit()
        assert check(dedup)[0] == 0
    wait_until(lambda: check(dedup)[0] == 1)
    assert "desk-1, process 17, is gone; it was last seen" in check(dedup)[1]


def test_a_worker_that_works_is_gone_with_the_session_of_its_run(settled: Database) -> None:
    with psycopg.connect(settled.url, autocommit=True) as session, session.cursor() as own:
        pid, start = runs.find_session(own)
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-1", 17)
        cursor.execute("UPDATE dedup.worker SET seen_at = now() - interval '3 minutes'")
        runs.claim(cursor, "worker", runs.Owner("desk-1", 17, pid, start))

    def alive() -> list[bool]:
        with settled.transaction() as cursor:
            return [worker.alive for worker in runs.load_workers(cursor)]

    wait_until(lambda: alive() == [False])


def test_a_worker_that_is_gone_for_an_hour_is_forgotten_where_nothing_waits(
    dedup: Dedup, settled: Database
) -> None:
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-1", 17)
    change(settled, "worker", "seen_at = now() - interval '59 minutes'")
    assert check(dedup)[0] == 1
    change(settled, "worker", "seen_at = now() - interval '61 minutes'")
    assert check(dedup) == (0, "0 articles wait")
    load(settled, article("new", window(3, 6), 90))
    code, line = check(dedup)
    assert code == 1
    assert "the worker on desk-1, process 17, is gone" in line
    assert dedup("worker", "--once").code == 0
    load(settled, article("newer", window(4, 6), 91))
    assert check(dedup)[0] == 0, "a run that settled all removes the row"


def test_a_run_does_not_forget_a_worker_that_ended_within_the_hour(dedup: Dedup, settled: Database) -> None:
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-1", 17)
    change(settled, "worker", "seen_at = now() - interval '59 minutes'")
    assert dedup("worker", "--once").code == 0
    assert check(dedup)[0] == 1


@pytest.fixture
def owner(settled: Database) -> Iterator[psycopg.Connection[Any]]:
    """The owner of an attached table with 201 changes that no run has read."""
    with owned(settled) as connection:
        news(connection)
        attach(settled)
        deduplicator(settled).backfill(workers=0)
        connection.execute("INSERT INTO news (id, body) SELECT n, 'words' FROM generate_series(1, 201) n")
        yield connection


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
def test_changes_of_attached_tables_that_wait_with_nobody_at_work(
    dedup: Dedup, settled: Database, owner: psycopg.Connection[Any]
) -> None:
    assert check(dedup) == (0, "0 articles and 201 changes of attached tables wait")
    change(settled, "outbox", "noted_at = now() - interval '20 minutes'")
    assert check(dedup)[0] == 0, "without a worker, changes may wait for the nightly backfill"
    code, line = check(dedup, "--max-wait", "15m")
    assert code == 1
    assert "a change of an attached table has waited for 20 minutes, and no run is at work" in line
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-1", 17)
    code, line = check(dedup)
    assert code == 1, "a worker reads changes within a second"
    assert "20 minutes, and no run is at work" in line
    assert check(dedup, "--max-wait", "1h")[0] == 0
    with settled.transaction() as cursor:
        runs.claim(cursor, "worker", runs.Owner("desk-1", 17, None, None))
    assert check(dedup)[0] == 0, "a run is at work"
    change(settled, "outbox", "noted_at = now() - interval '27 hours'")
    assert "a change of an attached table has waited for 27 hours" in check(dedup)[1]


@pytest.fixture
def busy(settled: Database, owner: psycopg.Connection[Any]) -> Iterator[Database]:
    """A corpus for `status` with every status, a limit that fired, failures of two reasons, and a backfill
    that holds the settle lock while changes wait."""
    load(settled, *(article(f"n{i}", window(i, 6), i) for i in range(20, 25)))
    change(
        settled,
        "article_mark",
        "status = 'unique', duplicate_of = NULL",
        "id % 6 = 1 AND status <> 'pending'",
    )
    limit = "stale = true, limit_fired = 'more than 20000 candidates'"
    change(settled, "article_mark", limit, "id % 6 = 0 AND status <> 'pending'")
    execute(
        settled,
        "INSERT INTO dedup.common_sentence (sentence_hash, carriers, effective_stories) VALUES (1, 9, 9)",
    )
    for reason, key in (("unreadable: TypeError", "n21"), ("empty: the text has no words", "n22")):
        failed = f"status = 'failed', reason = '{reason}'"
        change(
            settled, "article_mark", failed, f"id = (SELECT id FROM dedup.article WHERE source_id = '{key}')"
        )
    with settled.transaction() as cursor:
        runs.claim(cursor, "backfill", runs.Owner("newsroom-database-01", 1_234_567, None, None))
        cursor.execute("UPDATE dedup.run SET stage = 'fingerprinting', done = 1234567, total = 12345678")
    with settled.transaction() as cursor:
        cursor.execute("SELECT dedup.settle_lock()")
        yield settled


def test_status_fits_a_screen_and_names_what_it_leaves_out(
    dedup: Dedup, busy: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    shown, whole = dedup("status"), dedup("status", "--all")
    lines = (shown.out + shown.err).splitlines()
    assert sum(-(-len(line) // 80) for line in lines) <= 24 - 2, (
        "the command and the next prompt also take lines"
    )
    told = " ".join(" ".join(lines).split())
    for words in ("unique", "similar", "duplicate", "pending", "failed", "process 1234567 (fingerprinting"):
        assert words in told
    assert "attached tables 201 changes to be read" in told
    assert "failed: 1 article: empty, and 1 other reason" in told
    assert "more than 20000 candidates" in told
    assert "with --all similar pairs, pinned pairs, archived, deferred" in told
    assert "pinned pairs  " not in shown.out
    assert "with --all" not in whole.out
    assert "failed: 1 article: unreadable" in whole.err
    assert all(
        words in whole.out for words in ("similar pairs  ", "pinned pairs  ", "archived  ", "deferred  ")
    )


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
def test_metrics_count_changes_and_not_notes(
    dedup: Dedup, settled: Database, owner: psycopg.Connection[Any]
) -> None:
    change(settled, "outbox", "noted_at = now() - interval '20 minutes'")
    found = samples(dedup("metrics").out)
    assert found["dedup_queue_rows", "changes"] == 201
    assert 1_200 <= found["dedup_changes_waiting_seconds",] < 1_300
    deduplicator(settled).backfill(workers=0)
    found = samples(dedup("metrics").out)
    assert found["dedup_queue_rows", "changes"] == found["dedup_changes_waiting_seconds",] == 0


def test_a_worker_that_works_is_not_gone(settled: Database) -> None:
    with settled.transaction() as cursor:
        runs.begin_worker(cursor, "desk-1", 17)
        runs.claim(cursor, "backfill", runs.Owner("desk-1", 17, None, None))
        cursor.execute("UPDATE dedup.worker SET seen_at = now() - interval '3 minutes'")
        assert [worker.alive for worker in runs.load_workers(cursor)] == [True]


def test_a_stuck_run(dedup: Dedup, settled: Database) -> None:
    with settled.transaction() as cursor:
        runs.claim(cursor, "backfill", runs.Owner("desk-1", 17, None, None))
        cursor.execute(
            "UPDATE dedup.run SET progress_at = now() - interval '11 minutes' WHERE ended_at IS NULL"
        )
    assert "probably stuck" in check(dedup)[1]


def test_the_check_as_json(dedup: Dedup, settled: Database) -> None:
    found = json.loads(dedup("status", "--check", "--json").out)
    assert (found["state"], found["alarms"]) == ("OK", [])
    assert found["totals"]["settled"] == 12
    load(settled, article("late", window(3, 6)))
    shown = dedup("status", "--check", "--json", "--fail-on", "pending=:0")
    (alarm,) = json.loads(shown.out)["alarms"]
    assert (shown.code, alarm["state"], alarm["name"], alarm["value"]) == (2, "CRITICAL", "pending", 1)


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
@pytest.mark.parametrize(
    ("given", "code", "data"),
    [
        (("pending",), 1, "pending=2;0;;0"),
        (("pending=1:2",), 1, "pending=2;1;2;0"),
        (("pending=:1",), 2, "pending=2;;1;0"),
        (("pending=2:2",), 0, "pending=2;2;2;0"),
        (("stale", "pending=0:1"), 2, "stale=0;0;;0"),
        (("waiting=1h:2h",), 0, "waiting=0s;3600;7200;0"),
        (("settled",), 0, "settled=0s;93600;;0"),
    ],
)
def test_only_chosen_figures_alarm_above_their_thresholds(
    dedup: Dedup, settled: Database, given: tuple[str, ...], code: int, data: str
) -> None:
    load(settled, article("late", window(3, 6)), article("later", window(5, 6)))
    options = [f"--fail-on={one}" for one in given]
    assert check(dedup, *options)[0] == code
    value, _, limits = data.partition(";")
    out = dedup("status", "--check", *options).out
    assert re.search(rf" {value.replace('0s', f'{NUMBER}s')};{limits}[ \n]", out), out
    assert "failed=0;;;0" in out, "other figures are printed without thresholds"


@pytest.mark.parametrize(
    "given",
    [
        "no_such_figure",
        "pending=",
        "pending=a",
        "pending=1:2:3",
        "pending=-1",
        "pending=15m",
        "waiting=15",
        "pending=5:1",
        "waiting=2h:15m",
    ],
)
def test_a_threshold_that_is_none(dedup: Dedup, given: str) -> None:
    found = dedup("status", "--check", f"--fail-on={given}")
    assert found.code == 3
    assert found.out.startswith("DEDUP UNKNOWN - --fail-on")


def test_a_time_that_changes_no_chosen_figure_is_refused(dedup: Dedup, settled: Database) -> None:
    useless = [("pending", "age"), ("waiting=15m", "age"), ("settled", "wait"), ("waiting=:2h", "wait")]
    for chosen, name in useless:
        found = dedup("status", "--check", f"--fail-on={chosen}", f"--max-{name}=2h")
        assert found.code == 3
        assert f"--max-{name} changes no figure of --fail-on" in found.out
    for chosen, name in (("failed=3", "age"), ("waiting", "age"), ("waiting", "wait")):
        assert check(dedup, f"--fail-on={chosen}", "--fail-on=pending", f"--max-{name}=2h")[0] == 0


@pytest.mark.parametrize("given", ["--fail-on=pending=5:5", "--max-age=2h", "--max-wait=2h"])
def test_a_threshold_without_a_check_is_refused(dedup: Dedup, given: str) -> None:
    found = dedup("status", given)
    assert found.code == 2
    assert "add --check" in found.err
    assert dedup("status", "--check", given).code < 3


def test_wrong_usage_and_a_refused_login_are_unknown(
    dedup: Dedup, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dedup("status", "--check", "--max-agee", "1h")
    assert found.code == 3
    assert found.out.startswith("DEDUP UNKNOWN - No such option: --max-agee. Did you mean --max-age or")
    assert dedup("status", "--max-agee", "1h").code == 2, "only `--check` has the exit codes of plugins"
    assert dedup("--schema", "No", "status", "--check").code == 3
    url = psycopg.conninfo.make_conninfo(corpus_url, user="nobody_of_that_name", password="not to be told")
    monkeypatch.setenv(URL_VARIABLE, url)
    found = dedup("status", "--check")
    assert (found.code, "told" in found.out) == (3, False)


def test_a_database_that_is_away_is_critical(
    dedup: Dedup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, f"host={tmp_path} dbname=none")
    found = dedup("status", "--check")
    assert (found.code, found.out.count("\n")) == (2, 1)
    assert found.out.startswith("DEDUP CRITICAL - ")
    shown = dedup("status", "--check", "--json")
    assert (shown.code, json.loads(shown.out)["state"]) == (2, "CRITICAL")


def test_a_name_cannot_pass_for_performance_data(
    dedup: Dedup, settled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "news | failed=0\nDEDUP OK - \x1b[2J"
    monkeypatch.setattr("dedup.attach.drift.problems", lambda _: [hostile])
    out = dedup("status", "--check").out
    assert out.count("|") == 1
    assert out.count("\n") == 2
    assert "\x1b" not in out


def test_every_figure_names_a_command_that_there_is_and_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "worker.md").read_text("utf-8")
    known: Any = typer.main.get_command(main.program())
    for name, meaning in FIGURES.items():
        assert f"`{name}`" in page
        command, *arguments = meaning.listing.split()[1:]
        with known.commands[command].make_context(command, arguments):
            pass


@pytest.mark.parametrize("given", ["yesterday", "0h", "26", "-1h", ""])
def test_a_time_that_is_none(dedup: Dedup, given: str) -> None:
    found = dedup("status", "--check", f"--max-age={given}")
    assert found.code == 3
    assert "write 90s, 30m, 26h or 7d" in found.out


def test_the_last_runs(dedup: Dedup, settled: Database) -> None:
    found = json.loads(dedup("runs", "--json").out)
    assert [(run["outcome"], run["settled"], run["fingerprinted"]) for run in found] == [("done", 12, 12)]
    assert set(found[0]["stage_seconds"]) >= {"fingerprinting", "counting", "settling"}
    shown = dedup("runs").out.splitlines()
    assert shown[0].split() == [
        "id",
        "what",
        "started",
        "seconds",
        "outcome",
        *monitor.COUNTS,
        "host",
        "error",
    ]
    assert shown[1].split()[5:8] == ["done", "12", "12"]
    assert json.loads(dedup("runs", "--json", "--limit", "1").out) == found


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return the value of every sample by its name and labels, read with Prometheus' own parser."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_of_a_corpus(dedup: Dedup, settled: Database) -> None:
    load(settled, article("empty", ()))
    deduplicator(settled).backfill(workers=0)
    load(settled, article("new", window(3, 6), 90))
    change(settled, "article_mark", "limit_fired = 'too many'", "status = 'pending'")
    found = samples(dedup("metrics").out)
    assert found["dedup_up",] == 1
    assert found["dedup_unsettled_articles", "pending"] == 1
    assert found["dedup_unsettled_articles", "stale"] == 0
    assert found["dedup_articles_settled_total",] >= 12
    assert found["dedup_articles_fingerprinted_total",] == 12
    assert found["dedup_articles_failed_total",] == 1
    assert found["dedup_failed_articles", "empty"] == 1
    assert found["dedup_limited_articles", "too many"] == 1
    assert found["dedup_queue_rows", "deferred"] == 0
    assert found["dedup_runs_total", "done"] == 2
    assert found["dedup_stage_seconds_total", "settling"] > 0
    assert found["dedup_last_success_timestamp_seconds",] > 1.7e9
    assert all(name.startswith("dedup_") for name, *_ in found)


def test_metrics_as_a_file(dedup: Dedup, settled: Database, tmp_path: Path) -> None:
    file = tmp_path / "dedup.prom"
    file.write_text("what was there before")
    assert dedup("metrics", "-o", str(file)).code == 0
    assert samples(file.read_text())["dedup_up",] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["dedup.prom"]


def test_metrics_of_a_database_that_is_away(
    dedup: Dedup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, f"host={tmp_path} dbname=none")
    found = dedup("metrics")
    assert found.code == 1
    assert samples(found.out) == {("dedup_up",): 0}


def test_a_refused_right_is_told_with_the_grant_that_helps(
    dedup: Dedup,
    settled: Database,
    corpus_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with made_roles(corpus_url, ["scraper"]) as names, Operation(corpus_url) as owner:
        role = names["scraper"]
        owner.grant(scraper=[role])
        grant = f"dedup grant --scraper {role} --counter {role}"
        monkeypatch.setenv(URL_VARIABLE, url_of(corpus_url, role))
        found = dedup("metrics")
        assert (found.code, samples(found.out)) == (1, {("dedup_up",): 0})
        assert grant in found.err
        assert caplog.messages == []
        found = dedup("status", "--check")
        assert (found.code, found.out.startswith("DEDUP UNKNOWN - ")) == (3, True)
        assert grant in found.out
        metrics = Metrics()
        close = metrics.serve(0, "127.0.0.1")
        try:
            assert [samples(metrics.text()) for _ in range(2)] == [{("dedup_up",): 0}] * 2
            assert len(caplog.messages) == 1
            assert grant in caplog.messages[0]
            owner.grant(counter=[role])
            assert samples(metrics.text())["dedup_up",] == 1
        finally:
            close()


def test_a_counter_may_check_a_corpus_with_attached_tables(
    dedup: Dedup, settled: Database, owner: Any, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def figures() -> tuple[int, str]:
        found = dedup("status", "--check", "--fail-on=changes")
        return found.code, re.sub(r"=[\d.]+s", "", found.out)  # without times

    expected = figures()
    assert expected[0] == 1
    with made_roles(corpus_url, ["counter", "analyst"]) as names, Operation(corpus_url) as granting:
        granting.grant(counter=[names["counter"]], analyst=[names["analyst"]])
        for role in names.values():
            monkeypatch.setenv(URL_VARIABLE, url_of(corpus_url, role))
            assert figures() == expected


def test_a_scraped_outage_is_logged_when_it_begins_and_when_it_ends(
    settled: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics(corpus_url)
    close = metrics.serve(0, "127.0.0.1")

    def fail(_: object) -> Any:
        raise UnreachableError("it does not answer")

    try:
        assert metrics.text()
        with monkeypatch.context() as outage:
            outage.setattr("dedup.db.database.Pool.borrow", fail)
            assert [samples(metrics.text())["dedup_up",] for _ in range(3)] == [0, 0, 0]
        assert [samples(metrics.text())["dedup_up",] for _ in range(3)] == [1, 1, 1]
    finally:
        close()
    assert caplog.messages == ["it does not answer; dedup_up is 0", "the database answers again"]


def test_articles_are_told_before_the_planner_knows_them(
    dedup: Dedup, settled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(settled, "UPDATE pg_class SET reltuples = -1 WHERE oid = 'dedup.article'::regclass")
    assert samples(dedup("metrics").out)["dedup_articles",] == 12
    monkeypatch.setattr(monitoring, "SAMPLE", 4)
    assert deduplicator(settled).vitals().articles == 12, "as the ids say"
    execute(settled, "ANALYZE dedup.article")
    assert deduplicator(settled).vitals().articles == 12, "as the planner says"


def test_without_the_extra_it_is_named(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "METRICS_PACKAGES", ("no_such_package",))
    found = dedup("metrics")
    assert found.code == 2
    assert f"dedup metrics needs no_such_package: run `{installing('metrics')}`" in found.err


def test_a_scrape(settled: Database, corpus_url: str) -> None:
    metrics = Metrics(corpus_url)
    close = metrics.serve(0, "127.0.0.1")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics", timeout=20) as answer:
            assert samples(answer.read().decode())["dedup_up",] == 1
    finally:
        close()


@pytest.fixture
def large(settled: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A corpus with more unsettled articles than `monitoring.SAMPLE`, so that their number is estimated."""
    monkeypatch.setattr(monitoring, "SAMPLE", 4)
    change(settled, "article", "text = text || ' more'", "source_id < 'a06'")
    execute(settled, "ANALYZE dedup.article, dedup.article_mark")
    return settled


def test_estimates_say_that_they_are(large: Database) -> None:
    found = deduplicator(large).vitals()
    assert found.estimated
    assert found.pending + found.stale >= 6


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes(part)


class Noting:
    """A cursor that records the statements that it executes."""

    def __init__(self, cursor: Any) -> None:
        self.cursor, self.connection = cursor, cursor.connection
        self.asked: list[tuple[str, Any]] = []

    def execute(self, query: Any, values: Any = None) -> Any:
        self.asked.append((query if isinstance(query, str) else bytes(query).decode(), values))
        return self.cursor.execute(query, values)


def test_monitoring_reads_no_large_table_as_a_whole(settled: Database) -> None:
    """Check the plans of the queries, which hold for any size. Only `dedup.run` and `dedup.worker`, which
    stay small, may be read as a whole."""
    with settled.transaction() as cursor:
        noting: Any = Noting(cursor)
        monitoring.load_vitals(noting)
        waiting.find_waiting(noting)
        statements = [(query, values) for query, values in noting.asked if "set_config" not in query]
        explained = [
            cursor.execute(f"EXPLAIN (FORMAT JSON) {query}".encode(), values).fetchone()
            for query, values in statements
        ]
    found = [node for row in explained if row for node in nodes(row[0][0]["Plan"])]
    assert len(statements) >= 8
    assert {"article_unsettled", "article_failed"} <= {node.get("Index Name") for node in found}
    whole = {node.get("Relation Name") for node in found if node["Node Type"] == "Seq Scan"}
    tables = {"article", "fingerprint", "match", "deferred_article", "sentence_change", "outbox"}
    assert not whole & tables


def record(caplog_text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in caplog_text.splitlines()]


def run_worker(url: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "dedup.cli.main", "worker", "--workers", "1", *arguments],
        env={**os.environ, URL_VARIABLE: url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.long("dedup", "migrations")
def test_once_settles_and_ends(database: Database, corpus_url: str) -> None:
    load(database, article("a", window(0, 6)))
    code, said = run_worker(corpus_url, "--once", "--log-format", "json")
    assert code == 0
    (event,) = record(said)
    assert (event["event"], event["level"], event["logger"]) == ("settled", "info", "dedup.worker")
    assert (event["settled"], event["fingerprinted"]) == (1, 1)
    code, said = run_worker(corpus_url, "--once")
    assert code == 0
    assert "info dedup.worker: fingerprinted 0, settled 0" in said


@pytest.mark.long("dedup", "migrations")
def test_once_answers_prometheus_while_it_works(settled: Database, corpus_url: str) -> None:
    code, said = run_worker(corpus_url, "--once", "--metrics-port", "0", "--log-format", "json")
    assert code == 0
    assert [event["event"] for event in record(said)] == ["metrics", "settled"]


@pytest.mark.long("dedup", "migrations")
def test_once_warns_of_texts_that_failed_and_of_nothing_else(database: Database, corpus_url: str) -> None:
    load(database, article("empty", ()))
    code, said = run_worker(corpus_url, "--once", "--log-level", "warning")
    assert code == 0
    assert "warning dedup.worker: fingerprinted 0, settled 0, failed 1" in said
    assert run_worker(corpus_url, "--once", "--log-level", "warning") == (0, "")


@pytest.mark.long("dedup", "migrations")
def test_once_beside_another_run(settled: Database, corpus_url: str) -> None:
    with settled.transaction() as cursor:
        runs.claim(cursor, "backfill", runs.Owner("desk-1", 17, None, None))
    code, said = run_worker(corpus_url, "--once")
    assert code == 0
    assert "a run is at work since" in said


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
def test_a_refused_login_ends_a_worker(corpus_url: str) -> None:
    url = psycopg.conninfo.make_conninfo(corpus_url, user="nobody_of_that_name", password="not to be told")
    code, said = run_worker(url)
    assert code == 1
    assert "check user and password" in said
    assert "told" not in said


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
def test_a_port_that_is_taken(settled: Database, corpus_url: str) -> None:
    metrics = Metrics(corpus_url)
    close = metrics.serve(0, "127.0.0.1")
    try:
        found = [
            run_worker(corpus_url, *once, "--metrics-port", str(metrics.port)) for once in ([], ["--once"])
        ]
    finally:
        close()
    assert [code for code, _ in found] == [2, 2]
    assert all("cannot be used" in said for _, said in found)


@pytest.mark.long("dedup", "migrations")
def test_a_worker_answers_prometheus(database: Database, corpus_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        worker = subprocess.Popen(
            [sys.executable, "-m", "dedup.cli.main", "worker", "--metrics-port", "0", "--log-format", "json"],
            env={**os.environ, URL_VARIABLE: corpus_url},
            stderr=file,
        )
    try:
        wait_until(lambda: "metrics" in log.read_text())
        port = next(event["port"] for event in record(log.read_text()) if event.get("event") == "metrics")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            assert samples(answer.read().decode())["dedup_up",] == 1
        worker.terminate()
        assert worker.wait(20) == 0
    finally:
        worker.kill()
        worker.wait()
