"""Fingerprints: what they hold, what makes their version, and that no text can break or stall them."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.settings import Settings
from dedup.text import fingerprint as module
from dedup.text.fingerprint import Fingerprint, Fingerprinter, UnreadableError, base_language
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.signature import hash64, hash_set, minhash, sketch

STORM = (
    "The storm reached the coast on Monday night. It flooded the old harbour of the town. "
    "Mr. Hale saw it all.\n\nRead more\n\n"
    "The storm reached the coast on Monday night. Nobody was hurt, and the trains are running."
)
SMALL = Settings(text_min_words=1)


@cache
def small() -> Fingerprinter:
    return Fingerprinter(SMALL)


def attempt(text: str, language: str | None = None) -> Fingerprint | str:
    try:
        return small().fingerprint(text, language)
    except UnreadableError as error:
        return str(error)


def test_what_a_fingerprint_holds() -> None:
    made = small().fingerprint(STORM)
    counted = [
        "the storm reached the coast on monday night",
        "it flooded the old harbour of the town",
        "nobody was hurt and the trains are running",
    ]  # not "mr hale saw it all", of 18 characters, not "read more", and the storm only once
    everything = [*counted[:2], "mr hale saw it all", "read more", counted[0], counted[2]]
    shingle_set = {
        "the storm reached", "the coast on", "on monday night", "it flooded the", "the old harbour",
        "old harbour of", "of the town", "the town mr", "mr hale saw", "saw it all", "it all read",
        "all read more", "was hurt and", "and the trains", "the trains are",
    }  # fmt: skip
    assert made.sentence_hashes == tuple(hash64(sentence) for sentence in counted)
    assert made.content_hash == hash64(" ".join(everything))
    assert made.word_count == len(" ".join(everything).split())
    assert made.shingle_count == len(shingle_set)
    assert made.signature.tolist() == minhash(hash_set(shingle_set), SMALL.signature_size).tolist()
    assert made.sketch == sketch(hash_set(shingle_set))
    assert len(made.buckets) == SMALL.bands
    assert made.version == small().version(None)


def test_sentences_are_those_of_the_fingerprint_with_the_short_ones_marked() -> None:
    found = small().sentences(STORM)
    assert [sentence for sentence, hashed in found if hashed is None] == ["Mr. Hale saw it all.", "Read more"]
    hashes = [hashed for _, hashed in found if hashed is not None]
    assert tuple(dict.fromkeys(hashes)) == small().fingerprint(STORM).sentence_hashes


def test_a_sentence_counts_from_the_minimum_on() -> None:
    text = "A sentence of thirty letters xx."
    for limit, count in ((31, 1), (32, 0)):
        made = Fingerprinter(replace(SMALL, sentence_min_characters=limit)).fingerprint(text)
        assert len(made.sentence_hashes) == count
    assert len("a sentence of thirty letters xx") == 31


def test_without_a_shingle_the_sketch_is_of_the_words() -> None:
    made = small().fingerprint("Laundry detergent discount")
    assert made.sketch == sketch(hash_set({"laundry", "detergent", "discount"}))
    assert made.signature.shape == (0,)
    assert made.buckets == ()
    assert made.shingle_count == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty: the text has no words"),
        (" \t\r\n\u00a0", "empty: the text has no words"),
        ("\0\ud800 ... !", "empty: the text has no words"),
        ("one two three", "too short: 3 words, the limit is 4"),
        ("x " * 501, "too long: 1,002 characters, the limit is 1,000"),
    ],
)
def test_texts_that_cannot_be_read(text: str, reason: str) -> None:
    limited = Fingerprinter(Settings(text_max_characters=1_000, text_min_words=4))
    with pytest.raises(UnreadableError) as caught:
        limited.fingerprint(text)
    assert str(caught.value) == reason


def test_texts_at_the_limits_can_be_read() -> None:
    limited = Fingerprinter(Settings(text_max_characters=1_000, text_min_words=4))
    assert limited.fingerprint("one two three four").word_count == 4
    assert limited.fingerprint("x " * 500).word_count == 500


@given(st.text(st.characters(), max_size=80))
@example("\ud800\0 lone \udfff")
@example("\u0345\u0301 \u1f80\u0308")
def test_any_text_has_a_fingerprint_or_a_reason_and_always_the_same(text: str) -> None:
    first = attempt(text)
    assert isinstance(first, str) or -(2**63) <= first.content_hash < 2**63
    assert attempt(text) == first
    for form in ("NFC", "NFD"):
        assert attempt(unicodedata.normalize(form, text)) == first


PROSE = st.text(
    st.sampled_from("aeéèüñ\u0301\u0323åÅ\u212bΐ한국어あがガ. \n,\u2019\u037e\u0340"), max_size=80
)


@given(PROSE, PROSE)
def test_composed_and_decomposed_forms_have_equal_fingerprints(text: str, other: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert attempt(composed + other) == attempt(decomposed + other)


def test_real_words_composed_and_decomposed() -> None:
    text = "El Sr. Muñoz llegó a Bogotá. Él habló del año más difícil.\nGrößenwahn über Öl. Đặng Thị Huệ."
    assert unicodedata.normalize("NFD", text) != text
    assert small().fingerprint(unicodedata.normalize("NFD", text)) == small().fingerprint(text)


@pytest.mark.parametrize("noise", ["\0", "\ud800", "\u00ad", "\ufeff", "\u2060"])
def test_what_cannot_be_seen_does_not_count(noise: str) -> None:
    assert small().fingerprint(noise.join(STORM.partition("coa"))) == small().fingerprint(STORM)


@given(st.sampled_from([str.upper, str.lower, str.title]))
def test_case_changes_no_content_hash(change: Any) -> None:
    assert small().fingerprint(change(STORM)).content_hash == small().fingerprint(STORM).content_hash


N = 1_000_000
ENDLESS = {
    "dots": "." * N,
    "exclamation marks": "!" * N,
    "one word": "x" * (10 * N),
    "initials": "a. " * N,
    "line breaks": "x" + "\n" * N,
    "lines of a word": "a\n" * N,
    "quotes": '"' * N,
    "dashes": " - " * (N // 5),
    "spaces": "x" + " " * N,
    "marks on a letter": "a" + "\u0301\u0327" * N,
    "half-width sound marks": "\uff76" + "\uff9e\u0301" * N,
    "one accented word": "\u00e9" * N,
    "abbreviations": "Mr. " * (N // 5),
    "dots apart": ". " * (N // 5),
    "marks apart": "?! " * (N // 5),
    "lines": "Ab cd\n" * (N // 20) + "and this is the widest line of them all, by far",
    "quoted dots": '."' * (N // 5),
    "brackets": ".)" * (N // 5),
    "double dashes": "-- " * (N // 5),
    "one dash": "-" * N,
    "dandas": "\u0964" * N,
    "quoted dandas": "\u0964\u201d" * (N // 10),
    "ideographs apart": "\u4e2d " * (N // 5),
    "long tokens after dots": ("a. " + "b" * 100_000) * 50,
    "different initials": "".join(f"U{i}. X{i} " for i in range(N // 50)),
    "soft hyphens": "\u00ad" * N,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_texts_take_linear_time(name: str) -> None:
    # Each takes about a second; what is quadratic takes minutes at the least. The limit tells them apart.
    text = ENDLESS[name]
    patient = Fingerprinter(replace(SMALL, text_max_characters=len(text)))
    if any(character.isalnum() for character in text[:10]):
        assert patient.fingerprint(text).word_count > 0
    else:
        with pytest.raises(UnreadableError, match="empty"):
            patient.fingerprint(text)


# Another value for every setting that changes what a fingerprint holds.
OTHER: dict[str, Any] = {
    "text_max_characters": 2_000_000,
    "text_min_words": 2,
    "sentence_min_characters": 21,
    "stop_word_length": 5,
    "stop_words": "the of",
    "signature_size": 65,
    "bands": 15,
    "rows": 3,
    "default_language": "de",
}
OTHER_RULES: dict[str, Any] = {
    "common_stories": 11,
    "common_concentration": 0.2,
    "duplicate_sentence_jaccard": 0.75,
    "duplicate_signature_jaccard": 0.75,
    "similar_sentence_jaccard": 0.25,
    "similar_signature_jaccard": 0.25,
    "evidence_sentences": 3,
    "evidence_shingles": 13,
    "canonical_order": "added",
}


def test_version_changes_with_every_fingerprint_setting_and_with_no_rule_setting() -> None:
    base = small().version(None)
    assert set(OTHER) == {item.name for item in fields(Settings) if item.metadata["kind"] == "fingerprint"}
    assert set(OTHER_RULES) == {item.name for item in fields(Settings) if item.metadata["kind"] == "rule"}
    seen = {base}
    for name, value in OTHER.items():
        seen.add(Fingerprinter(replace(SMALL, **{name: value})).version(None))
    assert len(seen) == len(OTHER) + 1
    for name, value in OTHER_RULES.items():
        changed = replace(SMALL, **{name: value})
        assert changed != SMALL
        assert Fingerprinter(changed).version(None) == base


def test_version_changes_with_the_model_and_the_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    base = small().version("en")
    trained = Fingerprinter(SMALL, {"en": PunktModel(frozenset({"bzw"}))})
    assert len({base, trained.version("en"), small().version("de")}) == 3
    assert trained.version("de") == small().version("de") == small().version("sw")
    monkeypatch.setattr(module, "ALGORITHM_REVISION", 2)
    assert Fingerprinter(SMALL).version("en") != base


def test_every_language_has_its_model() -> None:
    german = PunktModel(frozenset({"bzw"}))
    made = Fingerprinter(SMALL, {"de": german})
    assert made.model("de-AT") is german
    assert made.model("en_GB") is made.model("ENG") is made.model(None) is made.model("") is english()
    assert made.model("sw") is NEUTRAL
    assert Fingerprinter(replace(SMALL, default_language="de"), {"de": german}).model(None) is german
    assert Fingerprinter(replace(SMALL, default_language="en-GB")).model(None) is english()
    assert len(made.fingerprint("Er kam bzw. Hans Maier aus Wien kam am Morgen.", "de").sentence_hashes) == 1
    assert len(made.fingerprint("Er kam bzw. Hans Maier aus Wien kam am Morgen.", "sw").sentence_hashes) == 1
    assert len(made.sentences("Er kam bzw. Hans Maier.", "de")) == 1
    assert len(made.sentences("Er kam bzw. Hans Maier.", "sw")) == 2


@pytest.mark.parametrize(
    ("code", "base"),
    [(None, None), ("", None), ("-", None), ("en", "en"), ("EN-gb", "en"), ("eng", "en"), (" pt_BR", "pt")],
)
def test_base_language(code: str | None, base: str | None) -> None:
    assert base_language(code) == base


def test_equal_fingerprints_are_equal_and_differ_in_any_field() -> None:
    made = small().fingerprint(STORM)
    same = small().fingerprint(STORM)
    assert made == same
    assert hash(made) == hash(same)
    assert made != "a fingerprint"
    for item in fields(Fingerprint):
        value = getattr(made, item.name)
        if isinstance(value, np.ndarray):
            changed: Any = value + np.uint32(1)
        else:
            changed = value[1:] if isinstance(value, tuple) else value + 1
        assert replace(made, **{item.name: changed}) != made, item.name


def test_fingerprints_are_the_same_in_every_process() -> None:
    code = (
        "import sys; from dedup.settings import Settings; from dedup.text.fingerprint import Fingerprinter;"
        "f = Fingerprinter(Settings(text_min_words=1)).fingerprint(sys.argv[1]);"
        "print(f.version, f.content_hash, f.sentence_hashes, f.signature.tolist(), f.buckets, f.sketch)"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code, STORM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
    assert answers.pop()
