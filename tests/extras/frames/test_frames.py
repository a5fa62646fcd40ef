"""`dedup.frames`: Arrow tables equal the views for any articles, in batches of bounded size."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.base.errors import ClosedError, InputError, SchemaError
from dedup.base.extras import installing
from dedup.db.database import Database
from dedup.extras.frames import columns, frames
from dedup.settling import sentences
from dedup.settling.backfill import backfill
from tests.conftest import empty
from tests.corpora import article, at, load, window
from tests.settling.test_plans import STATISTICS, believe, rolled_back

VIEWS = {
    "stories": (
        "SELECT s.source_id, m.url, s.title, s.publication, m.language, m.status, s.first_at, s.last_at,"
        " s.articles, s.copies, s.copied_by, s.copy_source_ids, s.also_in, s.times_known, s.archived,"
        " m.byline, ARRAY(SELECT DISTINCT agency FROM dedup.article_credit c"
        " WHERE c.story_id = s.id AND kind = 'text' ORDER BY agency), m.correction, m.source_id"
        " FROM dedup.story s JOIN dedup.mark m USING (id) ORDER BY id"
    ),
    "duplicates": (
        "SELECT source_id, title, publication, published_at, original_source_id, original_title,"
        " original_publication, original_published_at, extract(epoch FROM delay)::float8, times_known, stale,"
        " score, reason, sentence_jaccard, signature_jaccard, containment, archived"
        " FROM dedup.duplicate ORDER BY id"
    ),
    "additions": (
        "SELECT source_id, title, publication, published_at, original_source_id, original_publication, words,"
        " words_added, sentences_added, numbers_added, share_in_original, adds_nothing, sentences, numbers,"
        " times_known, stale, archived FROM dedup.addition ORDER BY id"
    ),
    "matches": (
        "SELECT source_id, other_source_id, relation, rule, score, sentence_jaccard, signature_jaccard,"
        " containment, (SELECT count(*) FROM dedup.marked_article k WHERE k.id IN (article_id, other_id)"
        " AND known_at IS NOT NULL) = 2 FROM dedup.scored_pair ORDER BY article_id, other_id"
    ),
    "marks": (
        "SELECT source_id, url, title, publication, language, published_at, added_at, status, stale,"
        " coalesce(original_source_id, source_id), original_source_id, score, reason, marked_at, archived,"
        " byline, CASE WHEN shared IS NOT NULL THEN was_first"
        " WHEN status IN ('unique', 'similar') THEN true END,"
        " coalesce((SELECT array_agg(agency ORDER BY agency) FROM dedup.article_credit c"
        " WHERE c.article_id = mark.id AND kind = 'text'), '{}'), correction, kept::text,"
        " (SELECT delay IS NOT NULL FROM dedup.duplicate d WHERE d.id = mark.id)"
        " FROM dedup.mark LEFT JOIN"
        " (SELECT id AS shared, was_first FROM dedup.shared_article) AS s ON shared = id ORDER BY id"
    ),
}
NAMES = tuple(columns.TABLE_NAMES)


@pytest.fixture
def newsroom(database: Database) -> Database:
    """A corpus: `a` with copies in two outlets, similar `s`, unrelated `u`, failed `f` and pending `p`."""
    load(
        database,
        article(
            "a", window(0, 6), 1, publication="Wire", title="A", language="en", url="https://x.example/a"
        ),
        article("c1", window(0, 6), 60, publication="Herald", title="", byline="AP / dpa"),
        article("c2", window(1, 6), 120, publication="Courier", title="Ünï 🗞\u202e<b>"),
        article("c3", window(1, 6), 151, publication="Courier"),
        article("s", window(3, 6), 180, publication="Herald", byline="dpa", kept={"topic": "ü", "page": 3}),
        article("u", window(20, 6, ring=100), None, added_at=at(24 * 60)),
        article("f", [], 24 * 60),
    )
    backfill(database, workers=0)
    sentences.keep(database)
    load(database, article("p", window(0, 6), 30))
    return database


@pytest.fixture
def dd(newsroom: Database) -> Iterator[Deduplicator]:
    with Deduplicator(newsroom.url) as made:
        yield made


def shown(database: Database, name: str) -> list[tuple[Any, ...]]:
    """Return the rows, read from the views, that the table `name` of `frames` must equal."""
    with database.transaction() as cursor:
        return cursor.execute(VIEWS[name].encode()).fetchall()


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", NAMES)
def test_a_table_holds_what_the_views_show(newsroom: Database, dd: Deduplicator, name: str) -> None:
    found = getattr(frames, name)(dd)
    found.validate(full=True)
    assert as_rows(found) == shown(newsroom, name)
    assert found.num_rows > 1


def test_columns_have_their_types(dd: Deduplicator) -> None:
    found = frames.stories(dd).schema
    assert found.field("first_at").type == pa.timestamp("us", "UTC")
    assert found.field("copies").type == pa.int64()
    assert found.field("copied_by").type == pa.list_(pa.string())
    assert found.field("publication").type == pa.dictionary(pa.int32(), pa.string())
    assert frames.matches(dd).schema.field("score").type == pa.float64()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", NAMES)
def test_pages_and_batches_of_any_size_are_the_same_table(
    newsroom: Database, name: columns.TableName
) -> None:
    def read(rows: int, size: int) -> tuple[list[int], list[tuple[Any, ...]]]:
        with newsroom.session() as session, session.transaction(snapshot=True) as cursor:
            made = list(columns.batches(cursor, name, rows=rows, size=size))
        return [batch.num_rows for batch in made], as_rows(pa.Table.from_batches(made))

    (whole,), found = read(1_000, 10**9)
    assert read(1_000, 1) == ([1] * whole, found)
    assert read(1, 10**9) == ([1] * whole, found)
    assert read(2, 10**9) == ([2] * (whole // 2) + [1] * (whole % 2), found)


HOSTILE = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))


@pytest.mark.long("dedup", "migrations")
@hypothesis(max_examples=25)
@given(rows=st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, st.none() | MOMENTS, MOMENTS), max_size=12))
def test_any_text_and_any_time_come_as_they_are(corpus_url: str, rows: list[tuple[Any, ...]]) -> None:
    database = Database(corpus_url)
    try:
        empty(database)
        with database.transaction() as cursor:
            cursor.executemany(
                "INSERT INTO dedup.article (source_id, text, title, url, publication, published_at, added_at)"
                " VALUES (%s, 'x', %s, %s, %s, %s, %s)",
                [(str(i), *row) for i, row in enumerate(rows)],
            )
        for name in NAMES:
            assert as_rows(getattr(frames, name)(corpus_url)) == shown(database, name)
    finally:
        database.close()


def test_an_empty_corpus_is_tables_without_rows(database: Database) -> None:
    for name in NAMES:
        found = getattr(frames, name)(database.url)
        assert (found.num_rows, found.schema) == (0, columns.SCHEMAS[name])
    for summary, schema in columns.SUMMARIES.items():
        found = getattr(frames, summary)(database.url)
        assert (found.num_rows, found.schema) == (0, schema)


def test_since_selects_pairs_by_the_later_article_and_stories_by_any_article(dd: Deduplicator) -> None:
    since = at(100)
    assert set(frames.marks(dd, since=since)["source_id"].to_pylist()) == {"c2", "c3", "s", "u", "f"}
    assert frames.duplicates(dd, since=since)["source_id"].to_pylist() == ["c2", "c3"]
    assert frames.additions(dd, since=since)["source_id"].to_pylist() == ["c2", "c3"]
    assert set(frames.stories(dd, since=since)["source_id"].to_pylist()) == {"a", "s", "u", "f"}
    later = frames.matches(dd, since=since)
    assert set(later["source_id"].to_pylist()) == {"c2", "c3", "s"}
    assert 0 < later.num_rows < frames.matches(dd).num_rows
    assert frames.stories(dd, since="2030-01-01").num_rows == 0
    for wrong in ("soon", "999999d"):
        with pytest.raises(InputError, match="since"):
            frames.stories(dd, since=wrong)


def test_the_panel_and_origins_take_since_as_months_and_days(dd: Deduplicator) -> None:
    whole = frames.panel(dd)
    month = whole["month"].drop_null()[0].as_py()
    dated = [row for row in whole.to_pylist() if row["month"]]
    assert 0 < len(dated) < whole.num_rows
    assert str(whole.to_pandas()["month"].dtype).startswith("datetime64")
    for since in (month, month.date(), f"{month:%Y-%m}-28T23:59Z"):
        assert frames.panel(dd, since=since).to_pylist() == dated
        assert frames.panel(dd, since="2100-01-01").num_rows == 0
    for since, count in ((at(0), 5), (at(0).date(), 5), (at(23 * 60).isoformat(), 5), (at(24 * 60), 0)):
        assert sum(frames.origins(dd, since=since)["articles"].to_pylist()) == count
    for ask in (frames.panel, frames.origins):
        with pytest.raises(InputError, match="since"):
            ask(dd, since="soon")
    with pytest.raises(InputError, match="since or first, not both"):
        frames.origins(dd, since="7d", first="2026-01-01")


@pytest.mark.parametrize("name", NAMES)
def test_a_scope_selects_the_rows_of_its_articles(newsroom: Database, dd: Deduplicator, name: str) -> None:
    before = as_rows(getattr(frames, name)(dd))
    load(
        newsroom,
        *(article(f"x{n}", window(0, 6), n, publication="Wire", scope="x") for n in (1, 2)),
        article("other", window(20, 6), 5, scope="y"),
    )
    backfill(newsroom, workers=0)
    sentences.keep(newsroom)
    found = getattr(frames, name)(dd, scope="x")["source_id"].to_pylist()
    assert found == {"marks": ["x1", "x2"], "stories": ["x1"]}.get(name, ["x2"])
    assert getattr(frames, name)(dd, scope="z").num_rows == 0
    assert len(as_rows(getattr(frames, name)(dd))) > len(before)
    with pytest.raises(InputError, match="scope must be a string, not int"):
        getattr(frames, name)(dd, scope=1)


def test_since_may_be_an_age(newsroom: Database, dd: Deduplicator) -> None:
    load(newsroom, Article("new", "Words of today.", published_at=datetime.now(UTC) - timedelta(hours=30)))
    for since in ("2d", "31h", "1900 m"):
        assert frames.marks(dd, since=since)["source_id"].to_pylist() == ["new"]
        assert [row["id"] for row in dd.marks(since=since)] == ["new"]
    assert frames.marks(dd, since="1d").num_rows == 0


def test_a_reader_gives_batches_of_one_moment_and_gives_its_connection_back(
    newsroom: Database, dd: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(columns.batches.__kwdefaults__ or {}, "size", 1)
    opened = frames.reader("marks", dd)
    first = opened.read_next_batch()
    load(newsroom, article("later", window(40, 6, ring=100), 200))
    rest = list(opened)
    assert [batch.num_rows for batch in (first, *rest)] == [1] * 8
    assert frames.marks(dd).num_rows == 9
    for _ in range(12):  # more often than there are connections
        frames.reader("marks", dd).read_next_batch()
    assert dd.status()
    with pytest.raises(InputError, match="no table 'mark'; there are stories"):
        frames.reader("mark", dd)  # type: ignore[arg-type]


def test_an_error_on_the_way_is_ours(dd: Deduplicator, server: Any) -> None:
    opened = frames.reader("marks", dd)
    dd.close()
    with pytest.raises(ClosedError):
        opened.read_all()
    with pytest.raises(SchemaError, match="init`"):
        frames.marks(server.create("no_corpus"))


def test_pandas_and_duckdb_take_it_as_it_is(dd: Deduplicator) -> None:
    stories, matches = frames.stories(dd), frames.reader("matches", dd)
    frame = stories.to_pandas().set_index("source_id")
    assert frame.loc["a", "copies"] == 3
    assert frame.loc["a", "last_at"] - frame.loc["a", "first_at"] == timedelta(minutes=150)
    assert str(frame["publication"].dtype) == "category"
    connection = duckdb.connect().register("stories", stories).register("matches", matches)
    query = "SELECT source_id, copied_by FROM stories WHERE copies > 0"
    assert connection.sql(query).fetchall() == [("a", ["Courier", "Herald"])]
    query = "SELECT count(*) FROM matches WHERE relation = 'duplicate'"
    assert connection.sql(query).fetchall() == [(3,)]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statistics", STATISTICS)
def test_pages_are_found_by_indexes(newsroom: Database, statistics: str) -> None:
    for name in columns.TABLE_NAMES:
        query = columns.page(name, None, 100).decode()
        values = {"id": 5, "article_id": 5, "other_id": 5, "since": None}
        with rolled_back(newsroom) as cursor:
            believe(cursor, statistics)
            next(columns.batches(cursor, name))
            plan = cursor.execute(f"EXPLAIN (FORMAT TEXT) {query}".encode(), values).fetchall()
        text = "\n".join(row[0] for row in plan)
        assert "Seq Scan" not in text
        assert "Index Cond" in text
        assert "Sort Key: a.id" not in text


def test_without_pyarrow_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['pyarrow'] = None\nfrom dedup import frames"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr.endswith(f"dedup.frames needs pyarrow: run `{installing('frames')}`\n")


def test_credits_are_those_of_the_article_and_of_the_story_and_kept_is_json(dd: Deduplicator) -> None:
    marks = {row["source_id"]: row for row in frames.marks(dd).to_pylist()}
    assert {id: row["credits"] for id, row in marks.items() if row["credits"]} == {
        "c1": ["AP", "dpa"],
        "s": ["dpa"],
    }
    assert {id: json.loads(row["kept"]) for id, row in marks.items() if row["kept"]} == {
        "s": {"topic": "ü", "page": 3}
    }
    stories = {row["source_id"]: row["credits"] for row in frames.stories(dd).to_pylist()}
    assert {id: named for id, named in stories.items() if named} == {"a": ["AP", "dpa"], "s": ["dpa"]}


def test_a_story_is_represented_by_the_chosen_article(newsroom: Database, dd: Deduplicator) -> None:
    load(newsroom, article("c2", window(1, 6), 120, title="CORRECTED-Late", publication="Courier"))
    load(newsroom, article("c3", [*window(1, 6), 900], 151, publication="Courier"))
    backfill(newsroom, workers=0)

    def story(**chosen: Any) -> tuple[Any, ...]:
        row = next(row for row in frames.stories(dd, **chosen).to_pylist() if row["source_id"] == "a")
        return (
            row["representative_source_id"],
            row["title"],
            row["publication"],
            row["correction"],
            row["copies"],
        )

    assert story() == story(representative="first") == ("a", "A", "Wire", None, 4)
    assert story(representative="latest") == ("c2", "CORRECTED-Late", "Courier", "Corrected:", 4)
    assert story(representative="fullest") == ("c3", None, "Courier", None, 4)
    correction = {row["source_id"]: row["correction"] for row in frames.marks(dd).to_pylist()}
    assert {id for id, phrase in correction.items() if phrase} == {"c2"}
    with pytest.raises(InputError, match="representative is first, latest, fullest, not 'last'"):
        frames.stories(dd, representative="last")  # type: ignore[arg-type]


def test_a_pair_says_whether_times_tell_which_was_first(database: Database) -> None:
    minutes = {"a": 1, "b": None, "c": 9}
    load(database, *(article(name, window(0, 6), minute) for name, minute in minutes.items()))
    backfill(database, workers=0)
    with Deduplicator(database.url) as dd:
        known = {row["source_id"]: row["times_known"] for row in frames.matches(dd).to_pylist()}
        assert known == {"b": False, "c": True}
        assert {row["a"]: row["times_known"] for row in dd.matches()} == known
        marks = {row["source_id"]: row["times_known"] for row in frames.marks(dd).to_pylist()}
        assert marks == known | {"a": None}
