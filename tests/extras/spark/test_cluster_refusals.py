"""`dedup import` refuses results that do not fit the corpus, names the reason, and changes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.db.database import Connection, Database
from dedup.extras.spark.exchange import RESULT
from dedup.extras.spark.postgres import importing as cluster_import
from dedup.rules.pair import Relation
from dedup.store import pins
from tests.corpora import article, at, change_settings, code, load, window
from tests.extras.spark.results import SETTINGS, ClusterResult, Row, fill, result_of, write_table
from tests.extras.spark.test_cluster_import import rows
from tests.loops import each

pytestmark = pytest.mark.timeout(120)

GIVEN = [
    article("first", window(0, 6), 1, added_at=at(50)),
    article("copy", window(0, 6), 2, added_at=at(50)),
    article("like", window(2, 6), 3, added_at=at(50)),
    article("apart", window(100, 6, ring=1_000), 4, added_at=at(50)),
    article("empty", [], 5, added_at=at(50)),
    *(
        article(f"by {i}", [*window(200 + 20 * i, 5, ring=9_000), code(8_000)], 6, added_at=at(50))
        for i in range(6)
    ),
]

Spoil = Callable[[ClusterResult], None]


@pytest.fixture
def corpus(database: Database) -> Iterator[Database]:
    """A corpus that was never settled. At the end, all rows must be unchanged."""
    fill(database, GIVEN)
    before = kept(database)
    yield database
    assert kept(database) == before
    with database.transaction() as cursor:
        assert cursor.execute("SELECT bulk_run FROM dedup.corpus_state").fetchone() == (None,)
        assert cursor.execute("SELECT count(*) FROM dedup.fingerprint_bulk").fetchone() == (0,)


def kept(database: Database) -> dict[str, Any]:
    """Return every row with the id of its transaction; of `corpus_state` only the values."""
    found: dict[str, Any] = rows(database)
    with database.transaction() as cursor:
        return {**found, "corpus_state": cursor.execute("SELECT * FROM dedup.corpus_state").fetchall()}


@cache
def _result() -> ClusterResult:
    return result_of(GIVEN, SETTINGS)


def result() -> ClusterResult:
    """Return a copy of the right result, for a test to change."""
    return deepcopy(_result())


def fresh(folder: Path) -> Path:
    """Return the path of a new folder for a result."""
    return folder / f"result {len(list(folder.iterdir()))}"


def refused(corpus: Database, folder: Path, *words: str) -> None:
    """Check that a dry run reports the problem, and that an import refuses the result in the same words."""
    told = cluster_import.run(corpus, folder, dry_run=True)
    assert told.problems
    found = "\n".join(map(str, told.problems))
    for part in words:
        assert part in found
    with pytest.raises(InputError) as error:
        cluster_import.run(corpus, folder)
    assert f"{folder} does not fit this corpus: {told.problems[0]}" in str(error.value)
    assert ("lists all" in str(error.value)) == (len(told.problems) > 1)


@pytest.mark.long("dedup", "migrations")
def test_what_fits_is_not_refused(database: Database, tmp_path: Path) -> None:
    fill(database, GIVEN)
    before = rows(database)
    folder = result().write(tmp_path / "result")
    told = cluster_import.run(database, folder, dry_run=True)
    assert (told.problems, told.articles, told.fingerprints, told.common_entered) == ([], 11, 10, 1)
    assert rows(database) == before
    assert cluster_import.run(database, folder).marks == 11


def _row(found: ClusterResult, table: str, name: str) -> Row:
    return next(row for row in found.tables[table] if row["source_id"] == name)


def _mark(name: str, **values: Any) -> Spoil:
    return lambda found: _row(found, "mark", name).update(values)


def _match(name: str, **values: Any) -> Spoil:
    return lambda found: _row(found, "match", name).update(values)


def _drop(table: str, name: str) -> Spoil:
    def spoil(found: ClusterResult) -> None:
        found.tables[table].remove(_row(found, table, name))

    return spoil


def _twice(table: str, name: str) -> Spoil:
    def spoil(found: ClusterResult) -> None:
        found.tables[table].append(dict(_row(found, table, name)))

    return spoil


def _about(**values: Any) -> Spoil:
    return lambda found: found.about.update(values)


def _fingerprint(name: str, **values: Any) -> Spoil:
    return lambda found: _row(found, "fingerprint", name).update(values)


def _common(**values: Any) -> Spoil:
    return lambda found: found.tables["common_sentence"][0].update(values)


SPOILED: dict[str, tuple[Spoil, str]] = {
    "a mark twice": (_twice("mark", "copy"), "1 article with several marks (copy)"),
    "a fingerprint twice": (_twice("fingerprint", "copy"), "1 article with several fingerprints (copy)"),
    "a mark without a fingerprint": (_drop("fingerprint", "apart"), "with a mark and no fingerprint"),
    "no mark": (_drop("mark", "apart"), "1 article of this corpus missing from the result (apart)"),
    "an unknown status": (_mark("apart", status="odd"), "1 mark with contradicting values (apart)"),
    "pending": (_mark("apart", status="pending"), "1 mark with contradicting values (apart)"),
    "a duplicate of nothing": (_mark("copy", duplicate_of=None), "mark with contradicting values (copy)"),
    "a duplicate of a stranger": (
        _mark("copy", duplicate_of="nobody"),
        "mark with contradicting values (copy)",
    ),
    "a duplicate of a failed one": (_mark("copy", duplicate_of="empty"), "mark with contradicting values"),
    "failed without a reason": (_mark("apart", status="failed"), "mark with contradicting values (apart)"),
    "another reason": (_mark("empty", reason="too long"), "mark with contradicting values (empty)"),
    "another text": (
        _fingerprint("like", text_digest=bytes(32)),
        "1 article with another text, title, language or",
    ),
    "another time": (_fingerprint("like", published_at=0), "1 article with another time"),
    "another version": (_fingerprint("like", version=7), "1 fingerprint of another version"),
    "a score of another pair": (_mark("like", score=0.5), "1 mark not following from the pairs (like)"),
    "a pair missing": (_drop("match", "copy"), "1 mark not following from the pairs (copy)"),
    "a pair twice": (_twice("match", "copy"), "1 pair given several times (copy)"),
    "a pair the wrong way": (
        _match("like", source_id="first", other_source_id="like"),
        "1 pair contradicting the marks (first)",
    ),
    "a pair with a duplicate": (
        _match("like", other_source_id="copy"),
        "1 pair contradicting the marks (like)",
    ),
    "a pair with a stranger": (
        _match("like", other_source_id="nobody"),
        "1 pair of articles without a mark",
    ),
    "a score above 1": (_match("copy", containment=1.5), "1 pair contradicting the marks (copy)"),
    "no number": (_match("copy", sentence_jaccard=float("nan")), "1 pair contradicting the marks (copy)"),
    "an unknown rule": (_match("copy", rule="odd"), "1 pair contradicting the marks (copy)"),
    "an unknown relation": (_match("copy", relation="odd"), "1 pair contradicting the marks (copy)"),
    "carriers": (_common(carriers=7), "2 common sentences not following"),
    "stories": (_common(effective_stories=5.5), "2 common sentences not following"),
    "a setting": (
        _about(settings={**result().about["settings"], "similar_pairs": 20}),
        "similar_pairs is 20",
    ),
    "a digest": (
        _about(digests={**result().about["digests"], "rule": "x"}),
        "settings of the kind rule differ",
    ),
    "a hash key": (_about(hash_key_digest="x"), "the hash key differs"),
    "sentence parameters": (_about(models={"de": "x"}), "the sentence parameters of de differ"),
    "a pin": (_about(pins_digest="x"), "the pins of pairs or sentences differ"),
    "a horizon": (_about(horizon=0), "the horizon differs"),
    "an algorithm": (_about(algorithm_revision=99), "the algorithm has revision 99 there"),
    "Unicode": (_about(unicode_version="1.0.0"), "Unicode is of version 1.0.0 there"),
}


@pytest.mark.long("dedup", "migrations")
@each("what", SPOILED)
def test_what_does_not_fit(corpus: Database, tmp_path: Path, what: str) -> None:
    spoil, words = SPOILED[what]
    found = result()
    spoil(found)
    refused(corpus, found.write(fresh(tmp_path)), words)


@pytest.mark.long("dedup", "migrations")
def test_common_sentences_that_are_missing(corpus: Database, tmp_path: Path) -> None:
    found = result()
    found.tables["common_sentence"].clear()
    refused(corpus, found.write(tmp_path / "result"), "1 common sentence not following")


@pytest.mark.long("dedup", "migrations")
def test_several_problems_are_told_at_once(corpus: Database, tmp_path: Path) -> None:
    found = result()
    _fingerprint("like", text_digest=bytes(32))(found)
    _fingerprint("copy", published_at=0)(found)
    refused(corpus, found.write(tmp_path / "result"), "another text", "another time")


@pytest.mark.long("dedup", "migrations")
def test_articles_are_counted_and_some_are_named(corpus: Database, tmp_path: Path) -> None:
    more = [article(f"more {i}", window(300 + 20 * i, 5, ring=9_000), i, added_at=at(50)) for i in range(5)]
    folder = result_of([*GIVEN, *more], SETTINGS).write(tmp_path / "result")
    refused(corpus, folder, "5 articles of the result missing from this corpus (more 0, more 1, more 2 …)")


@pytest.mark.long("dedup", "migrations")
def test_pins_are_compared(database: Database, tmp_path: Path) -> None:
    fill(database, GIVEN)
    with database.transaction(settling=True) as cursor:
        pins.pin_pair(cursor, "first", "like", Relation.UNRELATED)
    refused(database, result().write(tmp_path / "before"), "the pins of pairs or sentences differ")
    after = result_of(GIVEN, SETTINGS, pairs={("like", "first"): Relation.UNRELATED})
    assert cluster_import.run(database, after.write(tmp_path / "after")).problems == []


@pytest.mark.long("dedup", "migrations")
def test_edits_since_are_found_by_content(database: Database, tmp_path: Path) -> None:
    fill(database, GIVEN)
    folder = result().write(tmp_path / "result")
    load(database, article("like", window(3, 6), 3, added_at=at(50)))
    refused(database, folder, "1 article with another text, title, language or scope")
    load(database, GIVEN[2])  # undo the edit: the content is as before
    load(database, Article("apart", GIVEN[3].text, "A headline", published_at=at(4), added_at=at(50)))
    refused(database, folder, "1 article with another text, title, language or scope")


@pytest.mark.long("dedup", "migrations")
def test_the_hash_key_is_never_told(database: Database, tmp_path: Path) -> None:
    key = "k" * 40
    fill(database, GIVEN)
    change_settings(database, hash_key=key)
    with pytest.raises(InputError) as error:
        cluster_import.run(database, result().write(tmp_path / "result"))
    assert "the hash key differs" in str(error.value)
    assert key not in str(error.value)
    keyed = result_of(GIVEN, replace(SETTINGS, hash_key=key))
    assert key not in json.dumps(keyed.about)
    cluster_import.run(database, keyed.write(tmp_path / "keyed"))


@pytest.mark.long("dedup", "migrations")
def test_behind_a_pooler_it_asks_for_the_server(
    corpus: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Database.connect

    def lent(self: Database, **options: Any) -> Connection:
        connection = connect(self, **options)
        connection.pooled = True
        return connection

    monkeypatch.setattr(Database, "connect", lent)
    with pytest.raises(InputError, match=r"is behind a pooler .*: connect directly to the server"):
        cluster_import.run(corpus, result().write(tmp_path / "result"))


# --- folders that dedup did not write


@pytest.mark.long("dedup", "migrations")
def test_no_folder(corpus: Database, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json cannot be read"):
        cluster_import.run(corpus, tmp_path / "nothing")


@pytest.mark.long("dedup", "migrations")
@each(
    ("content", "words"),
    [
        ("", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "is of format None, and this program knows 1"),
        ('{"format": 2}', "is of format 2"),
        ('{"format": 1}', "settings is missing or of a wrong type"),
    ],
)
def test_a_run_file_that_is_none(corpus: Database, tmp_path: Path, content: str, words: str) -> None:
    folder = result().write(fresh(tmp_path))
    (folder / "run.json").write_text(content)
    with pytest.raises(InputError, match=words):
        cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
def test_a_run_file_may_be_a_folder_as_spark_writes_it(database: Database, tmp_path: Path) -> None:
    fill(database, GIVEN)
    folder = result().write(tmp_path / "result")
    content = (folder / "run.json").read_text()
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()
    (folder / "run.json" / "_SUCCESS").touch()
    (folder / "run.json" / "part-00000-abc.txt").write_text(content)
    assert cluster_import.run(database, folder).marks == 11


@pytest.mark.long("dedup", "migrations")
@each("name", RESULT)
def test_a_table_is_missing(corpus: Database, tmp_path: Path, name: str) -> None:
    folder = result().write(fresh(tmp_path))
    shutil.rmtree(folder / name)
    with pytest.raises(InputError, match=f"{name} holds no Parquet file; is the folder whole"):
        cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
@each("name", RESULT)
def test_a_column_is_missing_or_of_another_type(corpus: Database, tmp_path: Path, name: str) -> None:
    folder = result().write(fresh(tmp_path))
    path = folder / name / "part-0.parquet"
    whole = pa.parquet.read_table(path)
    for column in RESULT[name].names:
        pa.parquet.write_table(whole.drop_columns([column]), path)
        with pytest.raises(InputError, match=f"has no column {column}"):
            cluster_import.run(corpus, folder)
        place = whole.column_names.index(column)
        odd = pa.array([{"a": 1}] * len(whole), pa.struct([("a", pa.int64())]))
        pa.parquet.write_table(whole.set_column(place, column, odd), path)
        with pytest.raises(InputError, match=f"the column {column} is of type struct"):
            cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
@each("cut", [0, 10, 0.5, 0.9])
def test_a_file_that_breaks_off(corpus: Database, tmp_path: Path, cut: float) -> None:
    folder = result().write(fresh(tmp_path))
    path = folder / "fingerprint" / "part-0.parquet"
    data = path.read_bytes()
    path.write_bytes(data[: int(cut * len(data)) if cut < 1 else int(cut)])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
def test_pages_that_were_overwritten(corpus: Database, tmp_path: Path) -> None:
    folder = result().write(tmp_path / "result")
    path = folder / "mark" / "part-0.parquet"
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)  # damage a page, but not the footer
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
@each(
    ("table", "values", "words"),
    [
        ("mark", {"source_id": "a\0b"}, "holds a NUL"),
        ("mark", {"source_id": None}, "values are missing in the column source_id"),
        ("mark", {"status": None}, "values are missing in the column status"),
        ("match", {"best_match": None}, "values are missing in the column best_match"),
        ("fingerprint", {"added_at": None}, "values are missing in the column added_at"),
        ("fingerprint", {"added_at": 2**62}, "outside the years 1 to 9999"),
        ("fingerprint", {"published_at": -(2**62)}, "outside the years 1 to 9999"),
        ("fingerprint", {"text_digest": b"short"}, "digests of texts do not have 32 bytes"),
        ("fingerprint", {"buckets": [1, 2]}, "sizes that the settings"),
        ("fingerprint", {"signature": b"12"}, "sizes that the settings"),
        ("fingerprint", {"signature": b""}, "sizes that the settings"),
        ("fingerprint", {"shingle_count": -1}, "sizes that the settings"),
        ("fingerprint", {"sentence_hashes": [1, None]}, "values are missing in the column sentence_hashes"),
        ("fingerprint", {"sentence_hashes": None}, "values are missing in the column sentence_hashes"),
    ],
)
def test_values_that_may_not_be(
    corpus: Database, tmp_path: Path, table: str, values: Row, words: str
) -> None:
    found = result()
    found.tables[table][0].update(values)
    with pytest.raises(InputError, match=words):
        cluster_import.run(corpus, found.write(fresh(tmp_path)))


@pytest.mark.long("dedup", "migrations")
def test_a_text_that_is_not_utf_8(corpus: Database, tmp_path: Path) -> None:
    folder = result().write(tmp_path / "result")
    path = folder / "mark" / "part-0.parquet"
    whole = pa.parquet.read_table(path)
    broken = pa.array([b"\xff\xfe"] * len(whole)).view(pa.string())
    pa.parquet.write_table(whole.set_column(0, "source_id", broken), path)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
def test_numbers_that_do_not_fit(corpus: Database, tmp_path: Path) -> None:
    folder = result().write(tmp_path / "result")
    path = folder / "fingerprint" / "part-0.parquet"
    whole = pa.parquet.read_table(path)
    place = whole.column_names.index("word_count")
    large = pa.array([2**40] * len(whole))
    pa.parquet.write_table(whole.set_column(place, "word_count", large), path)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        cluster_import.run(corpus, folder)


@pytest.mark.long("dedup", "migrations")
def test_integers_of_other_widths_are_taken(database: Database, tmp_path: Path) -> None:
    fill(database, GIVEN)
    folder = result().write(tmp_path / "result")
    path = folder / "common_sentence" / "part-0.parquet"
    whole = pa.parquet.read_table(path)
    place = whole.column_names.index("carriers")
    pa.parquet.write_table(
        whole.set_column(place, "carriers", whole.column("carriers").cast(pa.int32())), path
    )
    assert cluster_import.run(database, folder).common_entered == 1


@pytest.mark.long("dedup", "migrations")
def test_empty_tables_are_tables(database: Database, tmp_path: Path) -> None:
    report = cluster_import.run(database, result_of([], Settings()).write(tmp_path / "result"))
    assert (report.articles, report.problems) == (0, [])


@pytest.mark.long("dedup", "migrations")
def test_a_table_of_a_stranger_is_no_matter(database: Database, tmp_path: Path) -> None:
    fill(database, GIVEN)
    folder = result().write(tmp_path / "result")
    (folder / "else").mkdir()
    write_table(folder / "mark" / "_hidden.parquet", RESULT["refused"], [])
    assert cluster_import.run(database, folder).marks == 11
