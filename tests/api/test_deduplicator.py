"""`Deduplicator`: every question that a user may ask a corpus, and the form of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import psycopg
import pytest

import dedup
from dedup import Article, Deduplicator, LoadReport, Timeouts
from dedup.base.answer import Answer, plain
from dedup.base.errors import ClosedError, DedupError, InputError, NotFoundError, SchemaError
from dedup.base.verdict import StatusName
from dedup.db.database import Database
from dedup.files.readers import Reject
from dedup.rules.marks import Status
from dedup.rules.relation import Relation
from tests.corpora import answer, article, at, code, sentence, sentence_hash, window

NEWS = [
    article("a", window(0, 6), 0, title="Harbour closed", publication="Courier"),
    article("b", window(1, 6), 60, publication="Herald"),
    article("c", window(2, 6), 120, publication="Courier"),
    article("x", range(800, 820, 4), 30),
]
"""Articles: b is a duplicate of a, c is similar to a, and x is unrelated."""


@pytest.fixture
def settled(dd: Deduplicator) -> Deduplicator:
    assert dd.load(NEWS).new == len(NEWS)
    dd.backfill(workers=0)
    return dd


@pytest.mark.long("dedup", "migrations")
def test_a_program_loads_settles_asks_and_verifies(settled: Deduplicator) -> None:
    assert [(row["id"], row["status"], row["duplicate_of"]) for row in settled.marks()] == [
        ("a", "similar", None),
        ("b", "duplicate", "a"),
        ("c", "similar", None),
        ("x", "unique", None),
    ]
    assert settled.verify().right
    assert [(row["a"], row["b"]) for row in settled.matches()] == [("b", "a"), ("c", "a")]
    assert settled.preview().settle == 0
    assert settled.status().counts == {"similar": 2, "duplicate": 1, "unique": 1}


def test_get_has_the_article_its_verdict_and_its_pairs(settled: Deduplicator) -> None:
    found = settled.get("b")
    assert found is not None
    assert (found.article.text, found.article.publication) == (NEWS[1].text, "Herald")
    assert found.article.published_at == at(60)
    assert (found.verdict.status, found.verdict.duplicate_of) == ("duplicate", "a")
    assert [match.id for match in found.verdict.matches] == ["a"]
    assert not found.stale
    assert found.marked_at is not None
    assert settled.get("nobody") is None


def test_story_has_the_original_and_its_copies(settled: Deduplicator) -> None:
    for source_id in ("a", "b"):
        story = settled.story(source_id)
        assert (story.original.id, [copy.id for copy in story.copies]) == ("a", ["b"])
        assert [member.id for member in story.articles] == ["a", "b"]
    assert settled.story("x").copies == ()
    with pytest.raises(NotFoundError, match="'nobody'"):
        settled.story("nobody")


def test_stories_come_with_the_most_copied_first(settled: Deduplicator) -> None:
    settled.load([article(f"y{i}", range(800, 820, 4), 200 + i, publication=f"P{i}") for i in range(3)])
    settled.backfill(workers=0)
    first, second = settled.stories()
    assert (first.id, first.copies, first.copied_by) == ("x", 3, ("P0", "P1", "P2"))
    assert first.spread == timedelta(minutes=172)
    assert (second.id, second.copies, second.copied_by, second.title) == (
        "a",
        1,
        (),  # the date of the first article is a day without a time
        "Harbour closed",
    )
    assert [story.id for story in settled.stories(1)] == ["x"]


def test_a_backfill_ends_with_what_was_found(dd: Deduplicator) -> None:
    dd.load(NEWS)
    report = dd.backfill(workers=0)
    assert report.reprints is not None
    assert (report.reprints.duplicates, report.reprints.stories) == (1, 1)
    assert [story.id for story in report.reprints.most] == ["a"]
    assert dd.backfill(workers=0).reprints is None  # nothing was settled


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ({"status": "similar"}, "ac"),
        ({"publication": "Courier"}, "ac"),
        ({"publication": "'; DROP TABLE dedup.article --"}, ""),
        ({"since": at(60)}, "bc"),
        ({"since": at(61)}, "c"),
        ({"marked_since": at(0)}, "abcx"),
        ({"marked_since": at(10**8)}, ""),
        ({"limit": 2}, "ab"),
        ({"limit": 0}, ""),
        ({"status": "similar", "since": at(1), "publication": "Courier", "limit": 5}, "c"),
    ],
)
def test_marks_can_be_asked_for_by_what_they_are(settled: Deduplicator, asked: Any, ids: str) -> None:
    assert [row["id"] for row in settled.marks(**asked)] == list(ids)


def test_rows_can_be_read_again(settled: Deduplicator) -> None:
    marks = settled.marks(status="similar")
    assert [row["id"] for row in marks] == [row["id"] for row in marks] == ["a", "c"]
    settled.delete("c")
    assert [*marks] == []


def test_marks_of_no_such_status_are_an_error(dd: Deduplicator) -> None:
    with pytest.raises(InputError, match=r"there is no status 'new'; there are .*unique"):
        list(dd.marks(status="new"))  # type: ignore[arg-type]


def test_submit_many_says_of_each_what_submit_would_have_said(dd: Deduplicator, database: Database) -> None:
    verdicts = dd.submit_many(iter(NEWS))
    assert [(v.id, v.status, v.duplicate_of) for v in verdicts] == [
        ("a", "unique", None),
        ("b", "duplicate", "a"),
        ("c", "similar", None),
        ("x", "unique", None),
    ]
    before = answer(database)
    dd.delete_many([a.source_id for a in NEWS])
    for given in NEWS:
        dd.submit(given)
    assert answer(database) == before


def test_a_file_is_loaded_by_its_name(dd: Deduplicator, tmp_path: Path) -> None:
    file = tmp_path / "news.jsonl"
    rows = [{"id": a.source_id, "body": a.text, "published_at": str(a.published_at)} for a in NEWS]
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": "no text"}]))
    report = dd.load(file, rejects=tmp_path / "refused.jsonl")
    assert (report.lines, report.new, report.refused) == (5, 4, 1)
    assert json.loads((tmp_path / "refused.jsonl").read_text())["line"] == 5
    assert dd.load(str(file), rejects=tmp_path / "refused.jsonl").same == 4


def test_a_load_that_is_stopped_keeps_what_it_read(dd: Deduplicator) -> None:
    asked = iter([False, False, True])
    report = dd.load(NEWS, stop=lambda: next(asked))
    assert (report.lines, report.new) == (2, 2)


def test_a_report_is_true_whatever_is_raised(dd: Deduplicator, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        yield from NEWS[:3]
        raise RuntimeError("the source broke")

    monkeypatch.setattr("dedup.store.load.BATCH_ARTICLES", 2)
    report = LoadReport()
    with pytest.raises(RuntimeError, match="the source broke"):
        dd.load(broken(), report=report)
    assert report.new == sum(1 for _ in dd.marks()) == 3  # articles before the error are stored


def test_pins_common_sentences_and_settings_are_at_the_door(settled: Deduplicator) -> None:
    assert settled.pins.set("a", "b", "unrelated", by="ann", reason="two matches") == []
    assert settled.pins.set("a", "later", Relation.SIMILAR) == ["later"]
    assert [(pin.id, pin.relation, pin.pinned_by) for pin in settled.pins.list()][1] == (
        "a",
        "unrelated",
        "ann",
    )
    with pytest.raises(InputError, match="there is no relation 'same'; there are duplicate"):
        settled.pins.set("a", "b", "same")
    settled.backfill(workers=0)
    assert not [row for row in settled.marks(status="duplicate") if row["duplicate_of"] == "a"]
    assert settled.pins.remove("a", "b")
    assert not settled.pins.remove("a", "b")

    settled.common_sentences.pin(sentence(code(0)), common=True)
    settled.common_sentences.pin(sentence_hash(code(1)), common=False)
    assert sorted(pinned.pin or "" for pinned in settled.common_sentences.list()) == ["always", "never"]
    assert settled.common_sentences.unpin(sentence(code(0)))
    assert not settled.common_sentences.unpin(sentence(code(0)))
    with pytest.raises(InputError, match="64 bits"):
        settled.common_sentences.unpin(2**64)

    settled.settings.change({"bands": 8})
    assert (settled.settings.in_force().bands, settled.settings.wanted().bands) == (16, 8)
    settled.settings.change({"bands": None})
    assert settled.settings.wanted() == settled.settings.in_force()


def test_failed_articles_can_be_tried_again(dd: Deduplicator) -> None:
    dd.submit(Article("empty", "..."))
    assert [row["status"] for row in dd.marks()] == ["failed"]
    assert dd.retry("empty") == 1
    assert [row["status"] for row in dd.marks()] == ["pending"]


def test_differences_are_repaired(settled: Deduplicator, database: Database) -> None:
    with database.transaction(settling=True) as cursor:
        cursor.execute(
            "UPDATE dedup.article_mark SET status = 'unique', duplicate_of = NULL"
            " WHERE id = (SELECT id FROM dedup.article WHERE source_id = 'b')"
        )
    found = settled.verify()
    assert not found.right
    assert settled.repair(found) > 0
    settled.backfill(workers=0)
    assert settled.verify().right


ANSWERS = [
    "get", "story", "stories", "explain", "status", "verify", "preview", "backfill", "load", "submit",
    "lookup",
]  # fmt: skip


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("method", ANSWERS)
def test_every_answer_can_be_printed_compared_and_turned_into_json(
    settled: Deduplicator, method: str
) -> None:
    given: dict[str, Any] = {
        "get": ["b"], "story": ["a"], "explain": ["a", "b"], "load": [NEWS], "submit": [NEWS[0]],
        "lookup": [NEWS[1].text],
    }  # fmt: skip
    found = getattr(settled, method)(*given.get(method, []))
    for said in found if isinstance(found, list) else [found]:
        assert isinstance(said, Answer)
        assert is_dataclass(said)
        assert json.loads(said.as_json()) == said.as_dict()
        assert {item.name for item in fields(said)} - {"repairs"} <= set(said.as_dict())
        assert str(said)
        assert said == said.__class__(**{item.name: getattr(said, item.name) for item in fields(said)})
        assert sentence(code(1)) not in repr(said) + str(said), "a repr shows an article's text"


def test_a_verdict_reads_as_a_sentence(settled: Deduplicator) -> None:
    said = {name: str(settled.get(name)) for name in "abcx"}
    assert said["b"].startswith("b: duplicate of a (sentences, 0.")
    assert said["c"].startswith("c: similar to a (sentences, 0.")
    assert said["x"] == "x: unique"
    settled.load([article("new", window(0, 6), 300)])
    assert "; provisional, 1 other is unsettled" in str(settled.lookup(NEWS[1].text))


def test_json_holds_times_tuples_bytes_and_enums() -> None:
    assert plain({"t": (at(0),), "b": b"\x01", "e": Relation.SIMILAR, "r": Reject("f", 1, "why", b"x")}) == {
        "t": ["2024-03-01T00:00:00+00:00"],
        "b": "01",
        "e": "similar",
        "r": {"file": "f", "line": 1, "reason": "why", "raw": "78", "length": None, "source_id": None},
    }


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_an_error(dd: Deduplicator, timeout: float) -> None:
    with pytest.raises(InputError, match="timeout must be a number of seconds above 0"):
        dd.submit(NEWS[0], timeout=timeout)


@pytest.mark.extra("browse", "judging")
def test_closed_means_closed(database: Database, corpus_url: str) -> None:
    dd = Deduplicator(corpus_url)
    marks = dd.marks()
    dd.close()
    dd.close()
    uses: list[Any] = [
        lambda: dd.submit(NEWS[0]),
        lambda: dd.lookup("text"),
        lambda: dd.load(NEWS),
        lambda: dd.backfill(workers=0),
        lambda: dd.verify(),
        lambda: dd.get("a"),
        lambda: dd.story("a"),
        lambda: dd.explain("a", "b"),
        lambda: dd.delete("a"),
        lambda: dd.status(),
        lambda: list(dd.marks()),
        lambda: list(marks),
        lambda: dd.engine(),
        lambda: dd.pins.list(),
        lambda: dd.settings.in_force(),
        lambda: dd.common_sentences.list(),
        lambda: dd.judgements.quality(),
    ]
    for use in uses:
        with pytest.raises(ClosedError, match="closed; open another one"):
            use()
    assert repr(dd).endswith("closed>")
    with Deduplicator(corpus_url) as other:
        assert other.get("a") is None


def test_a_repr_has_the_place_and_no_password(database: Database, corpus_url: str) -> None:
    secret = "hunter2"
    url = f"{corpus_url} password={secret}" if "://" not in corpus_url else corpus_url
    with Deduplicator(url) as dd:
        assert repr(dd) == f"<Deduplicator: {dd.location}>"
        for shown in (repr(dd), str(dd), repr(dd.__dict__), repr(vars(dd)["_database"].__dict__["_pool"])):
            assert secret not in shown


def test_pandas_finds_an_engine(settled: Deduplicator) -> None:
    import pandas

    frame = pandas.read_sql("SELECT source_id, copies FROM dedup.story ORDER BY source_id", settled.engine())
    assert frame["copies"].tolist() == [1, 0, 0]
    assert settled.engine().url.database == settled.location.split("'")[1]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:hunter2@db.example:5433/news", "postgresql+psycopg://ann@db.example:5433/news"),
        ("host=/run/pg user=ann dbname=news", "postgresql+psycopg://ann@/news?host=%2Frun%2Fpg"),
        ("host=a,b port=1,2 dbname=news password=hunter2", "postgresql+psycopg:///news"),
        ("dbname='x:hunter2@host'", "postgresql+psycopg://"),
        ("host=db sslpassword=hunter2 user=hunter:2", "postgresql+psycopg://db"),
    ],
)
def test_an_engine_shows_its_address_without_secrets(url: str, shown: str) -> None:
    database = Database(url)
    assert str(database.engine().url) == shown
    database.close()


@pytest.mark.long("dedup", "migrations")
def test_a_schema_is_made_by_initialize(server: Any) -> None:
    url = server.create("dedup_door")
    with pytest.raises(DedupError, match="dedup init"):
        Deduplicator(url)
    made = Deduplicator.initialize(url, timeouts=Timeouts())
    assert made.before is None
    assert made.after == Deduplicator.initialize(url).before
    with Deduplicator(url) as dd:
        assert dd.status().counts == {}


@pytest.mark.extra("browse", "frames", "judging", "spark")
def test_all_that_the_package_offers_has_a_docstring() -> None:
    for name in dedup.__all__:
        assert getattr(dedup, name).__doc__, name
    for name in dir(Deduplicator):
        if not name.startswith("_"):
            assert getattr(Deduplicator, name).__doc__, name


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "submit a text": (lambda dd: dd.submit("text"), "an Article is wanted, not str"),
    "submit a dict": (lambda dd: dd.submit({"id": "a"}), "an Article is wanted, not dict"),
    "one of many": (lambda dd: dd.submit_many([NEWS[0], "junk"]), "an Article is wanted, not str"),
    "load a number": (lambda dd: dd.load(5), "load takes a path, articles, dicts or a table, not int"),
    "load names": (lambda dd: dd.load(["a.csv"]), "all of one kind; item 1 is of the type str"),
    "load one dict": (lambda dd: dd.load({"id": "a", "text": "b"}), "not one dict: put it into a list"),
    "load one article": (lambda dd: dd.load(NEWS[0]), "not one Article: put it into a list"),
    "load a wrong file": (lambda dd: dd.load(__file__, format="xlsx", encoding="x"), "leave out `encoding`"),
    "keep a name": (lambda dd: dd.load([{"id": "a"}], keep="topic"), "keep must be a list of names, not str"),
    "keep a number": (lambda dd: dd.load([{"id": "a"}], keep=5), "keep must be a list of names, not int"),
    "map a name": (
        lambda dd: dd.load([{"id": "a"}], fields="text=body"),
        "fields must be a dict of names, not str",
    ),
    "keep a sheet": (lambda dd: dd.load([{"id": "a"}], keep=["x"]), "they have id; correct `keep`"),
    "map nothing": (
        lambda dd: dd.load([{"id": "a"}], fields={"text": "x"}),
        'correct `fields={"text": "NAME"}`',
    ),
    "look up a number": (lambda dd: dd.lookup(5), "an Article is wanted, not int"),
    "timeout": (lambda dd: dd.submit(NEWS[0], timeout="x"), "the timeout must be a number of seconds"),
    "batch 0": (lambda dd: dd.backfill(batch=0), "batch must be a whole number from 1 to 100,000, not 0"),
    "batch 2.5": (lambda dd: dd.backfill(batch=2.5), "batch must be a whole number, not float"),
    "workers -1": (lambda dd: dd.backfill(workers=-1), "workers must be a whole number from 0 to 256"),
    "workers 1000": (lambda dd: dd.backfill(workers=1000), "workers must be a whole number from 0 to 256"),
    "sample 0": (lambda dd: dd.verify(sample=0), "sample must be a whole number from 1 on, not 0"),
    "get a number": (lambda dd: dd.get(5), "source_id must be a string, not int"),
    "get a surrogate": (lambda dd: dd.get("\ud800"), "source_id has a NUL or a lone surrogate"),
    "get a NUL": (lambda dd: dd.get("a\0"), "source_id has a NUL or a lone surrogate"),
    "story": (lambda dd: dd.story(None), "source_id must be a string, not NoneType"),
    "stories": (lambda dd: dd.stories(limit=-1), "limit must be a whole number from 0 on, not -1"),
    "stories since": (lambda dd: dd.stories(since="soon"), "since is not a time"),
    "explain": (lambda dd: dd.explain("a", 5), "source_id must be a string, not int"),
    "delete": (lambda dd: dd.delete(3), "source_id must be a string, not int"),
    "delete letters": (lambda dd: dd.delete_many("abc"), "source_ids must be a list of strings, not str"),
    "retry": (lambda dd: dd.retry(None), "the reason must be a string"),
    "marks of a number": (lambda dd: dd.marks(publication=3), "publication must be a string, not int"),
    "marks since": (lambda dd: dd.marks(since="24 hours"), "since is not a time; write it like"),
    "marks since a delta": (lambda dd: dd.marks(since=timedelta(1)), "since must be a time, not timedelta"),
    "marks, limit": (lambda dd: dd.marks(limit=2**70), "limit must be a whole number from 0 on"),
    "the address": (
        lambda dd: Deduplicator(5),  # type: ignore[arg-type]
        "the address of a database must be a string, not int",
    ),
}


@pytest.mark.parametrize("use", WRONG)
def test_a_wrong_argument_is_an_error_of_ours_that_says_what_is_wanted(dd: Deduplicator, use: str) -> None:
    call, words = WRONG[use]
    with pytest.raises(InputError) as error:
        list(call(dd) or ())
    assert words in str(error.value)
    assert list(dd.marks()) == []


def test_a_load_of_both_kinds_names_the_first_of_the_other_kind(dd: Deduplicator) -> None:
    with pytest.raises(InputError, match="all of one kind; item 2 is of the type dict"):
        dd.load([NEWS[0], {"id": "b", "text": "Words."}])  # type: ignore[arg-type]


@pytest.mark.parametrize("load", ["load", "preview_load"])
def test_an_unknown_argument_of_load_is_named_with_the_known_ones(dd: Deduplicator, load: str) -> None:
    with pytest.raises(TypeError, match=rf"^{load}\(\) takes no argument 'map'; it reads by fields, format"):
        getattr(dd, load)("a.csv", map={"text": "body"})


def test_a_ping_notices_another_schema(dd: Deduplicator, corpus_url: str) -> None:
    dd.ping()
    with psycopg.connect(corpus_url, autocommit=True) as other:
        (kept,) = other.execute("SELECT version_num FROM dedup.alembic_version").fetchone() or ("",)
        try:
            other.execute("UPDATE dedup.alembic_version SET version_num = 'later'")
            with pytest.raises(SchemaError, match="newer dedup"):
                dd.ping()
        finally:
            other.execute("UPDATE dedup.alembic_version SET version_num = %s", [kept])
    dd.close()
    with pytest.raises(ClosedError):
        dd.ping()


def test_type_checkers_know_every_status() -> None:
    assert sorted(get_args(StatusName)) == sorted(status.value for status in Status)


def test_any_text_can_be_looked_up_as_it_can_be_an_article(settled: Deduplicator) -> None:
    assert settled.lookup(f"{NEWS[0].text}\0\ud800").duplicate_of == "a"


def test_a_time_may_be_given_as_files_give_it(settled: Deduplicator) -> None:
    assert [row["id"] for row in settled.marks(since="2024-03-01T01:00Z")] == ["b", "c"]
    assert [row["id"] for row in settled.marks(since=at(60).timestamp())] == ["b", "c"]


def test_stories_since_a_time_have_an_article_of_that_time(dd: Deduplicator) -> None:
    dd.load([article("a", window(0, 6), 1), article("a2", window(0, 6), 60), article("a3", window(0, 6), 61)])
    dd.load([article("b", window(20, 6), 30), article("b2", window(20, 6), 31)])
    dd.backfill(workers=0)
    found = {
        since: [(one.id, one.copies) for one in dd.stories(since=at(since))] for since in (1, 31, 32, 62)
    }
    assert found == {1: [("a", 2), ("b", 1)], 31: [("a", 2), ("b", 1)], 32: [("a", 2)], 62: []}
    assert [one.id for one in dd.stories(since=at(32).isoformat())] == ["a"]


def test_questions_can_be_asked_within_a_scope(dd: Deduplicator) -> None:
    readers = {"ann": 3, "ben": 2, None: 1}
    dd.load(
        article(f"{reader}/{i}", window(0, 6), i, scope=reader)
        for reader, entries in readers.items()
        for i in range(entries)
    )
    dd.backfill(workers=0)
    assert [row["id"] for row in dd.marks(scope="ben")] == ["ben/0", "ben/1"]
    assert [row["id"] for row in dd.marks(scope="ann", status="duplicate", limit=1)] == ["ann/1"]
    assert [(story.id, story.copies) for story in dd.stories(scope="ben")] == [("ben/0", 1)]
    assert [story.id for story in dd.stories()] == ["ann/0", "ben/0"]
    again = article("new", window(1, 6), 9, scope="ben")
    for given in (again, again.text):
        assert dd.lookup(given, scope="ann").duplicate_of == "ann/0"
        assert dd.lookup(given, scope="nobody").status == "unique"
        assert [*dd.stories(scope="nobody"), *dd.marks(scope="nobody")] == []
    assert [story.id for story in dd.stories(since=at(1), scope="ben")] == ["ben/0"]
    assert dd.lookup(again).duplicate_of == "ben/0"
    assert dd.lookup(again.text).duplicate_of == "None/0"
