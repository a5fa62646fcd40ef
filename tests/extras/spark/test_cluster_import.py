"""`dedup import`: marks that a cluster computed become the marks of the corpus, as after a backfill."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from operator import contains
from pathlib import Path

import pytest

from dedup.attach.sync import sync
from dedup.base.article import Article
from dedup.base.errors import BusyError, DatabaseError, InputError
from dedup.base.progress import SilentProgress
from dedup.base.settings import Settings
from dedup.db.database import Database
from dedup.extras.spark.postgres import ImportReport
from dedup.extras.spark.postgres import importing as cluster_import
from dedup.rules.pair import Relation
from dedup.store import memory_engine, pins, rulebooks, setting_rows
from tests import attached
from tests.conformance import corpora as conformance
from tests.corpora import (
    Answer,
    answer,
    article,
    assert_counted,
    assert_equal,
    assert_right,
    at,
    change_settings,
    deduplicator,
    load,
    sentence_hash,
    settle,
    unsettled,
    wait_until,
    window,
)
from tests.extras.spark.results import SETTINGS, ClusterResult, fill, news, result_of
from tests.settling.meddling import Meddling, Stopped
from tests.settling.test_crash import FAULT

pytestmark = pytest.mark.timeout(300)


def take(database: Database, result: ClusterResult, folder: Path, **options: object) -> ImportReport:
    return cluster_import.run(database, result.write(folder), **options)  # type: ignore[arg-type]


def rows(database: Database) -> dict[str, list[str]]:
    """Return every row that settling writes, with the id of the row's transaction."""
    with database.transaction() as cursor:
        return {
            table: sorted(
                (str(row) for row in cursor.execute(f"SELECT xmin::text, t.* FROM dedup.{table} t".encode())),
            )
            for table in (
                "article",
                "fingerprint",
                "match",
                "common_sentence",
                "sentence_count",
                "corpus_state",
            )
        }


def assert_idle(database: Database) -> None:
    """Check that a backfill finds no work and writes no row."""
    before = rows(database)
    report = settle(database)
    assert (report.settled, report.fingerprinted, report.failed, report.compared) == (0, 0, 0, 0)
    assert (report.common_entered, report.common_left, report.engines) == (0, 0, [])
    assert rows(database) == before


def assert_taken_up(database: Database) -> Answer:
    """Check that the corpus is as after a backfill: the oracle and `verify` agree, and no work is left."""
    found = assert_right(database)
    assert_counted(database)
    with deduplicator(database) as door:
        checked = door.verify()
    # An import brings only marks. The next backfill finds the credits of the articles.
    skipped = [line for line in checked.skipped if not line.startswith("the credits of")]
    assert (checked.differences, skipped) == ([], [])
    with database.transaction() as cursor:
        assert not memory_engine.was_interrupted(cursor)
        assert cursor.execute("SELECT count(*) FROM dedup.bulk_change").fetchone() == (0,)
    assert_idle(database)
    return found


def hook_agrees(database: Database, given: Sequence[Article], further: Sequence[Article]) -> None:
    """Submit more articles, and check that the marks equal the marks of a new corpus."""
    with deduplicator(database) as door:
        for one in further:
            assert not door.submit(one).provisional
    settle(database)
    found = assert_right(database)
    fill(database, [*given, *further])
    settle(database)
    assert_equal(answer(database), found)


@pytest.mark.long("dedup", "migrations")
def test_a_corpus_that_was_never_settled(database: Database, tmp_path: Path) -> None:
    given = news(200)
    fill(database, given)
    report = take(database, result_of(given, SETTINGS), tmp_path / "result", progress=None)
    found = assert_taken_up(database)
    statuses = [mark[0] for mark in found.marks.values()]
    assert {"unique", "similar", "duplicate", "failed"} <= set(statuses)
    assert len(found.common) >= 3
    assert (report.articles, report.marks, report.pairs) == (200, 200, len(found.pairs))
    assert report.fingerprints == 200 - statuses.count("failed")
    assert (report.left, report.problems, report.stopped) == (0, [], False)
    with deduplicator(database) as door:
        assert [(run.what, run.outcome, run.settled) for run in door.runs()][-1] == ("import", "done", 200)
    hook_agrees(database, given, news(15, seed=5, start=500))


@pytest.mark.long("dedup", "migrations")
def test_from_the_corpus_that_was_exported_with_articles_loaded_since(
    database: Database, tmp_path: Path
) -> None:
    given, late = news(120), news(60, seed=2, start=300)
    fill(database, given)
    settle(database)
    with deduplicator(database) as door:
        exported = door.export_corpus(tmp_path / "known")
    assert exported.left_out == 0
    load(database, *late)
    report = take(database, result_of([*given, *late], SETTINGS), tmp_path / "result")
    found = assert_taken_up(database)
    assert 0 < report.fingerprints <= 60
    assert 60 <= report.marks < 180
    hook_agrees(database, [*given, *late], news(10, seed=7, start=900))
    assert len(found.marks) == 180


@pytest.mark.long("dedup", "migrations")
def test_marks_that_stay_are_not_written_again(database: Database, tmp_path: Path) -> None:
    given = news(100)
    fill(database, given)
    settle(database)
    before = rows(database)
    report = take(database, result_of(given, SETTINGS), tmp_path / "result")
    after = rows(database)
    assert (report.marks, report.pairs, report.fingerprints) == (0, 0, 0)
    for table in ("article", "fingerprint", "match", "common_sentence"):
        assert after[table] == before[table]
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_a_second_import_does_nothing(database: Database, tmp_path: Path) -> None:
    given = news(80)
    fill(database, given)
    result = result_of(given, SETTINGS)
    take(database, result, tmp_path / "first")
    again = take(database, result, tmp_path / "second", progress=None)
    assert (again.marks, again.pairs, again.fingerprints) == (0, 0, 0)
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_what_a_stopped_backfill_left_behind_goes(database: Database, tmp_path: Path) -> None:
    given = news(40)
    fill(database, given)
    settle(database)
    with database.transaction(settling=True) as cursor:
        cursor.execute("INSERT INTO dedup.fingerprint_bulk SELECT * FROM dedup.fingerprint")
        cursor.execute("UPDATE dedup.corpus_state SET recount_all = true")
    take(database, result_of(given, SETTINGS), tmp_path / "result")
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_several_files_of_other_widths(database: Database, tmp_path: Path) -> None:
    given = news(60)
    fill(database, given)
    folder = result_of(given, SETTINGS).write(tmp_path / "result", files=4)
    cluster_import.run(database, folder)
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", sorted(conformance.CORPORA))
def test_every_corpus_of_the_conformance_suite(database: Database, tmp_path: Path, name: str) -> None:
    made = conformance.CORPORA[name]()
    given = made.articles
    change_settings(database, **made.settings)
    load(database, *given)
    pairs = {(min(a, b), max(a, b)): relation for a, b, relation in made.pairs}
    with database.transaction(settling=True) as cursor:
        for (a, b), relation in pairs.items():
            pins.pin_pair(cursor, a, b, relation)
        sentences = {sentence_hash(given): common for given, common in made.sentences.items()}
        for sentence, common in sentences.items():
            pins.pin_sentence(cursor, sentence, common, None)
        settings = setting_rows.load_wanted(cursor)
    result = result_of(given, settings, pairs=pairs, sentences=sentences)
    take(database, result, tmp_path / "result")
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_sentences_that_stop_being_common_and_others_that_begin(database: Database, tmp_path: Path) -> None:
    given = news(120)
    fill(database, given)
    settle(database)
    change_settings(database, common_stories=6)
    result = result_of(given, Settings(common_stories=6))
    report = take(database, result, tmp_path / "result")
    assert report.adopted
    assert report.common_left > 0
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_settings_that_change_fingerprints_are_adopted(database: Database, tmp_path: Path) -> None:
    given = news(60)
    fill(database, given)
    settle(database)
    change_settings(database, text_min_words=12)
    wanted = Settings(common_stories=4, text_min_words=12)
    report = take(database, result_of(given, wanted), tmp_path / "result")
    assert (report.adopted, report.fingerprints > 40) == (True, True)
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_a_horizon(database: Database, tmp_path: Path) -> None:
    given = news(100)
    fill(database, given)
    settle(database)
    with deduplicator(database) as door:
        door.prune("2024-03-01T00:40:00Z")
        horizon = at(40)
        exported = door.export_corpus(tmp_path / "known")
    late = [one for one in news(40, seed=3, start=400) if _time(one) >= horizon]
    load(database, *late)
    inside = [one for one in [*given, *late] if _time(one) >= horizon]
    assert exported.articles == len(inside) - len(late) < 100
    take(database, result_of(inside, SETTINGS, horizon=horizon), tmp_path / "result")
    assert_right(database)
    assert_counted(database)
    assert_idle(database)
    with pytest.raises(InputError, match="horizon differs"):
        take(database, result_of(inside, SETTINGS), tmp_path / "without")
    outside = [one for one in given if _time(one) < horizon][:2]
    with pytest.raises(InputError, match="2 articles of the result before the horizon"):
        take(database, result_of([*inside, *outside], SETTINGS, horizon=horizon), tmp_path / "more")


@pytest.mark.long("dedup", "migrations")
def test_with_a_horizon_and_another_order_a_backfill_comes_first(database: Database, tmp_path: Path) -> None:
    given = news(30)
    fill(database, given)
    settle(database)
    with deduplicator(database) as door:
        door.prune("2024-03-01T00:10:00Z")
    change_settings(database, canonical_order="added")
    settings = Settings(common_stories=4, canonical_order="added")
    with pytest.raises(InputError, match=r"not divided yet .*: run `dedup backfill` first"):
        take(database, result_of(given, settings, horizon=at(10)), tmp_path / "result")


def _time(one: Article) -> datetime:
    found = one.published_at or one.added_at
    assert found
    return found


@pytest.mark.long("dedup", "migrations")
def test_an_attached_table(database: Database, tmp_path: Path) -> None:
    with attached.owned(database) as owner:
        attached.news(owner)
        for key in range(30):
            attached.put(owner, key, window(key % 12, 6), key)
        door = deduplicator(database)
        door.attachments.attach("newsroom.news", keys=["id"], columns=attached.COLUMNS, mark_columns=True)
        own = [article(f"own {i}", window(i, 6), 50 + i, added_at=at(0)) for i in range(5)]
        load(database, *own)
        sync(database, SilentProgress(), lambda: False)
        with database.transaction() as cursor:
            found = cursor.execute(
                "SELECT a.source_id, t.text, a.title, a.published_at, a.added_at, a.language"
                " FROM dedup.article a JOIN dedup.article_text t ON t.article_id = a.id"
            ).fetchall()
        given = [
            Article(row[0], row[1], row[2], published_at=row[3], added_at=row[4], language=row[5])
            for row in found
        ]
        assert len(given) == 35
        take(database, result_of(given), tmp_path / "result")
        assert_taken_up(database)
        with database.transaction() as cursor:
            marked = cursor.execute("SELECT status FROM dedup.news_marks").fetchall()
            assert cursor.execute("SELECT count(*) FROM dedup.mark_change").fetchone() == (0,)
        assert {"duplicate", "similar"} <= {row[0] for row in marked}
        owner.execute("UPDATE news SET body = 'another text' WHERE id = 3")
        with pytest.raises(InputError, match=r"1 article with another text, .*\(news/3\)"):
            take(database, result_of(given), tmp_path / "again")


STAGES = ["reading the result", "comparing with the corpus", "storing fingerprints", "writing marks"]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(24))
def test_whatever_people_do_meanwhile_the_next_backfill_makes_it_right(
    database: Database, corpus_url: str, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    given = news(80, seed)
    fill(database, given[:60])
    if seed % 3:
        settle(database)
    load(database, *given[60:])
    others = Database(corpus_url)
    did: list[str] = []

    def happens(stage: str) -> None:
        # Before these stages the import would notice a change and refuse the result.
        if stage in ("storing fingerprints", "writing marks"):
            for _ in range(rng.randrange(4)):
                did.append(meddle(others, rng, given))

    try:
        report = take(database, result_of(given, SETTINGS), tmp_path / "result", progress=Meddling(happens))
    finally:
        others.close()
    assert bool(report.left) <= bool(did)
    settle(database)
    assert unsettled(database) == set()
    assert_right(database)
    assert_counted(database)
    assert_idle(database)


def meddle(database: Database, rng: random.Random, given: Sequence[Article]) -> str:
    """Make a random change, like a person or a scraper; return the kind of the change."""
    one, other = rng.sample(list(given), 2)
    what = rng.choice(["edit", "delete", "date", "pin", "submit", "sentence"])
    with deduplicator(database) as door:
        if what == "edit":
            load(
                database, article(one.source_id, window(rng.randrange(40) * 3, 6, ring=80), rng.randrange(80))
            )
        elif what == "delete":
            door.delete(one.source_id)
        elif what == "date":
            with database.transaction() as cursor:
                cursor.execute(
                    "UPDATE dedup.article SET published_at = %s WHERE source_id = %s",
                    [other.published_at, one.source_id],
                )
        elif what == "pin":
            with database.transaction() as cursor:
                pins.pin_pair(cursor, one.source_id, other.source_id, rng.choice(list(Relation)))
        elif what == "sentence":
            with database.transaction() as cursor:
                row = cursor.execute("SELECT sentence_hashes[1] FROM dedup.fingerprint LIMIT 1").fetchone()
                if row and row[0] is not None:
                    pins.pin_sentence(cursor, row[0], rng.random() < 0.5, None)
        else:
            door.submit(article(f"new {rng.randrange(9)}", window(rng.randrange(40) * 3, 6, ring=80)))
    return what


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("stage", STAGES)
def test_stopped_in_any_stage_no_mark_has_changed_and_the_next_one_ends_it(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, settled: bool
) -> None:
    given = news(80)
    fill(database, given[:50])
    if settled:
        settle(database)
    load(database, *given[50:])
    before = answer(database)
    result = result_of(given, SETTINGS)

    def happens(begun: str) -> None:
        if begun == stage:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("dedup.settling.memory.run.MemoryRun.__exit__", lambda *_: None)
        patch.setattr("dedup.runs.heartbeat.Heartbeat.end", lambda *_: None)
        with pytest.raises(Stopped):
            take(database, result, tmp_path / "first", progress=Meddling(happens))
    assert answer(database) == before
    take(database, result, tmp_path / "second")
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("stage", STAGES)
def test_stopped_in_any_stage_a_backfill_goes_on(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, gone: bool
) -> None:
    given = news(60)
    fill(database, given)

    def happens(begun: str) -> None:
        if begun == stage:
            raise Stopped

    with monkeypatch.context() as patch:
        if gone:  # a killed process cannot record its end
            patch.setattr("dedup.settling.memory.run.MemoryRun.__exit__", lambda *_: None)
        with pytest.raises(Stopped):
            take(database, result_of(given, SETTINGS), tmp_path / "result", progress=Meddling(happens))
    report = settle(database)
    assert report.engines == ["memory" if gone and stage != STAGES[0] else "postgres"]
    assert_right(database)
    assert_counted(database)


TELLING = """
import sys
from dedup.db.database import Database
from dedup.extras.spark.postgres import importing as cluster_import

class Telling:
    def start(self, stage, total):
        print(stage, flush=True)

    def advance(self, count, total=None):
        pass

cluster_import.run(Database(sys.argv[1]), sys.argv[2], progress=Telling())
print("done", flush=True)
"""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.one_in(4)
@pytest.mark.parametrize("stage", STAGES)
def test_kill_9_leaves_the_corpus_as_before_or_whole(
    database: Database, corpus_url: str, tmp_path: Path, stage: str
) -> None:
    given = news(150)
    fill(database, given[:100])
    settle(database)
    load(database, *given[100:])
    before = answer(database)
    folder = result_of(given, SETTINGS).write(tmp_path / "result")
    rng, whole = random.Random(stage), False
    while not whole:
        command = [sys.executable, "-c", TELLING, corpus_url, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            # False if the server does not know yet that the previous import has ended, and refuses this one.
            begun = any(line.strip() == stage for line in process.stdout)
            if begun:
                time.sleep(rng.random() * 0.1)  # anywhere within the stage, or after it
                process.kill()
        whole = answer(database) != before
        if begun and rng.random() < 0.5:
            break
    if whole:
        assert_right(database)
    wait_until(lambda: _imports(database, folder))
    assert_taken_up(database)


def _imports(database: Database, folder: Path) -> bool:
    """Import the folder. Return False if the server still believes that a killed import is running."""
    try:
        cluster_import.run(database, folder)
    except BusyError:
        return False
    return True


@pytest.mark.long("dedup", "migrations")
def test_asked_to_stop_it_stops_and_changes_nothing(database: Database, tmp_path: Path) -> None:
    given = news(60)
    fill(database, given)
    before = answer(database)
    folder = result_of(given, SETTINGS).write(tmp_path / "result")
    for stage in STAGES[:-1]:  # the last stage is a single transaction
        told: list[str] = []
        watching = partial(contains, told, stage)
        report = cluster_import.run(database, folder, progress=Meddling(told.append), stop=watching)
        assert report.stopped
        assert answer(database) == before
    with deduplicator(database) as door:
        assert {run.outcome for run in door.runs()} == {"stopped"}
    settle(database)
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_a_fault_at_any_write_changes_no_mark(database: Database, tmp_path: Path) -> None:
    given = news(30)
    fill(database, given[:20])
    settle(database)
    load(database, *given[20:])
    before = answer(database)
    folder = result_of(given, SETTINGS).write(tmp_path / "result")
    at_write, failed = 1, 0
    while True:
        with database.transaction() as cursor:
            cursor.connection.execute(FAULT.format(at=at_write).encode())
            for table in ("article", "match", "common_sentence", "sentence_count", "corpus_state"):
                cursor.execute(
                    f"CREATE TRIGGER fault BEFORE INSERT OR UPDATE OR DELETE ON dedup.{table}"
                    " FOR EACH ROW EXECUTE FUNCTION public.fault()".encode()
                )
        try:
            cluster_import.run(database, folder)
            break
        except DatabaseError:
            failed += 1
        finally:
            with database.transaction() as cursor:
                cursor.execute("DROP FUNCTION public.fault() CASCADE")
                cursor.execute("DROP SEQUENCE public.fault")
        assert answer(database) == before
        at_write += 1 + at_write // 3
    assert failed > 5
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_beside_a_backfill_it_says_who_is_at_work(database: Database, tmp_path: Path) -> None:
    from dedup.runs.heartbeat import Heartbeat

    given = news(20)
    fill(database, given)
    folder = result_of(given, SETTINGS).write(tmp_path / "result")
    alive = Heartbeat(database, "backfill")
    assert alive.claim()
    with pytest.raises(BusyError, match="a backfill is running, since"):
        cluster_import.run(database, folder)
    alive.end("done")
    alive.close()
    cluster_import.run(database, folder)
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_a_backfill_beside_it_ends_at_once(database: Database, corpus_url: str, tmp_path: Path) -> None:
    given = news(20)
    fill(database, given)
    others = Database(corpus_url)
    said = []

    def happens(stage: str) -> None:
        if stage == "comparing with the corpus":
            said.append(settle(others).running)

    take(database, result_of(given, SETTINGS), tmp_path / "result", progress=Meddling(happens))
    others.close()
    assert [run.kind for run in said if run] == ["an import"]
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_a_pin_that_comes_before_it_compares_is_found(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    given = news(20)
    fill(database, given)
    others = Database(corpus_url)

    def happens(stage: str) -> None:
        if stage == "comparing with the corpus":
            with others.transaction(settling=True) as cursor:
                pins.pin_pair(cursor, "article 1", "article 2", Relation.DUPLICATE)

    with pytest.raises(InputError, match="the pins of pairs or sentences differ"):
        take(database, result_of(given, SETTINGS), tmp_path / "result", progress=Meddling(happens))
    others.close()


@pytest.mark.long("dedup", "migrations")
def test_settings_changed_meanwhile_end_it(database: Database, corpus_url: str, tmp_path: Path) -> None:
    given = news(20)
    fill(database, given)
    before = answer(database)
    others = Database(corpus_url)

    def happens(stage: str) -> None:
        if stage == "writing marks":
            with others.transaction(settling=True) as cursor:
                rulebooks.change_settings(cursor, {"similar_pairs": 7})
                rulebooks.adopt(cursor)

    with pytest.raises(BusyError, match="no mark was changed: run the import again"):
        take(database, result_of(given, SETTINGS), tmp_path / "result", progress=Meddling(happens))
    others.close()
    assert answer(database) == before
    settle(database)
    assert_right(database)
