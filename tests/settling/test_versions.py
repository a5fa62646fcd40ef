"""Versions of stories: returned as an answer, and kept as rows for SQL by `dedup sentences`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Database
from dedup.settling import sentences
from dedup.settling.backfill import backfill
from dedup.settling.versions import StoryVersions, Version
from dedup.text.alignment import Segment
from tests import attached
from tests.corpora import article, code, deduplicator, load, sentence, settle, window

BODY = [code(number) for number in range(20, 28)]


@pytest.fixture
def wire(database: Database) -> Database:
    """Store a story `w`: its copy `h` changes a sentence and cuts one, and `c` copies `h` and adds one.

    `s` is similar to `w`, an update of twice its length; `u` is unrelated.
    """
    cut = [code(20, 1), *BODY[1:7]]
    load(
        database,
        article("w", BODY, 1, publication="Wire", title="Ferry"),
        article("c", [code(90), *cut], 9, publication="Courier"),
        article("h", cut, 5, publication="Herald"),
        article("s", [*BODY, *(code(number) for number in range(50, 60))], 20, publication="Wire"),
        article("u", window(0, 6), 2),
    )
    backfill(database, workers=0)
    return database


def versions(database: Database, source_id: str, **options: str) -> StoryVersions:
    return deduplicator(database).versions(source_id, **options)  # type: ignore[arg-type]


def words(segments: Sequence[Segment] | None) -> str | None:
    return None if segments is None else "".join(segment.text for segment in segments)


def alterations(one: Version) -> list[tuple[str, str | None, str | None]]:
    return [(a.kind.value, words(a.earlier), words(a.later)) for a in one.alterations]


CHANGED = ("changed", sentence(code(20)), sentence(code(20, 1)))
REMOVED = ("removed", sentence(BODY[7]), None)
ADDED = ("added", None, sentence(code(90)))


def test_each_version_is_set_beside_the_one_before(wire: Database) -> None:
    found = versions(wire, "c")
    assert found.story == "w"
    assert [(v.id, v.version, v.before) for v in found.versions] == [
        ("w", 1, None),
        ("h", 2, "w"),
        ("c", 3, "h"),
    ]
    first, second, third = found.versions
    assert alterations(first) == []
    assert alterations(second) == [CHANGED, REMOVED]
    assert alterations(third) == [ADDED]
    assert [third.publication, third.sentences] == ["Courier", 8]


def test_or_beside_the_original(wire: Database) -> None:
    *_, third = versions(wire, "w", against="original").versions
    assert third.before == "w"
    assert alterations(third) == [CHANGED, REMOVED, ADDED]
    with pytest.raises(InputError, match="against is before or original"):
        versions(wire, "w", against="after")


def test_an_update_that_is_only_similar_stands_beside_what_it_is_most_like(wire: Database) -> None:
    (update,) = versions(wire, "h").updates
    assert (update.id, update.version, update.before) == ("s", 1, "w")
    assert [kind for kind, *_ in alterations(update)] == ["added"] * 10
    assert versions(wire, "s").versions[0].before == "w"
    assert versions(wire, "u").updates == ()


def test_what_moved_or_was_set_in_other_letters_is_no_alteration(database: Database) -> None:
    load(database, article("a", BODY, 1))
    moved = article("b", BODY[::-1], 2)
    load(database, type(moved)(moved.source_id, moved.text.upper(), published_at=moved.published_at))
    backfill(database, workers=0)
    assert [alterations(v) for v in versions(database, "a").versions] == [[], []]


def test_nobody_has_versions_of_what_is_not_stored(wire: Database) -> None:
    with pytest.raises(NotFoundError):
        versions(wire, "nobody")


# Tests of versions as rows.


ROWS = (
    "SELECT story_source_id, source_id, version, before_source_id, kind, earlier, later FROM dedup.alteration"
)


def rows(database: Database, query: str = ROWS + " ORDER BY 1, 3, 2, position") -> list[tuple[object, ...]]:
    with database.transaction() as cursor:
        return cursor.execute(query.encode()).fetchall()


def kept(database: Database) -> int:
    return len(rows(database, "SELECT FROM dedup.compared_version"))


def test_the_view_says_what_the_answer_says(wire: Database) -> None:
    assert rows(wire) == []
    report = deduplicator(wire).keep_sentences()
    assert (report.compared, report.alterations) == (3, 13)
    found = versions(wire, "w")
    told = [
        (story, v.id, v.version, v.before, *alteration)
        for story, v in (*((found.story, v) for v in found.versions), *((v.id, v) for v in found.updates))
        for alteration in alterations(v)
    ]
    assert sorted(rows(wire), key=repr) == sorted(told, key=repr)
    listed = list(deduplicator(wire).alterations())
    assert [(row["id"], row["before"], row["kind"]) for row in listed if row["story"] == "w"] == [
        ("h", "w", "changed"),
        ("h", "w", "removed"),
        ("c", "h", "added"),
    ]
    assert listed[0]["position"] == 1
    assert listed[0]["common"] is False


def test_what_was_compared_is_not_compared_again(wire: Database) -> None:
    assert sentences.keep(wire).compared == 3
    assert sentences.keep(wire).compared == 0
    load(wire, article("later", BODY, 30))
    backfill(wire, workers=0)
    assert sentences.keep(wire).compared == 1


def test_the_order_in_which_articles_came_changes_nothing(database: Database) -> None:
    given = [article(name, [code(60 + n), *BODY], 7) for n, name in enumerate("badc")]
    for one in given:
        load(database, one)
    backfill(database, workers=0)
    sentences.keep(database)
    before = rows(database)
    assert {row[2] for row in before} == {2, 3, 4}
    deduplicator(database).delete_many(list("abcd"))
    load(database, *reversed(given))
    backfill(database, workers=0)
    sentences.keep(database)
    assert rows(database) == before


def test_words_go_with_the_text_that_they_are_from(wire: Database) -> None:
    sentences.keep(wire)
    load(wire, article("h", BODY, 5))  # an edit of `h`, which comes before `c` and after `w`
    assert kept(wire) == 1
    assert not [row for row in rows(wire) if "h" in row]
    backfill(wire, workers=0)
    sentences.keep(wire)
    assert [row[4] for row in rows(wire) if row[1] in ("h", "c")] == ["changed", "removed", "added"]
    deduplicator(wire).delete("w")
    assert not [row for row in rows(wire) if "w" in row]
    with wire.transaction(settling=True) as cursor:
        cursor.execute("TRUNCATE dedup.article")
    assert kept(wire) == 0


def test_a_version_is_compared_again_after_it_follows_another_version(wire: Database) -> None:
    sentences.keep(wire)
    load(wire, article("between", BODY, 7))
    backfill(wire, workers=0)
    assert [row[1] for row in rows(wire) if row[0] == "w"] == ["h", "h"]  # `c` follows another version now
    report = sentences.keep(wire)
    assert report.compared == 2
    assert {row[3] for row in rows(wire) if row[1] == "c"} == {"between"}


def test_stopped_it_keeps_what_it_did_and_goes_on(wire: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "PAGE", 1)
    asked = iter([False, True])
    report = sentences.keep(wire, stop=lambda: next(asked))
    assert (report.stopped, report.compared, kept(wire)) == (True, 1, 1)
    assert sentences.keep(wire).compared == 2


def test_a_common_sentence_is_said_to_be_common(database: Database) -> None:
    footer = code(99)
    load(database, *(article(f"n{n}", [*window(n * 9, 6, ring=500), footer], n) for n in range(12)))
    load(database, article("copy", window(0, 6, ring=500), 60))
    backfill(database, workers=0)
    (alteration,) = versions(database, "copy").versions[1].alterations
    assert (alteration.kind.value, alteration.common) == ("removed", True)
    sentences.keep(database)
    assert rows(database, "SELECT kind, common FROM dedup.alteration") == [("removed", True)]


def test_words_of_an_attached_table_go_when_its_row_is_edited(database: Database) -> None:
    with attached.owned(database) as owner:
        attached.news(owner)
        attached.put(owner, 1, BODY, 1)
        attached.put(owner, 2, [code(90), *BODY], 2)
        attached.attach(database)
        settle(database)
        sentences.keep(database)
        assert [row[4:] for row in rows(database)] == [ADDED]
        owner.execute("UPDATE news SET body = body || ' Nothing more is known so far.' WHERE id = 1")
        settle(database)
        assert kept(database) == 0
        sentences.keep(database)
        assert [row[4] for row in rows(database)] == ["removed", "added"]
