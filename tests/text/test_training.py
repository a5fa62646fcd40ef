"""Training: Punkt parameters learnt from texts, the files of parameters, and the shipped model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.errors import InputError
from dedup.text import training
from dedup.text.punkt import ENGLISH_SHA256, FILES, NEUTRAL, PunktModel, english
from dedup.text.sentences import SentenceSplitter
from dedup.text.training import ABBREV_MIN_COUNT, ORTHO_MIN_COUNT, train

# An invented language, in which "gld." is an abbreviation before numbers and names. No other word precedes a
# full stop often enough to be taken for an abbreviation.
NAMES = ["Tora", "Bilo", "Rane", "Sumi", "Deko", "Halu"]


def article(i: int) -> str:
    name = NAMES[i % len(NAMES)]
    last = [f"{start}{chr(97 + i % 26)}{chr(97 + i // 26)}o" for start in ("mi", "so", "ka", "be", "ti")]
    return (
        f"Na {name} geva gld. {i} an {last[0]}. Na karo sen {last[1]}. Ovi gld. {name} vento na {last[2]}. "
        f"Pera mira na {last[3]}. Na gld. {i + 7} esti pera {last[4]}.\n\nPera na karo"
    )


ARTICLES = [article(i) for i in range(60)]


def test_training_learns_an_abbreviation_and_the_splitter_heeds_it() -> None:
    text = "Na Zora geva gld. 300 an mira. Ovi gld. Zora vento."
    assert SentenceSplitter(NEUTRAL).sentences(text)[0] == "Na Zora geva gld."
    model = train(ARTICLES)
    assert model.abbrev_types == {"gld"}
    assert SentenceSplitter(model).sentences(text) == [
        "Na Zora geva gld. 300 an mira.",
        "Ovi gld. Zora vento.",
    ]


def test_rare_words_stay_out_of_the_model() -> None:
    rare = ["Xana voro. Na xyz. voro.", *(["Yena voro."] * (ORTHO_MIN_COUNT - 1))]
    model = train([*ARTICLES, *rare])
    assert "xyz" not in model.abbrev_types
    assert "na" in model.ortho_context
    assert not {"xana", "yena"} & model.ortho_context.keys()
    assert "yena" in train([*ARTICLES, *rare, "Yena voro."]).ortho_context


def test_an_abbreviation_needs_to_be_seen_often_enough() -> None:
    often = [f"Na {name} geva gld. {i} an mira." for i, name in enumerate(NAMES * 3)]
    filler = ["Na karo pera mira sol kanto."] * 40
    assert "gld" in train(often[:ABBREV_MIN_COUNT] + filler).abbrev_types
    assert "gld" not in train(often[: ABBREV_MIN_COUNT - 1] + filler).abbrev_types


def test_headings_and_wrapping_do_not_count() -> None:
    wrapped = ["\r\n".join(textwrap.wrap(text.partition("\n")[0], 50)) for text in ARTICLES]
    assert wrapped[0].count("\n") == 2
    assert train([f"{text}\r\n\r\nPera na karo" for text in wrapped]) == train(ARTICLES)


def test_texts_are_read_in_batches_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(ARTICLES)
    monkeypatch.setattr(training, "TRAINER_BATCH_CHARACTERS", 1_000)
    batched = train(iter(ARTICLES))
    assert batched.abbrev_types == whole.abbrev_types
    assert batched.ortho_context.keys() == whole.ortho_context.keys()


@pytest.mark.parametrize("texts", [[], [""], ["\n \n"], ["\0\ud800"]])
def test_training_on_nothing_is_the_neutral_model(texts: list[str]) -> None:
    assert train(texts) == NEUTRAL


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_training_gives_the_same_model_in_every_process() -> None:
    code = (
        "import json, sys; from dedup.text.training import train; print(train(json.load(sys.stdin)).checksum)"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(ARTICLES),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert answers == {train(ARTICLES).checksum}


TOKENS = st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), min_size=1, max_size=6)
MODELS = st.builds(
    PunktModel,
    st.frozensets(TOKENS, max_size=4),
    st.frozensets(st.tuples(TOKENS, TOKENS), max_size=4),
    st.frozensets(TOKENS, max_size=4),
    st.dictionaries(TOKENS, st.integers(1, 126), max_size=4),
)


@given(MODELS)
def test_a_model_is_its_files(model: PunktModel) -> None:
    files = model.to_files()
    assert tuple(files) == FILES
    assert PunktModel.from_files(files) == model


@given(MODELS, MODELS)
def test_models_are_equal_where_their_checksums_are(one: PunktModel, other: PunktModel) -> None:
    assert (one == other) == (one.checksum == other.checksum)
    assert PunktModel.from_files(one.to_files()).checksum == one.checksum


@given(MODELS, MODELS)
def test_a_joined_model_knows_what_either_knows(one: PunktModel, other: PunktModel) -> None:
    joined = one | other
    assert joined.abbrev_types == one.abbrev_types | other.abbrev_types
    assert joined.sent_starters == one.sent_starters | other.sent_starters
    for word in one.ortho_context.keys() | other.ortho_context.keys():
        flags = one.ortho_context.get(word, 0) | other.ortho_context.get(word, 0)
        assert joined.ortho_context[word] == flags
    for pair in one.collocations | other.collocations:
        assert (pair in joined.collocations) == (pair[1] not in joined.sent_starters)
    assert joined == other | one
    assert joined | joined == joined


def test_a_joined_model_drops_no_flag() -> None:
    one, other = PunktModel(ortho_context={"may": 0b10}), PunktModel(ortho_context={"may": 0b100, "x": 1})
    assert (one | other).ortho_context == {"may": 0b110, "x": 1}


@pytest.mark.parametrize(
    "damage",
    [
        {"collocations.tab": "only one column"},
        {"collocations.tab": "a\tb\tc"},
        {"ortho_context.tab": "word"},
        {"ortho_context.tab": "word\tmany"},
    ],
)
def test_damaged_files_are_refused(damage: dict[str, str]) -> None:
    with pytest.raises(InputError, match="sentence parameters are damaged"):
        PunktModel.from_files({**english().to_files(), **damage})


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_refused(missing: str) -> None:
    files = english().to_files()
    del files[missing]
    with pytest.raises(InputError, match=missing):
        PunktModel.from_files(files)


def test_the_shipped_model_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert english().checksum == ENGLISH_SHA256
    assert {"mr", "dr", "u.s", "inc", "gen"} <= english().abbrev_types
    english.cache_clear()
    monkeypatch.setattr("dedup.text.punkt.ENGLISH_SHA256", "0" * 64)
    with pytest.raises(InputError, match="reinstall"):
        english()
