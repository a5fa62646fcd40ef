"""Articles found by shared words equal the result of comparing all articles, for texts of any kind."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup import Article, Deduplicator
from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Database
from dedup.extras.coverage import finding
from dedup.extras.coverage.coverage import Coverage
from dedup.operation import Operation
from dedup.store import word_counts
from dedup.store.word_counts import WordCounts
from tests.attached import COLUMNS, news, owned
from tests.conftest import empty
from tests.extras.coverage.conftest import MUSEUM, REWRITTEN, STORM, Filled

pytestmark = pytest.mark.long("dedup", "migrations")

WORDS = [*"abcdefghij", "münchen", "straße", "37", "harbour", "storm"]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join), min_size=2, max_size=12
)


def likeness(texts: Sequence[str], asked: str) -> list[float]:
    """Return the TF-IDF similarity of each text to `asked`, in the simplest form: all texts are compared."""
    counts = [Counter(re.findall(r"\w+", text.replace("ß", "ss"))) for text in [*texts, asked]]
    having = Counter(word for count in counts[:-1] for word in count)

    def rarity(word: str) -> float:
        return math.log((len(texts) + 1) / ((having[word] if having[word] > 1 else 0) + 1))

    vectors = [{w: (1 + math.log(n)) * rarity(w) for w, n in count.items()} for count in counts]
    own = vectors.pop()

    def length(vector: dict[str, float]) -> float:
        return math.sqrt(sum(w * w for w in vector.values()))

    return [
        sum(own[w] * other.get(w, 0) for w in own) / (length(own) * length(other) or 1) for other in vectors
    ]


@pytest.mark.long("dedup/extras/coverage", "dedup/store/word_counts.py")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=texts, asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join))
def test_the_index_finds_the_same_as_a_comparison_of_all(
    database: Database, texts: list[str], asked: str
) -> None:
    empty(database)
    with Deduplicator(database.url) as dd, Operation(database.url) as owner:
        dd.load([Article(f"{number:02}", text) for number, text in enumerate(texts)])
        owner.make_searchable()
        found = dd.sources(text=asked, limit=40)
        owner.make_searchable(False)
    scores = {f"{number:02}": score for number, score in enumerate(likeness(texts, asked))}
    assert [one.score for one in found] == pytest.approx(
        sorted((score for score in scores.values() if score > 1e-9), reverse=True)
    )
    assert {one.id: one.score for one in found} == pytest.approx({one.id: scores[one.id] for one in found})


def test_the_words_that_weigh_most_are_looked_up_within_a_budget() -> None:
    counts = WordCounts(1_000, {"the": 1_000, "port": 300, "storm": 20, "agnes": 2})
    rarity = finding.Rarity(counts, ["the", "port", "storm", "agnes", "new", "_"])
    weights = finding.weigh(dict.fromkeys(rarity.of, 1), rarity)
    assert finding.choose(weights, counts, 1_000) == ["new", "agnes", "storm", "port"]
    assert finding.choose(weights, counts, 1_000_000) == ["new", "agnes"]
    many = {f"w{number}": 1.0 for number in range(1_000)}
    assert len(finding.choose(many, counts, 1_000)) == finding.MOST_WORDS


def test_without_counted_words_the_next_command_is_named(database: Database) -> None:
    with Deduplicator(database.url) as dd:
        dd.load([Article("a", STORM)])
        for ask in (dd.sources, dd.coverage):
            with pytest.raises(InputError, match=r"run `dedup init --search`"):
                ask("a")


def test_an_unknown_article_is_not_found(newsroom: Deduplicator) -> None:
    for ask in (newsroom.sources, newsroom.coverage):
        with pytest.raises(NotFoundError, match="missing"):
            ask("missing")
        with pytest.raises(InputError, match="give the source_id of an article, or a text"):
            ask()
        with pytest.raises(InputError, match="must be a whole number from 1 to 40"):
            ask("storm", limit=41)


def test_words_are_counted_again_and_dropped_with_the_index(database: Database, filled: Filled) -> None:
    dd = filled([Article("a", "storm storm harbour"), Article("b", "storm")])

    def counts() -> WordCounts:
        with database.transaction() as cursor:
            return word_counts.load_counts(cursor, ["storm", "harbour", "ferry"])

    assert counts() == (2, {"storm": 2}), "a word that only one article has is not stored"
    dd.load([Article("c", "ferry harbour"), Article("d", "ferry")])
    with Operation(database.url) as owner:
        assert owner.make_searchable() is False, "the index exists already"
        assert counts() == (4, {"storm": 2, "harbour": 2, "ferry": 2})
        owner.make_searchable(False)
        assert counts() == (0, {})


HOSTILE = [
    "",
    " \n ",
    "_ __ ''' \\' & | ! ( ) :* <->",
    "'; DROP TABLE dedup.article; -- @d1 @b2 @oCourier",
    "a\0b \ud800 ﷺ " + "é\u0301" * 1_000,
    "x" * 100_000,
    "١٢٣ " * 20_000,
    " ".join(f"w{number}" for number in range(60_000)),
    "“" * 20_000 + "”" * 20_000,
    "A " * 50_000,
    "1,1" * 30_000,
    "Aa-" * 30_000,
]


def test_hostile_texts_are_answered_in_bounded_time(newsroom: Deduplicator) -> None:
    for text in HOSTILE:
        started = time.process_time()
        assert isinstance(newsroom.sources(text=text), list)
        assert isinstance(newsroom.coverage(text=f"{STORM} {text}"), Coverage)
        assert time.process_time() - started < 10, text[:20]


def test_hostile_articles_do_no_harm(filled: Filled) -> None:
    kept = [text for text in HOSTILE if "\0" not in text]
    others = [Article(f"o{number}", f"{MUSEUM} {number}") for number in range(20)]
    dd = filled([*(Article(f"h{number}", f"{STORM} {text}") for number, text in enumerate(kept)), *others])
    started = time.process_time()
    found = {one.id for one in dd.sources(text=REWRITTEN, limit=40)}
    assert found >= {f"h{number}" for number in range(len(kept))}
    assert isinstance(dd.coverage("h1"), Coverage)
    assert time.process_time() - started < 20


def test_languages_without_spaces_share_whole_clauses_only(filled: Filled) -> None:
    same, other = "台风在周二袭击了港口，市长说损失巨大。", "台风在周二袭击了港口，没有人受伤。"
    dd = filled([Article("a", same), Article("b", other), Article("c", MUSEUM), Article("d", STORM)])
    assert [one.id for one in dd.sources("a")] == ["b"], "they share a clause"
    assert dd.sources(text=same[1:5]) == [], "a part of a clause is not a word of the index"


def test_accents_and_case_do_not_hide_an_article(filled: Filled) -> None:
    dd = filled([Article("a", "Łódź gewinnt in MÜNCHEN"), Article("b", MUSEUM), Article("c", STORM)])
    assert dd.sources(text="łódź münchen")[0].id == "a"


def test_of_an_attached_article_only_the_title_finds_it(database: Database, filled: Filled) -> None:
    with owned(database) as connection:
        news(connection)
        rows = [(1, STORM, "Storm Agnes in Port Marlow"), (2, MUSEUM, "Bowls gone")]
        for row in rows:
            connection.execute("INSERT INTO news (id, body, headline) VALUES (%s, %s, %s)", row)
        with Deduplicator(database.url) as dd:
            dd.attachments.attach("newsroom.news", keys=["id"], columns=COLUMNS)
        dd = filled([Article("own", REWRITTEN), Article("else", "Trams stop at night. Fares rise.")])
        assert "news/1" in [one.id for one in dd.sources("own")], (
            "the title of an attached article is indexed"
        )
        assert dd.sources("news/1")[0].id == "own", "the text of the attached article is read"
        assert dd.sources(text="eleven bronze canal van") == [], (
            "the text of an attached article is not indexed"
        )
