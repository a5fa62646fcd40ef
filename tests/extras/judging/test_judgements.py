"""Judgements of pairs are kept and resumed, become stale after an edit, and return after a fresh load."""

from __future__ import annotations

import numpy as np
import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Cursor, Database
from dedup.extras.judging import storing as judgements
from dedup.extras.judging.storing import Pick
from dedup.store import articles, pins

TEXT = "The council of Port Marlow voted to close the harbour road, says report {}."


def store(database: Database, *ids: str, text: str = TEXT) -> None:
    with database.transaction() as cursor:
        articles.store(cursor, [Article(i, text.format(i), title=f"Title {i}") for i in ids])


def pick_of(one: str, other: str, stratum: str = "all", size: int = 100, picked: int = 4) -> Pick:
    return Pick(one, other, stratum, size, picked, {"dedup": 0.5, "simhash": None})


def pick(cursor: Cursor, *pairs: str) -> int:
    """Pick pairs such as "ab", all from one stratum."""
    return judgements.pick(cursor, [pick_of(pair[0], pair[1], picked=len(pairs)) for pair in pairs])


def names(pairs: list[pins.Key]) -> list[str]:
    return ["".join(pair) for pair in pairs]


@pytest.fixture
def corpus(database: Database) -> Database:
    """Articles a to f, with the pairs ab, ac, ad and bc picked for judging."""
    store(database, *"abcdef")
    with database.transaction() as cursor:
        assert pick(cursor, "ab", "ca", "ad", "cb") == 0
    return database


def test_a_judge_works_through_the_selection(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        assert names(judgements.waiting(cursor, "ann")) == ["ab", "ac", "ad", "bc"]
        judgements.record(cursor, ("a", "b"), "ann", "duplicate")
        judgements.record(cursor, ("a", "d"), "ann", "unsure", note="one is cut off")
        assert names(judgements.waiting(cursor, "ann")) == ["ac", "bc"]
        assert names(judgements.waiting(cursor, "bob")) == ["ab", "ac", "ad", "bc"]
        assert names(judgements.judged(cursor, "ann")) == ["ab", "ad"]
        progress = judgements.progress(cursor, "ann")
        assert (progress.picked, progress.judged, progress.left, progress.edited) == (4, 2, 2, 0)
        read = judgements.read(cursor, ("a", "d"), "ann")
        assert (read.label, read.note, read.stratum) == ("unsure", "one is cut off", "all")
        assert (read.a.id, read.a.title, read.b.text) == ("a", "Title a", TEXT.format("d"))
        assert read.scores == {"dedup": 0.5, "simhash": None}
        assert judgements.read(cursor, ("a", "d"), "bob").label is None


def test_strata_are_asked_by_turns(database: Database) -> None:
    store(database, *"abcdefgh")
    big = [pick_of("a", other, "big", 100, 5) for other in "bcdef"]
    small = [pick_of("b", other, "small", 7, 2) for other in "cd"]
    with database.transaction() as cursor:
        judgements.pick(cursor, [*big, *small, pick_of("g", "h", "single", 1, 1)])
        # The n picked pairs of a stratum have the ranks 0, 1/n, 2/n and so on. All pairs are sorted by rank:
        # three pairs of rank 0, then 1/5, 2/5, 1/2 (`small`), 3/5 and 4/5.
        order = ["ab", "bc", "gh", "ac", "ad", "bd", "ae", "af"]
        assert names(judgements.waiting(cursor, "ann")) == order
        assert judgements.strata(cursor) == {"big": 100, "small": 7, "single": 1}


def test_scores_are_kept_as_numbers(corpus: Database) -> None:
    scores = {"dedup": np.float32(0.625), "simhash": float("nan"), "tfidf": None}
    with corpus.transaction() as cursor:
        judgements.pick(cursor, [Pick("a", "b", "all", 1, 1, scores)])  # type: ignore[arg-type]  # a float of NumPy
        kept = judgements.read(cursor, ("a", "b"), "ann").scores
    assert kept == {"dedup": 0.625, "simhash": None, "tfidf": None}


def test_a_mind_may_change_and_a_judgement_be_taken_back(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "duplicate", note="old")
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "c"), "ann", "similar")
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "different")
        assert judgements.read(cursor, ("a", "b"), "ann").label == "different"
        assert judgements.read(cursor, ("a", "b"), "ann").note is None
        assert names(judgements.judged(cursor, "ann")) == ["ac", "ab"]  # the latest judgement comes last
        assert judgements.take_back(cursor, ("a", "b"), "ann")
        assert not judgements.take_back(cursor, ("a", "b"), "ann")
        assert names(judgements.waiting(cursor, "ann")) == ["ab", "ad", "bc"]


def test_an_edited_text_is_asked_again(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "duplicate")
        judgements.record(cursor, ("a", "c"), "ann", "duplicate")
    store(corpus, "b", text="Quite another text about {}.")
    with corpus.transaction() as cursor:
        assert names(judgements.waiting(cursor, "ann")) == ["ab", "ad", "bc"]
        assert judgements.progress(cursor, "ann").edited == 1
        assert judgements.read(cursor, ("a", "b"), "ann").label is None
        assert names([said.pair for said in judgements.listed(cursor)]) == ["ac"]
        judgements.record(cursor, ("a", "b"), "ann", "different")
        assert judgements.progress(cursor, "ann").edited == 0
        assert [said.label for said in judgements.listed(cursor)] == ["different", "duplicate"]


def test_other_line_breaks_are_no_edit(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "duplicate")
    store(corpus, "b", text=TEXT.replace(" ", "\r\n "))
    with corpus.transaction() as cursor:
        assert names(judgements.judged(cursor, "ann")) == ["ab"]


def test_a_judgement_is_about_the_text_that_was_read(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        shown = judgements.read(cursor, ("a", "b"), "ann")
    store(corpus, "b", text="Changed while somebody read it: {}.")
    with corpus.transaction() as cursor:
        hashes = (shown.a.text_hash, shown.b.text_hash)
        judgements.record(cursor, ("a", "b"), "ann", "duplicate", hashes=hashes)
        assert "ab" in names(judgements.waiting(cursor, "ann"))


def test_judgements_outlive_a_delete_and_count_again_after_a_load(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "duplicate")
        articles.delete(cursor, ["b"])
        progress = judgements.progress(cursor, "ann")
        assert (progress.judged, progress.left, progress.missing) == (0, 2, 2)  # ab and bc: b is deleted
        assert names(judgements.waiting(cursor, "ann")) == ["ac", "ad"]
        assert judgements.listed(cursor) == []
        with pytest.raises(NotFoundError, match="is gone"):
            judgements.read(cursor, ("a", "b"), "ann")
        with pytest.raises(NotFoundError, match="'b'"):
            judgements.record(cursor, ("a", "b"), "bob", "duplicate")
    store(corpus, "b")
    with corpus.transaction() as cursor:
        assert names(judgements.judged(cursor, "ann")) == ["ab"]
        assert names([said.pair for said in judgements.listed(cursor)]) == ["ab"]


def test_a_new_selection_keeps_what_is_judged(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "duplicate")
        judgements.record(cursor, ("a", "c"), "ann", "similar")
        assert pick(cursor, "ef", "ac", "zf") == 1  # the article z is not stored
        assert names(judgements.judged(cursor, "ann")) == ["ac"]
        assert names(judgements.waiting(cursor, "ann")) == ["ef"]
        # A pair that is no longer picked loses its weight, but not its judgement.
        assert names([said.pair for said in judgements.listed(cursor)]) == ["ac"]
        rows = cursor.execute("SELECT other_source_id, weight FROM dedup.judged_pair ORDER BY 1").fetchall()
        assert rows == [("b", None), ("c", pytest.approx(100 / 3))]
        pick(cursor, "ab")
        assert names(judgements.judged(cursor, "ann")) == ["ab"]


@pytest.mark.parametrize(
    ("said", "label"),
    [
        (["duplicate"], "duplicate"),
        (["duplicate", "similar", "duplicate"], "duplicate"),
        (["duplicate", "different"], "unsure"),
        (["unsure", "similar"], "similar"),
        (["unsure", "unsure"], "unsure"),
    ],
)
def test_what_several_judges_say_together(corpus: Database, said: list[str], label: str) -> None:
    with corpus.transaction() as cursor:
        for number, word in enumerate(said):
            judgements.record(cursor, ("a", "b"), f"judge {number}", word)
        (found,) = judgements.listed(cursor)
        assert judgements.strata(cursor) == {"all": 100}
    assert (found.label, found.stratum) == (label, "all")


def test_a_present_judgement_outweighs_stale_ones(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "duplicate")
        judgements.record(cursor, ("a", "b"), "bob", "duplicate")
    store(corpus, "b", text="Another text, about {}.")
    with corpus.transaction() as cursor:
        judgements.record(cursor, ("a", "b"), "cleo", "different")
        (found,) = judgements.listed(cursor)
    assert found.label == "different"


def test_what_is_no_label_or_no_judge_is_refused(corpus: Database) -> None:
    with corpus.transaction() as cursor:
        with pytest.raises(InputError, match="one of duplicate, similar, different, unsure, not 'maybe'"):
            judgements.record(cursor, ("a", "b"), "ann", "maybe")
        for name in ("", "x" * 101, "a\0b"):
            with pytest.raises(InputError, match="--as"):
                judgements.record(cursor, ("a", "b"), name, "similar")
        for pair in (("a", "a"), ("b", "a")):
            with pytest.raises(InputError, match="two different ids, the smaller"):
                judgements.record(cursor, pair, "ann", "similar")
        assert judgements.listed(cursor) == []


def test_the_longest_ids_fit(database: Database) -> None:
    # Postgres limits the size of index entries, and these ids cannot be compressed.
    ids = ["".join(chr(0x4E00 + (7919 * (i + n)) % 20_000) for n in range(341)) for i in (0, 500)]
    store(database, *ids)
    with database.transaction() as cursor:
        judgements.pick(cursor, [pick_of(ids[0], ids[1])])
        judgements.record(cursor, pins.key(*ids), "\U0001f600" * 100, "similar")
        assert len(judgements.listed(cursor)) == 1


def test_the_view_sets_judgements_beside_the_marks(corpus: Database) -> None:
    with corpus.transaction(settling=True) as cursor:
        judgements.record(cursor, ("a", "b"), "ann", "different")
        judgements.record(cursor, ("a", "c"), "ann", "duplicate")
        cursor.execute("""
            UPDATE dedup.article_mark SET status = 'duplicate', reason = 'sentences',
                duplicate_of = (SELECT id FROM dedup.article WHERE source_id = 'a')
            WHERE id = (SELECT id FROM dedup.article WHERE source_id = 'b')
        """)
        cursor.execute("""
            INSERT INTO dedup.match SELECT b.id, a.id, 'duplicate', 'sentences', 0.75, 0.75, 0.5, 0.9
            FROM dedup.article a, dedup.article b WHERE (a.source_id, b.source_id) = ('a', 'b')
        """)
        rows = cursor.execute("""
            SELECT other_source_id, other_title, label, same_story, sentence_jaccard, stale
            FROM dedup.judged_pair ORDER BY 1
        """).fetchall()
    assert rows == [
        ("b", "Title b", "different", True, 0.75, False),
        ("c", "Title c", "duplicate", False, None, False),
    ]
