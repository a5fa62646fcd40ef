"""`dedup export corpus`: the folder describes all articles at one moment, and contains no texts."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from dedup.base.errors import InputError
from dedup.db.database import Database
from dedup.extras.spark.exchange import FINGERPRINT, PAIR_PIN, SENTENCE_PIN, Basis
from dedup.extras.spark.postgres import exporting as cluster_export
from dedup.rules.pair import Relation
from dedup.store import pins
from dedup.text.fingerprint import ALGORITHM_REVISION, UNICODE_VERSION
from dedup.text.punkt import PunktModel
from tests import attached
from tests.corpora import (
    Code,
    article,
    at,
    change_settings,
    code,
    deduplicator,
    load,
    sentence_hash,
    settle,
    window,
)
from tests.extras.spark.results import SETTINGS, fill, news, result_of
from tests.settling.meddling import Meddling

pytestmark = pytest.mark.timeout(120)

Row = dict[str, Any]


def read(folder: Path, name: str = "fingerprint") -> list[Row]:
    found: list[Row] = pyarrow.parquet.read_table(folder / name).to_pylist()
    return found


def about(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "corpus.json").read_text())
    return found


def by_name(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: str(row["source_id"]))


@pytest.mark.long("dedup", "migrations")
def test_the_fingerprints_are_those_that_the_texts_have(database: Database, tmp_path: Path) -> None:
    given = news(150)
    fill(database, given)
    settle(database)
    report = cluster_export.export(database, tmp_path / "known")
    wanted = result_of(given, SETTINGS).tables["fingerprint"]
    found = read(tmp_path / "known")
    # Do not compare the versions of failed articles, because `result_of` gives them none.
    for row in (row for row in (*wanted, *found) if row["reason"] is not None):
        row["version"] = None
    assert by_name(found) == by_name(wanted)
    failed = sum(row["reason"] is not None for row in wanted)
    assert failed > 0
    assert (report.articles, report.fingerprints, report.failed) == (150, 150 - failed, failed)
    assert (report.left_out, report.left_out_ids, report.keyed, report.with_key) == (0, [], False, False)


@pytest.mark.long("dedup", "migrations")
def test_pages_and_files_hold_every_article_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.extras.spark.postgres.exporting.PAGE", 7)
    monkeypatch.setattr("dedup.extras.spark.exchange.FILE_ROWS", 21)
    given = news(80)
    fill(database, given)
    settle(database)
    cluster_export.export(database, tmp_path / "known")
    assert len(list((tmp_path / "known" / "fingerprint").iterdir())) == 4
    assert {row["source_id"] for row in read(tmp_path / "known")} == {one.source_id for one in given}
    assert len(read(tmp_path / "known")) == 80


def test_what_it_says_of_itself(database: Database, tmp_path: Path) -> None:
    fill(database, news(20))
    with database.transaction(settling=True) as cursor:
        pins.pin_pair(cursor, "article 1", "article 0", Relation.SIMILAR)
        pins.pin_pair(cursor, "é", "article 0", Relation.UNRELATED)
        pins.pin_sentence(cursor, sentence_hash(code(1)), True, None)
    settle(database)
    cluster_export.export(database, tmp_path / "known")
    found = about(tmp_path / "known")
    pairs = {("article 0", "article 1"): Relation.SIMILAR, ("article 0", "é"): Relation.UNRELATED}
    sentences = {sentence_hash(code(1)): True}
    result = result_of([], SETTINGS, pairs=pairs, sentences=sentences)
    assert Basis.read(found, "corpus.json") == Basis.read(result.about, "run.json")
    assert (found["format"], found["horizon"], found["hash_key_digest"]) == (1, None, "")
    assert (found["algorithm_revision"], found["unicode_version"]) == (ALGORITHM_REVISION, UNICODE_VERSION)
    assert "hash_key" not in found
    assert (found["counts"]["pair_pins"], found["counts"]["sentence_pins"]) == (2, 1)
    told = {
        (row["source_id"], row["other_source_id"]): row["relation"] for row in _pins(tmp_path, "pair_pin")
    }
    assert told == {pair: relation.value for pair, relation in pairs.items()}
    assert {row["sentence_hash"]: row["common"] for row in _pins(tmp_path, "sentence_pin")} == sentences


def _pins(folder: Path, name: str) -> list[Row]:
    return read(folder / "known", f"{name}.parquet")


def test_an_empty_corpus_is_a_folder_with_every_table(database: Database, tmp_path: Path) -> None:
    cluster_export.export(database, tmp_path / "known")
    names = {path.name for path in (tmp_path / "known").iterdir()}
    assert names == {"fingerprint", "pair_pin.parquet", "sentence_pin.parquet", "models", "corpus.json"}
    tables = {"fingerprint": FINGERPRINT, "pair_pin": PAIR_PIN, "sentence_pin": SENTENCE_PIN}
    for name, table in tables.items():
        path = tmp_path / "known" / (name if name == "fingerprint" else f"{name}.parquet")
        assert pyarrow.parquet.read_table(path).schema.equals(table)
        assert read(path.parent, path.name) == []


def test_what_has_no_current_fingerprint_is_left_out_and_named(database: Database, tmp_path: Path) -> None:
    given = news(40)
    fill(database, given)
    settle(database)
    late = [article(f"late {i:03}", window(i, 6), i, added_at=at(0)) for i in range(120)]
    load(database, *late, article("article 0", window(60, 6), 0))
    with database.transaction() as cursor:  # makes an article stale, but its fingerprint stays right
        cursor.execute("UPDATE dedup.article SET published_at = now() WHERE source_id = 'article 1'")
    report = cluster_export.export(database, tmp_path / "known")
    assert report.left_out == 121
    assert len(report.left_out_ids) == 100
    assert set(report.left_out_ids) <= {one.source_id for one in late} | {"article 0"}
    assert about(tmp_path / "known")["left_out"] == report.left_out_ids
    told = {row["source_id"] for row in read(tmp_path / "known")}
    assert told == {one.source_id for one in given} - {"article 0"}


def test_settings_that_wait_are_those_of_the_export(database: Database, tmp_path: Path) -> None:
    fill(database, news(40))
    settle(database)
    change_settings(database, similar_pairs=7)
    report = cluster_export.export(database, tmp_path / "rules")
    assert about(tmp_path / "rules")["settings"]["similar_pairs"] == 7
    assert report.left_out == 0
    change_settings(database, signature_size=128)
    report = cluster_export.export(database, tmp_path / "fingerprints")
    assert (report.left_out, report.fingerprints, report.failed) == (40, 0, 0)


def test_sentence_parameters_come_along(database: Database, tmp_path: Path) -> None:
    with deduplicator(database) as door:
        door.settings.train_sentences("de", ["Das ist z.B. ein Satz. Dr. Meier kam. " * 30])
        model = door.settings.sentence_models()["de"]
    cluster_export.export(database, tmp_path / "known")
    found = json.loads((tmp_path / "known" / "models" / "de.json").read_text())
    assert PunktModel.from_files(found) == model
    assert found["checksum"] == model.checksum == about(tmp_path / "known")["models"]["de"]


def test_the_hash_key_is_in_it_only_if_asked_for(database: Database, tmp_path: Path) -> None:
    key = "s" * 40
    change_settings(database, hash_key=key)
    report = cluster_export.export(database, tmp_path / "without")
    assert (report.keyed, report.with_key) == (True, False)
    assert not [path for path in (tmp_path / "without").rglob("*.json") if key in path.read_text()]
    report = cluster_export.export(database, tmp_path / "with", hash_key=True)
    assert report.with_key
    assert about(tmp_path / "with")["hash_key"] == key
    digests = {about(tmp_path / name)["hash_key_digest"] for name in ("with", "without")}
    assert len(digests) == 1
    assert len(digests.pop()) == 64


def test_with_a_horizon_only_what_is_inside(database: Database, tmp_path: Path) -> None:
    given = [article(f"a{i}", window(i, 6), i * 1_440, added_at=at(99_999)) for i in range(10)]
    fill(database, given)
    settle(database)
    with deduplicator(database) as door:
        door.prune("2024-03-05")
    # This article is before the horizon, but no run has archived it yet.
    load(database, article("old", window(50, 6), 1, added_at=at(99_999)))
    report = cluster_export.export(database, tmp_path / "known")
    assert report.articles == 6
    assert {row["source_id"] for row in read(tmp_path / "known")} == {f"a{i}" for i in range(4, 10)}
    assert about(tmp_path / "known")["horizon"] == 1_709_596_800_000_000


def test_texts_of_attached_tables(database: Database, tmp_path: Path) -> None:
    with attached.owned(database) as owner:
        attached.news(owner)
        codes: list[list[Code]] = [window(i, 6) for i in range(4)]
        for key, one in enumerate(codes):
            attached.put(owner, key, one, key)
        door = deduplicator(database)
        door.attachments.attach("newsroom.news", keys=["id"], columns=attached.COLUMNS)
        settle(database)
        assert cluster_export.export(database, tmp_path / "known").fingerprints == 4
        with database.transaction() as cursor:
            rows = cursor.execute(
                "SELECT a.source_id, t.text, a.title, a.published_at, a.added_at, a.language"
                " FROM dedup.article a JOIN dedup.article_text t ON t.article_id = a.id"
            ).fetchall()
        given = [article(row[0], [], None, added_at=row[4], title=row[2], language=row[5]) for row in rows]
        assert len(given) == 4
        texts = {row[0]: row[1] for row in rows}
        from dedup.extras.spark.exchange import text_digest

        wanted = {one.source_id: text_digest(one.language, one.title, texts[one.source_id]) for one in given}
        assert {row["source_id"]: row["text_digest"] for row in read(tmp_path / "known")} == wanted
        # The row's new text was not read yet, so the stored fingerprint belongs to the old text.
        owner.execute("UPDATE news SET body = 'other' WHERE id = 2")
        report = cluster_export.export(database, tmp_path / "again")
        assert report.left_out_ids == ["news/2"]


def test_a_folder_that_is_used_is_left_alone(database: Database, tmp_path: Path) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "mine").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        cluster_export.export(database, used)
    with pytest.raises(InputError, match="is a file"):
        cluster_export.export(database, used / "mine")
    with pytest.raises(InputError, match="cannot be written"):
        cluster_export.export(database, tmp_path / "no" / "where")
    assert [path.name for path in tmp_path.iterdir()] == ["used"]
    empty = tmp_path / "empty"
    empty.mkdir()
    cluster_export.export(database, empty)
    assert (empty / "corpus.json").exists()
    assert stat.S_IMODE(empty.stat().st_mode) == 0o700


def test_stopped_or_failed_there_is_no_folder(database: Database, tmp_path: Path) -> None:
    fill(database, news(20))
    report = cluster_export.export(database, tmp_path / "known", stop=lambda: True)
    assert report.stopped

    def fails(stage: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cluster_export.export(database, tmp_path / "known", progress=Meddling(fails))
    assert list(tmp_path.iterdir()) == []


def test_it_sees_one_moment_whatever_others_do(database: Database, corpus_url: str, tmp_path: Path) -> None:
    given = news(30)
    fill(database, given)
    settle(database)
    others = Database(corpus_url)

    def happens(stage: str) -> None:
        with deduplicator(others) as door:
            door.delete_many([one.source_id for one in given[:20]])
            door.pins.set("article 21", "article 22", "similar")

    cluster_export.export(database, tmp_path / "known", progress=Meddling(happens))
    others.close()
    assert len(read(tmp_path / "known")) == 30
    assert about(tmp_path / "known")["counts"]["pair_pins"] == 0
