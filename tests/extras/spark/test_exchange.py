"""A corpus and a cluster compute equal digests, and check the values that must agree."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.spark.exchange import FORMAT, Basis, pins_digest, text_digest
from dedup.rules.relation import Relation

KEY = "a key that nobody may read, of enough letters"


def basis(settings: Settings | None = None, **more: object) -> Basis:
    made = Basis.of(settings or Settings(), {"de": "1234"}, pins_digest({}, {}), None)
    return replace(made, **more)  # type: ignore[arg-type]


def test_the_digest_of_a_text_is_the_one_described() -> None:
    wanted = hashlib.sha256(b"de\0" + "Über".encode() + b"\0" + b"text").digest()
    assert text_digest("de", "Über", "text") == wanted
    assert text_digest(None, None, "") == text_digest("", "", "") == hashlib.sha256(b"\0\0").digest()
    assert text_digest("de", "Über", "text", "7") == hashlib.sha256(b"de\0\xc3\x9cber\0text\0007").digest()
    assert text_digest("a", None, "b") != text_digest(None, "a", "b") != text_digest(None, None, "ab")


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=3)
PAIRS = st.dictionaries(st.tuples(NAMES, NAMES), st.sampled_from(list(Relation)), max_size=4)
SENTENCES = st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.booleans(), max_size=4)


@given(PAIRS, SENTENCES)
def test_the_digest_of_pins_depends_on_no_order(
    pairs: dict[tuple[str, str], Relation], sentences: dict[int, bool]
) -> None:
    unordered = {min(pair, pair[::-1]): relation for pair, relation in pairs.items()}
    turned = {pair[::-1]: relation for pair, relation in reversed(unordered.items())}
    again = dict(reversed(sentences.items()))
    assert pins_digest(turned, again) == pins_digest(unordered, sentences)


@given(PAIRS, SENTENCES)
def test_another_pin_is_another_digest(
    pairs: dict[tuple[str, str], Relation], sentences: dict[int, bool]
) -> None:
    more = {**pairs, ("long a", "long b"): Relation.SIMILAR}
    digests = {
        pins_digest(pairs, sentences),
        pins_digest(more, sentences),
        pins_digest({**more, ("long a", "long b"): Relation.DUPLICATE}, sentences),
        pins_digest(pairs, {**sentences, 7: not sentences.get(7, False)}),
    }
    assert len(digests) == 4


def test_a_basis_is_read_as_it_was_written() -> None:
    made = basis(Settings(hash_key=KEY), horizon=-5)
    content = json.dumps({"format": FORMAT, "more": 1, **made.as_dict()})
    assert Basis.read(json.loads(content), "run.json") == made
    assert KEY not in content
    assert made.hash_key_digest != hashlib.sha256(KEY.encode()).hexdigest()


@pytest.mark.parametrize("name", basis().as_dict())
def test_a_part_that_is_missing_is_named(name: str) -> None:
    found = {"format": FORMAT, **basis().as_dict()}
    del found[name]
    with pytest.raises(InputError, match=f"run.json: {name} is missing or of a wrong type"):
        Basis.read(found, "run.json")
    with pytest.raises(InputError, match=f"run.json: {name} is missing or of a wrong type"):
        Basis.read({**found, name: [1]}, "run.json")


def test_another_format_is_refused() -> None:
    with pytest.raises(InputError, match="is of format 3, and this program knows 1"):
        Basis.read({**basis().as_dict(), "format": 3}, "run.json")


DIFFERENT = {
    "the setting bands is 8 there and 16 here": basis(Settings(bands=8)),
    "the setting keep_window is '2y' there and '' here": basis(Settings(keep_window="2y")),
    "the hash key differs": basis(Settings(hash_key=KEY)),
    "the settings of the kind rule differ": basis(digests={**basis().digests, "rule": "x"}),
    "the sentence parameters of fr differ": basis(models={"de": "1234", "fr": "x"}),
    "the pins of pairs or sentences differ": basis(pins_digest="x"),
    "the horizon differs": basis(horizon=0),
    "the algorithm has revision 99 there": basis(algorithm_revision=99),
    "Unicode is of version 1.0 there": basis(unicode_version="1.0"),
}


@pytest.mark.parametrize("words", DIFFERENT)
def test_what_differs_is_said_once_and_without_secrets(words: str) -> None:
    (found,) = DIFFERENT[words].differences(basis())
    assert found.startswith(words)
    assert KEY not in found
    assert basis().differences(basis()) == []
