"""Fingerprints: their contents and version, and no failure on any text.

See docs/semantics.md, section 1.
"""

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

from dedup.base.settings import Settings
from dedup.text import fingerprint as module
from dedup.text.fingerprint import Fingerprint, Fingerprinter, UnreadableError, base_language
from dedup.text.hashing import Hasher
from dedup.text.normalize import words
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.signature import minhash, signature

STORM = (
    "The storm reached the coast on Monday night. It flooded the old harbour of the town. "
    "Mr. Hale saw it all.\n\nRead more\n\n"
    "The storm reached the coast on Monday night. Nobody was hurt, and the trains are running."
)
SMALL = Settings(text_min_words=1)
PLAIN = Hasher()


def hashed(normal: str, key: str = "") -> int:
    """Return the hash of a normalised text."""
    return Hasher(key).words(normal.split())


@cache
def small() -> Fingerprinter:
    return Fingerprinter(SMALL)


def attempt(text: str, title: str | None = None) -> Fingerprint | str:
    made = DEFAULTS if title is not None else small()
    try:
        return made.fingerprint(text, None, title)
    except UnreadableError as error:
        return str(error)


def test_what_a_fingerprint_holds() -> None:
    made = small().fingerprint(STORM)
    counted = [
        "the storm reached the coast on monday night",
        "it flooded the old harbour of the town",
        "nobody was hurt and the trains are running",
    ]  # not counted: "mr hale saw it all" (18 characters), "read more", and the repeated sentence
    everything = [*counted[:2], "mr hale saw it all", "read more", counted[0], counted[2]]
    shingle_set = {
        "the storm reached", "the coast on", "on monday night", "it flooded the", "the old harbour",
        "old harbour of", "of the town", "the town mr", "mr hale saw", "saw it all", "it all read",
        "all read more", "was hurt and", "and the trains", "the trains are",
    }  # fmt: skip
    assert made.sentence_hashes == tuple(hashed(sentence) for sentence in counted)
    assert made.content_hash == hashed(" ".join(everything))
    assert made.word_count == len(" ".join(everything).split())
    assert made.shingle_count == len(shingle_set)
    shingle_hashes = [PLAIN.shingle(shingle.split()) for shingle in shingle_set]
    values = minhash(np.array(shingle_hashes, np.uint32), SMALL.signature_size)
    assert made.signature.tolist() == signature(values).tolist()
    assert len(made.signature.tobytes()) == 256
    assert made.buckets == tuple(PLAIN.bucket(values[4 * i : 4 * i + 4].tolist(), i) for i in range(16))
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


@pytest.mark.parametrize("key", ["", "secret"])
def test_without_a_shingle_every_bucket_is_the_content_hash(key: str) -> None:
    keyed = Fingerprinter(replace(SMALL, hash_key=key))
    made = keyed.fingerprint("Laundry detergent discount")
    assert made.content_hash == hashed("laundry detergent discount", key)
    assert made.buckets == (made.content_hash,) * SMALL.bands
    assert made.signature.shape == (0,)
    assert made.signature.tobytes() == b""
    assert made.shingle_count == 0
    assert made.sentence_hashes == (made.content_hash,)
    # A text with fewer characters than a sentence needs has no sentence hash, only buckets.
    assert keyed.fingerprint("Detergent").sentence_hashes == ()
    assert keyed.fingerprint("Detergent").buckets == (hashed("detergent", key),) * SMALL.bands


DEFAULTS = Fingerprinter(Settings())
BRIEF = "The storm reached the coast on Monday night and it flooded the old harbour of the town."


def of_words(count: int) -> str:
    """Return a text of `count` words, with shingles and a sentence."""
    return (" ".join(f"the storm{i}" for i in range(count // 2)) + " end" * (count % 2)).strip()


def test_a_short_text_takes_part_by_its_title_and_text_alone() -> None:
    made = DEFAULTS.fingerprint(BRIEF, None, "STORM  hits; the coast")
    assert made.content_hash == hashed("storm hits the coast / " + " ".join(words(BRIEF)))
    assert (made.sentence_hashes, made.buckets, made.shingle_count) == ((), (), 0)
    assert made.signature.tobytes() == b""
    assert made.signature.dtype == np.uint8
    assert made.word_count == len(words(BRIEF)) == 17
    assert made.version == DEFAULTS.version(None)


@pytest.mark.parametrize("title", [None, "", " ", "\0 ... !"])
def test_a_short_text_without_a_title_has_nothing_before_the_slash(title: str | None) -> None:
    assert DEFAULTS.fingerprint("Comment now", None, title).content_hash == hashed("/ comment now")


def test_short_texts_with_other_titles_are_others_and_with_one_title_the_same() -> None:
    pages = [DEFAULTS.fingerprint("Comment now", "en", f"Page {i}") for i in range(100)]
    assert len({page.content_hash for page in pages}) == 100
    assert DEFAULTS.fingerprint("comment NOW!", "en", "page 7.") == pages[7]


def test_the_title_of_a_long_text_does_not_count() -> None:
    for text in (STORM, of_words(24)):
        assert DEFAULTS.fingerprint(text, None, "Storm") == DEFAULTS.fingerprint(text, None, "Calm")
        assert DEFAULTS.fingerprint(text, None, "Storm") == DEFAULTS.fingerprint(text)


@pytest.mark.parametrize("limit", [1, 2, 23, 24, 25])
def test_a_text_is_short_below_the_minimum_and_long_at_it(limit: int) -> None:
    made = Fingerprinter(Settings(text_min_words=limit))
    long = made.fingerprint(of_words(limit), None, "Title")
    assert long.word_count == limit
    assert long.content_hash == hashed(of_words(limit))
    assert len(long.buckets) == Settings().bands
    if limit > 1:
        short = made.fingerprint(of_words(limit - 1), None, "Title")
        assert short.word_count == limit - 1
        assert short.content_hash == hashed("title / " + of_words(limit - 1))
        assert short.buckets == ()


def test_words_that_are_no_sentence_count_towards_the_minimum_and_a_title_does_not() -> None:
    made = Fingerprinter(Settings(text_min_words=4))
    assert made.fingerprint("One\n\ntwo\n\nthree\n\nfour").buckets
    assert not made.fingerprint("One\n\ntwo\n\nthree", None, "four five six").buckets


TITLES = st.one_of(st.none(), st.text("abc \n.", max_size=8))
BODIES = st.text("abc \n.", max_size=12)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(TITLES, BODIES, TITLES, BODIES)
def test_a_short_content_is_equal_exactly_where_title_and_text_are(
    title: str | None, text: str, other_title: str | None, other: str
) -> None:
    # A short text never equals a long text: the content of a short text has a slash between title and text,
    # and no word is a slash.
    for limit in (3, 1_000):
        made = Fingerprinter(Settings(text_min_words=limit))
        if not words(text) or not words(other):
            return
        one, two = made.fingerprint(text, None, title), made.fingerprint(other, None, other_title)

        def seen(title: str | None, text: str, limit: int = limit) -> tuple[list[str] | None, list[str]]:
            return (words(title or "") if len(words(text)) < limit else None), words(text)

        assert (one.content_hash == two.content_hash) == (seen(title, text) == seen(other_title, other))


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_with_a_key_every_hash_is_another_and_all_else_stays() -> None:
    keys = (
        "",
        "one",
        "other",
        "a key of far more than sixty-four bytes, which is the most that BLAKE2b takes",
    )
    prints = [Fingerprinter(replace(SMALL, hash_key=key)).fingerprint(STORM) for key in keys]
    shorts = [Fingerprinter(Settings(hash_key=key)).fingerprint(BRIEF, None, "Storm") for key in keys]
    for made in (prints, shorts):
        assert len({f.version for f in made}) == len({f.content_hash for f in made}) == len(keys)
        assert len({(f.word_count, f.shingle_count, len(f.sentence_hashes)) for f in made}) == 1
    for i, one in enumerate(prints):
        for other in prints[:i]:
            assert set(one.sentence_hashes).isdisjoint(other.sentence_hashes)
            assert set(one.buckets).isdisjoint(other.buckets)
            # Of 256 unrelated bytes about one is equal.
            assert np.count_nonzero(one.signature == other.signature) < 12
    assert Fingerprinter(replace(SMALL, hash_key="one")).fingerprint(STORM) == prints[1]


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(st.text("abc ", min_size=1, max_size=30), st.text("ab", min_size=1, max_size=3))
def test_equal_texts_are_equal_under_equal_keys(text: str, key: str) -> None:
    text = f"The {text} end"
    keyed = Fingerprinter(replace(SMALL, hash_key=key))
    made = keyed.fingerprint(text)
    assert made == Fingerprinter(replace(SMALL, hash_key=key)).fingerprint(text)
    assert made.content_hash == hashed(" ".join(words(text)), key)
    assert all(found in (None, hashed(" ".join(words(s)), key)) for s, found in keyed.sentences(text))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty: the text has no words"),
        (" \t\r\n\u00a0", "empty: the text has no words"),
        ("\0\ud800 ... !", "empty: the text has no words"),
        ("x " * 501, "too long: 1,002 characters, the limit is 1,000"),
        ("\ufdfa" * 56, "too long: 1,008 characters when normalised, the limit is 1,000"),
        ("\ufdfa" * 1_001, "too long: 1,001 characters, the limit is 1,000"),
        ("x" + "ß" * 500, "too long: 1,001 characters when normalised, the limit is 1,000"),
    ],
)
def test_texts_that_cannot_be_read(text: str, reason: str) -> None:
    limited = Fingerprinter(Settings(text_max_characters=1_000, text_min_words=4))
    with pytest.raises(UnreadableError) as caught:
        limited.fingerprint(text)
    assert str(caught.value) == reason


def test_texts_at_the_limits_can_be_read() -> None:
    limited = Fingerprinter(Settings(text_max_characters=1_000, text_min_words=4))
    assert limited.fingerprint("one").word_count == 1
    assert limited.fingerprint("x " * 500).word_count == 500
    assert limited.fingerprint("\ufdfa " * 52 + "x " * 6).word_count == 52 * 4 + 6
    assert limited.fingerprint("ß" * 500).word_count == 4  # a word is cut after 256 letters


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(st.text(st.characters(), max_size=80), st.one_of(st.none(), st.text(st.characters(), max_size=20)))
@example("\ud800\0 lone \udfff", None)
@example("\u0345\u0301 \u1f80\u0308", "\u0345\u0301 \u1f80\u0308")
@example("a", "\ud800\0 lone \udfff")
def test_any_text_has_a_fingerprint_or_a_reason_and_always_the_same(text: str, title: str | None) -> None:
    first = attempt(text, title)
    assert isinstance(first, str) or -(2**63) <= first.content_hash < 2**63
    assert attempt(text, title) == first
    for form in ("NFC", "NFD"):
        assert attempt(unicodedata.normalize(form, text), title) == first
        if title is not None:
            assert attempt(text, unicodedata.normalize(form, title)) == first


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
    "glued ends": "Abc." * (N // 5),
    "glued ends in quotes": 'Abc."' * (N // 5),
    "an address of glued ends": "www." + "Abc." * (N // 5),
    "addresses of glued ends": "www.Abc.Def " * (N // 10),
}


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_titles_take_linear_time(name: str) -> None:
    assert DEFAULTS.fingerprint("Comment now", None, ENDLESS[name]).word_count == 2


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_texts_take_linear_time(name: str) -> None:
    # Each text takes about a second; a quadratic algorithm would take minutes, more than the time limit.
    text = ENDLESS[name]
    patient = Fingerprinter(replace(SMALL, text_max_characters=len(text)))
    if any(character.isalnum() for character in text[:10]):
        assert patient.fingerprint(text).word_count > 0
    else:
        with pytest.raises(UnreadableError, match="empty"):
            patient.fingerprint(text)


# For every setting that changes the content of a fingerprint, a value other than the default.
OTHER: dict[str, Any] = {
    "text_max_characters": 2_000_000,
    "text_min_words": 2,
    "sentence_min_characters": 21,
    "stop_word_length": 5,
    "stop_words": "the of",
    "signature_size": 257,
    "bands": 15,
    "rows": 3,
    "hash_key": "secret",
    "default_language": "de",
    "damaged_print": "on",
}
OTHER_RULES: dict[str, Any] = {
    "common_stories": 11,
    "duplicate_sentence_jaccard": 0.75,
    "duplicate_signature_jaccard": 0.75,
    "similar_sentence_jaccard": 0.25,
    "similar_signature_jaccard": 0.25,
    "evidence_sentences": 3,
    "evidence_shingles": 13,
    "similar_containment": 0.75,
    "containment_sentences": 4,
    "containment_shingles": 31,
    "earliest_year": 1700,
    "canonical_order": "added",
    "similar_pairs": 5,
    "similar_signature_alone": 0.55,
    "containment_ratio": 5,
    "containment_share": 0.4,
    "furniture_sentences": 4,
    "reprint_days": 4,
    "reprint_score": 0.95,
}


OTHER_WINDOWS: dict[str, Any] = {"keep_window": "90d"}


def test_version_changes_with_every_fingerprint_setting_and_with_no_rule_setting() -> None:
    base = small().version(None)
    assert set(OTHER) == {item.name for item in fields(Settings) if item.metadata["kind"] == "fingerprint"}
    assert set(OTHER_RULES) == {item.name for item in fields(Settings) if item.metadata["kind"] == "rule"}
    assert set(OTHER_WINDOWS) == {item.name for item in fields(Settings) if item.metadata["kind"] == "window"}
    seen = {base}
    for name, value in OTHER.items():
        seen.add(Fingerprinter(replace(SMALL, **{name: value})).version(None))
    assert len(seen) == len(OTHER) + 1
    for name, value in (OTHER_RULES | OTHER_WINDOWS).items():
        changed = replace(SMALL, **{name: value})
        assert changed != SMALL
        assert Fingerprinter(changed).version(None) == base


def test_version_changes_with_the_model() -> None:
    trained = Fingerprinter(SMALL, {"en": PunktModel(frozenset({"bzw"}))})
    assert len({small().version("en"), trained.version("en"), small().version("de")}) == 3
    assert trained.version("de") == small().version("de") == small().version("sw")


@pytest.mark.parametrize(
    ("name", "value"), [("ALGORITHM_REVISION", module.ALGORITHM_REVISION + 1), ("UNICODE_VERSION", "99.0.0")]
)
def test_version_changes_with_the_algorithm_and_with_the_tables_of_unicode(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two versions of Python may have different Unicode tables and so disagree about what a word is: their
    # fingerprints must have different versions.
    base = small().fingerprint(STORM)
    monkeypatch.setattr(module, name, value)
    made = Fingerprinter(SMALL).fingerprint(STORM)
    assert made.version != base.version
    assert replace(made, version=base.version) == base


def test_the_unicode_version_is_that_of_this_python_and_of_the_words() -> None:
    assert unicodedata.unidata_version == module.UNICODE_VERSION
    assert -(2**63) <= small().version(None) < 2**63


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
            changed: Any = value + np.uint8(1)
        else:
            changed = value[1:] if isinstance(value, tuple) else value + 1
        assert replace(made, **{item.name: changed}) != made, item.name


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_fingerprints_are_the_same_in_every_process() -> None:
    code = (
        "import sys; from dedup.base.settings import Settings;"
        "from dedup.text.fingerprint import Fingerprinter;"
        "f = Fingerprinter(Settings(text_min_words=1)).fingerprint(sys.argv[1]);"
        "print(f.version, f.content_hash, f.sentence_hashes, f.signature.tolist(), f.buckets)"
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


def test_languages_without_sentence_parameters_share_what_is_kept_in_memory() -> None:
    made = Fingerprinter(SMALL, {"de": PunktModel(frozenset({"bzw"}))})
    for number in range(100):
        language = f"x{number}"
        assert made.fingerprint(STORM, language).version == made.version(language) == made.version("sw")
    made.fingerprint(STORM, "de-AT")
    made.fingerprint(STORM, None)
    assert len(made._kernels or made._splitters) == len(made._versions) == 3


@given(st.text(max_size=40))
def test_the_hash_of_one_sentence_is_the_one_it_is_counted_under(text: str) -> None:
    made = Fingerprinter(replace(SMALL, sentence_min_characters=1))
    for sentence, found in made.sentences(text):
        assert found in (None, made.sentence_hash(sentence))
