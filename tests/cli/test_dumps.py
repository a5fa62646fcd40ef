"""`dedup db psql`, `db dump` and `db restore`, on two embedded servers made for each test."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.db import embedded, postgres
from dedup.store import opening
from tests.corpora import article, code, window

pytestmark = pytest.mark.timeout(180)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def homes() -> Iterator[tuple[Path, Path]]:
    """Folders of two embedded servers. Root's server runs as another user, to whom `tmp_path` is closed."""
    made = [Path(tempfile.mkdtemp(prefix="dedup-test-")) for _ in range(2)]
    yield made[0], made[1]
    for home in made:
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command on the embedded server in the folder `home`. The command has a
    separate process, because `db psql` replaces its process by psql."""

    def call(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if k != "DEDUP_DATABASE_URL"}
        return subprocess.run(
            [sys.executable, "-m", "dedup.cli.main", *words],
            env=kept | {"DEDUP_HOME": str(home)} | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


def fill(home: Path) -> None:
    """Make a settled corpus of eight articles, with a pin and a changed setting."""
    from dedup.db.database import Database

    database = Database(embedded.start(home))
    opening.initialize(database)
    database.close()
    with Deduplicator(embedded.start(home)) as dd:
        dd.settings.change({"common_stories": 3})
        dd.load([article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(8)])
        dd.backfill(workers=0)
        dd.pins.set("a1", "a6", "similar")
        dd.backfill(workers=0)


def marks(home: Path) -> list[object]:
    with Deduplicator(embedded.start(home)) as dd:
        return [*dd.marks(), *dd.matches(), dd.settings.in_force(), *dd.pins.list()]


@pytest.mark.long("dedup", "migrations")
def test_what_was_dumped_comes_back_verified(homes: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    first, second = homes
    fill(first)
    with psycopg.connect(embedded.start(first)) as connection:
        connection.execute("INSERT INTO dedup.worker (host, process_id) VALUES ('desk-1', 17)")
    saved = run(first, "db", "dump", "monday.dump", PGHOST="/nonexistent", PGDATABASE="other")
    assert saved.returncode == 0, saved.stderr
    file = tmp_path / "monday.dump"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    before = file.read_bytes()
    again = run(first, "db", "dump", "monday.dump")
    assert (again.returncode, "exists" in again.stderr) == (2, True)
    assert file.read_bytes() == before

    onto_itself = run(first, "db", "restore", "monday.dump")
    assert onto_itself.returncode == 2
    assert "article (8 rows)" in onto_itself.stderr

    back = run(second, "db", "restore", "monday.dump")
    assert back.returncode == 0, back.stderr
    assert "restored and verified" in back.stderr
    assert marks(second) == marks(first)
    checked = run(second, "status", "--check")
    assert checked.returncode == 0, f"the row of a worker is not restored: {checked.stdout}"
    # A restore also replaces an empty corpus, and does not mix an older state with a newer one.
    assert run(second, "uninstall", "--yes").returncode == 0
    assert run(second, "init").returncode == 0
    assert run(second, "db", "restore", "monday.dump").returncode == 0
    assert marks(second) == marks(first)

    shown = run(second, "db", "psql", "--", "-XAtc", "SELECT count(*) FROM dedup.mark", PGHOST="/nonexistent")
    assert (shown.returncode, shown.stdout) == (0, "8\n"), shown.stderr
    other = run(second, "db", "psql", DEDUP_DATABASE_URL="postgresql://someone@nowhere/news")
    assert other.returncode == 2
    assert "your own psql" in other.stderr


@pytest.mark.torture
def test_attached_tables_come_back_with_the_corpus(
    homes: tuple[Path, Path], run: Run, tmp_path: Path
) -> None:
    first, second = homes
    fill(first)
    with psycopg.connect(embedded.start(first)) as connection:
        connection.execute("CREATE TABLE public.articles (id int PRIMARY KEY, body text NOT NULL)")
        for i in range(4):
            text = article(f"r{i}", [*window(i % 2 * 10 + 40, 6)]).text
            connection.execute("INSERT INTO public.articles VALUES (%s, %s)", [i, text])
    with Deduplicator(embedded.start(first)) as dd:
        dd.attachments.attach("public.articles", keys=["id"], columns={"text": "body"})
        dd.backfill(workers=0)
    assert run(first, "db", "dump", "attached.dump").returncode == 0
    back = run(second, "db", "restore", "attached.dump")
    assert back.returncode == 0, back.stderr
    assert "restored and verified" in back.stderr
    assert marks(second) == marks(first)
    with Deduplicator(embedded.start(second)) as dd:
        assert [row["status"] for row in dd.marks() if row["id"] == "articles/2"] == ["duplicate"]
    # The triggers are restored, too: changes of the table reach the corpus.
    with psycopg.connect(embedded.start(second)) as connection:
        connection.execute("DELETE FROM public.articles WHERE id = 2")
    with Deduplicator(embedded.start(second)) as dd:
        dd.backfill(workers=0)
        assert "articles/2" not in [row["id"] for row in dd.marks()]
        assert dd.verify().right


@pytest.mark.long("dedup", "migrations")
def test_what_is_no_dump_changes_nothing(homes: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    home, _ = homes
    (tmp_path / "words.txt").write_text("words")
    for name, said in (("words.txt", "not a dump"), ("nothing", "nothing cannot be read: No such file")):
        refused = run(home, "db", "restore", name)
        assert refused.returncode == 2
        assert said in refused.stderr
        assert "starting" not in refused.stderr
    url = embedded.start(home)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE public.other AS SELECT 1 AS one")
    subprocess.run(
        [postgres.programs() / "pg_dump", "-Fc", "-f", tmp_path / "other.dump", url], check=True, timeout=60
    )
    refused = run(home, "db", "restore", "other.dump")
    assert refused.returncode == 2
    assert "not a dump of a corpus" in refused.stderr


@pytest.mark.torture
def test_a_damaged_dump_is_told_without_its_texts(homes: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    first, second = homes
    fill(first)
    assert run(first, "db", "dump", "whole.dump").returncode == 0
    whole = (tmp_path / "whole.dump").read_bytes()
    (tmp_path / "half.dump").write_bytes(whole[: len(whole) * 3 // 4])
    refused = run(second, "db", "restore", "half.dump")
    assert refused.returncode in (1, 2)
    assert "pg_restore failed" in refused.stderr or "not a dump" in refused.stderr
    assert "The " not in refused.stderr.replace("The embedded", "")
    with psycopg.connect(embedded.start(second)) as connection:
        row = connection.execute("SELECT to_regclass('dedup.article')").fetchone()
    assert row == (None,)
    assert run(second, "db", "restore", "whole.dump").returncode == 0
    assert marks(second) == marks(first)
