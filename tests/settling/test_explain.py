"""Explanations: the verdict in one line, and the exact differences between sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from dedup.base.article import Article
from dedup.db.database import Database
from dedup.settling.backfill import backfill
from dedup.settling.explain import explain
from dedup.settling.explanation import Explanation
from dedup.store import rulebooks
from dedup.text.alignment import Segment
from tests.corpora import article, change_settings, code, load, misread, sentence, text, window

OIL = (
    "{} said on Tuesday that profit fell by a fifth in the third quarter. "
    "Analysts had expected less of a fall from {} after a mild summer. "
    "The company named lower oil prices and a strike of its drivers as the reasons. "
    "Shares of {} closed at 31 dollars in New York."
)
SPELLINGS = ("Halliburton", "Haliburton", "Halliburton's")


def explained(database: Database, *given: Article) -> Explanation:
    """Store two articles, which are the whole corpus, and return their explanation."""
    load(database, *given)
    with database.transaction() as cursor:
        return explain(cursor, rulebooks.load_rulebook(cursor), *(a.source_id for a in given))


def told(segments: Sequence[Segment] | None) -> str | None:
    return None if segments is None else "".join(segment.text for segment in segments)


def marked(segments: Sequence[Segment] | None) -> list[str]:
    return [s.text.strip() for s in segments or () if not s.shared]


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2), (1, 2), (2, 0)])
def test_of_three_spellings_exactly_the_name_is_marked(database: Database, one: int, other: int) -> None:
    names = SPELLINGS[one], SPELLINGS[other]
    texts = [OIL.format(name, name, name) for name in names]
    found = explained(database, *(Article(f"a{i}", text) for i, text in enumerate(texts)))
    assert found.shared == ("The company named lower oil prices and a strike of its drivers as the reasons.",)
    assert len(found.differing) == 3
    for pair in found.differing:
        assert (marked(pair.earlier), marked(pair.later)) == ([names[0]], [names[1]])
        assert str(told(pair.earlier)).replace(*names) == told(pair.later)


def test_each_sentence_stands_beside_its_near_twin(database: Database) -> None:
    shared = [code(number) for number in range(20, 26)]
    earlier = article("earlier", [*shared, code(1), code(2), code(3)], 0)
    later = article("later", [code(3, 1), code(9), *shared, code(1, 1)], 1)
    found = explained(database, later, earlier)
    assert (found.earlier.id, found.later.id) == ("earlier", "later")
    assert [(told(pair.earlier), told(pair.later)) for pair in found.differing] == [
        (sentence(code(1)), sentence(code(1, 1))),
        (sentence(code(2)), None),
        (sentence(code(3)), sentence(code(3, 1))),
        (None, sentence(code(9))),
    ]
    assert [len(marked(pair.earlier)) for pair in found.differing] == [1, 1, 1, 0]
    assert marked(found.differing[3].later) == [sentence(code(9))]


def test_a_sentence_that_an_article_says_twice_is_told_once(database: Database) -> None:
    found = explained(
        database,
        article("a", [*window(0, 6), code(30), code(30)], 0),
        article("b", [*window(0, 6), *window(0, 6)], 1),
    )
    assert found.shared == tuple(map(sentence, window(0, 6)))
    assert [told(pair.earlier) for pair in found.differing] == [sentence(code(30))]


def test_the_verdict_names_relation_rule_and_figures(database: Database) -> None:
    first, second = article("a", window(0, 6), 0), article("b", window(1, 6), 1)
    assert explained(database, first, second).decision == (
        "duplicate by sentences: sentence Jaccard 0.714 is at least 0.7"
    )


def test_of_a_misread_text_the_letters_are_told_one_by_one(database: Database) -> None:
    change_settings(database, damaged_print="on")
    backfill(database, workers=0)
    whole = text(window(0, 20, ring=1_000))
    found = explained(database, Article("a", whole), Article("b", misread(whole, 12)))
    assert re.fullmatch(
        r"duplicate by damaged: misread copy: print Jaccard \(of letter sequences\) 0\.\d{3},"
        " in a shared bucket",
        found.decision,
    )
    assert len(found.letters) == 6
    assert re.match(r"each text has a share of 0\.\d{3} of the other's 8-letter sequences", found.letters[0])
    assert len(found.differing) == 20
    for pair in found.differing:
        assert {len(piece) < 8 for piece in [*marked(pair.earlier), *marked(pair.later)]} == {True}
        assert sum(map(len, marked(pair.earlier))) < len(str(told(pair.earlier))) / 4


def test_two_articles_may_have_nothing_to_do_with_each_other(database: Database) -> None:
    found = explained(database, article("a", window(0, 4), 0), article("b", window(7, 4), 1))
    assert found.decision.startswith("not related: sentence Jaccard 0.000 is below 0.3")
    assert found.related is None
    assert len(found.differing) == 8
    assert not any(pair.earlier and pair.later for pair in found.differing)


def test_what_cannot_be_read_is_not_compared(database: Database) -> None:
    found = explained(database, article("a", window(0, 6), 0), Article("b", "?"))
    assert found.decision == "not compared: b could not be read (empty: the text has no words)"
    assert (found.scores, found.shared) == (None, ())
