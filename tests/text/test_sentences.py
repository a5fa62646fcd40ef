"""Sentences: equal to those of NLTK's Punkt; hard cases, with the results of the shipped model."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktLanguageVars, PunktParameters, PunktSentenceTokenizer

from dedup.text.clean import blocks
from dedup.text.punkt import NEUTRAL, PunktModel, english
from dedup.text.sentences import MAX_CONTEXT_CHARACTERS, SentenceSplitter
from dedup.text.training import train

INVENTED = PunktModel(
    frozenset({"mr", "zz", "a.b", "u.s", "co", "ff.gg"}),
    frozenset({("zz", "top"), ("he", "said"), ("##number##", "may"), ("a", "co")}),
    frozenset({"the", "he", "top", "may"}),
    {"the": 0b100110, "he": 0b10, "said": 0b100000, "may": 0b1110, "top": 0b1000, "co": 0b110100},
)
TRAINED = {
    "de": "Der Sturm kam am {i}. Mai, sagte Dr. {name}. Er sprach z.B. von Not bzw. Kosten. Dr. {name} ging.",
    "es": "El Sr. {name} llegó el {i} de mayo. La Sra. {name} habló de EE.UU. y de daños. Nadie respondió.",
    "fr": "M. {name} est arrivé le {i} mai. Mme. {name} a parlé, p.ex. des dégâts. Personne n’a répondu.",
}
NAMES = ["Ortega", "Müller", "Lefèvre", "Hale", "Sumi", "Rane", "Deko"]


def trained(language: str) -> PunktModel:
    """Return a model trained on a few made-up sentences."""
    return train(TRAINED[language].format(i=i, name=NAMES[i % len(NAMES)]) for i in range(80))


MODELS: dict[str, Callable[[], PunktModel]] = {
    **{language: partial(trained, language) for language in TRAINED},
    "english": english,
    "neutral": lambda: NEUTRAL,
    "invented": lambda: INVENTED,
}
CURLY = "\u201c"


class Patterns(PunktLanguageVars):  # type: ignore[misc]  # NLTK has no types
    """NLTK's language settings, with the patterns of the one version of NLTK that dedup follows."""

    __slots__ = ()
    _non_word = "(?:[)\";}\\]*:@'({\\[\u2018\u2019\u201c\u201d\u00ab\u00bb?!])"
    _multi_char = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
    _word_start = r"[^(\"`{\[:;&#*@)}\]\-,]"
    _words = re.compile(
        rf"({_multi_char}|(?={_word_start})\S+?"
        rf"(?=\s|$|{_non_word}|{_multi_char}|,(?=$|\s|{_non_word}|{_multi_char}))|\S)"
    )
    _contexts = re.compile(rf"[.?!](?=(?P<after_tok>{_non_word}|\s+(?P<next_tok>\S+)))")
    re_boundary_realignment = re.compile(
        "[\"')\\]}\u2018\u2019\u201c\u201d\u00ab\u00bb\u203a〉》」』】〕〗〙〛〞〟＂＇）］｝｣]+?(?:\\s+|(?=--)|$)"
    )

    def word_tokenize(self, s: str) -> list[str]:
        return self._words.findall(s)

    def period_context_re(self) -> re.Pattern[str]:
        return self._contexts


@cache
def splitter(model: str) -> SentenceSplitter:
    return SentenceSplitter(MODELS[model]())


@cache
def nltk(model: str, ours: bool) -> PunktSentenceTokenizer:
    source = MODELS[model]()
    parameters = PunktParameters()
    parameters.abbrev_types |= source.abbrev_types
    parameters.collocations |= source.collocations
    parameters.sent_starters |= source.sent_starters
    parameters.ortho_context.update(source.ortho_context)
    return PunktSentenceTokenizer(parameters, lang_vars=Patterns() if ours else PunktLanguageVars())


def nltk_reads_curly_quotes() -> bool:
    return CURLY in PunktLanguageVars()._re_non_word_chars


MARKS = [
    ".",
    ".",
    "?",
    "!",
    "...",
    "!!!",
    "?!",
    ". . .",
    ".)",
    '."',
    "'",
    '"',
    ").",
    "]",
    "--",
    ",",
    ";",
    ":",
    "-",
]
QUOTES = ["\u201c", "\u201d", "\u2018", "\u2019", "\u00ab", "\u00bb", ".\u201d", "!\u201d"]
WORD_TABLE = """
    Mr. zz Zz. top Top U.S. u.s a.b. Co. co J. K R. he He said May the The Yahoo! isn't p.m. No. 3 4. 1.5
    Dr. z.B. bzw. Sr. Sra. EE.UU. M. Mme. p.ex. Ortega Müller Der La Er
    3.50. Inc. i.e. e.g. Nov Nov. 20th. Émile é. ÉTÉ. straße. İ. ß. город. नमस्ते. ff.gg. word Word end. x
"""
WORDS = WORD_TABLE.split()
PIECES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(MARKS),
    st.sampled_from(QUOTES),
    st.builds("".join, st.lists(st.sampled_from([*WORDS, *MARKS, *QUOTES]), min_size=1, max_size=4)),
    st.text("aA.!?'\")]1,-\u201d\u00bb", min_size=1, max_size=8),
)
BLOCKS = st.lists(PIECES, min_size=1, max_size=25).map(" ".join)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("ours", [True, False], ids=["our patterns", "NLTK's patterns"])
@pytest.mark.parametrize("model", MODELS)
@given(block=BLOCKS)
@example(block="Very bad acting!!! I promise. (It was.) He said.\u201d She went.")
@example(block=".")
@example(block='. . . "')
@example(block="a.) ) b")
# The words "he said" are a collocation of the invented model.
@example(block="So he. Said it. Then he. said so. top. said.")
def test_split_is_what_nltk_says(model: str, ours: bool, block: str) -> None:
    if not ours and not nltk_reads_curly_quotes():
        block = "".join(character for character in block if character not in "".join(QUOTES)).strip() or "."
        block = " ".join(block.split())
    assert splitter(model).split(block) == nltk(model, ours).tokenize(block)


@given(st.text(max_size=100))
def test_split_is_what_nltk_says_of_any_text(text: str) -> None:
    for block in blocks(text):
        assert splitter("english").split(block) == nltk("english", True).tokenize(block)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("reuters_web_2006_2010", "english"),
        ("us_outlets_a", "english"),
        ("guardian_capi", "english"),
        ("horne2017", "english"),
        ("masakhanews", "english"),
        ("gnad_de", "de"),
        ("fakenews_es", "es"),
        ("fakenews_es", "neutral"),
    ],
)
def test_split_is_what_nltk_says_of_real_news(shared_data: Path, name: str, model: str) -> None:
    file = shared_data / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"needs {file}")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        articles = [line for line, _ in zip(lines, range(3000), strict=False)]
    compared = 0
    for line in random.Random(1).sample(articles, min(75, len(articles))):
        for block in blocks(json.loads(line)["text"]):
            if any(len(word) > MAX_CONTEXT_CHARACTERS for word in block.split()):
                continue
            compared += 1
            assert splitter(model).split(block) == nltk(model, True).tokenize(block)
    assert compared >= 60


def test_a_run_of_characters_that_is_no_word_ends_the_sentence_whatever_nltk_says() -> None:
    # The documented difference: NLTK takes the run for a number and continues the sentence.
    endless = "1" * (MAX_CONTEXT_CHARACTERS + 1) + "."
    text = f"It was {endless} percent"
    assert splitter("english").split(text) == [f"It was {endless}", "percent"]
    assert nltk("english", True).tokenize(text) == [text]
    at_limit = "1" * MAX_CONTEXT_CHARACTERS + "."
    text = f"It was {at_limit} percent"
    assert splitter("english").split(text) == nltk("english", True).tokenize(text) == [text]


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("model", MODELS)
@given(block=BLOCKS)
def test_sentences_lose_nothing_but_the_spaces_between_them(model: str, block: str) -> None:
    found = splitter(model).sentences(block)
    assert "".join(found).replace(" ", "") == "".join(blocks(block)).replace(" ", "")
    assert all(sentence and sentence == sentence.strip() for sentence in found)


# "|" marks the end of a sentence. The cases record what the shipped English model does, right or wrong.
RIGHT = [
    "Mr. Smith met Dr. Jones.|They talked.",
    "Gen. Lee and Sen. Kerry spoke.|Gov. Dean did not.",
    "Lt. Col. Ray North testified.|He was calm.",
    "J. K. Rowling wrote it.|George W. Bush won.",
    "WASHINGTON, Jan. 5 (Reuters) - The Senate voted.|It was close.",
    "NEW YORK (AP) -- Stocks rose.|Bonds fell.",
    '"I am tired," he said.|"We go home."|They went.',
    'He said: "Stop!"|Then he left.',
    "\u201cIt is over.\u201d|He left.",
    "(It rained.)|The match went on.",
    "Profit rose 3.5 percent to $1.25 a share.|Sales fell 0.4 percent.",
    "It happened in 1999.|Nobody knew.",
    "The meeting was on Oct. 3.|It lasted.",
    "He lives in the U.S. and works there.",
    "The U.S. Senate voted.|The U.S. said it would act.",
    "He lives in the U.S.|The house is big.",
    "He left the U.S.|In May he came back.",
    "Acme Inc. said profit rose.|Acme Corp. did not.",
    "Shares of Acme Inc.|They rose.",
    "It opens at 9 a.m. on Monday.|It is late.",
    "Apples, pears, etc. were sold.|Then etc.|They left.",
    "Wait ... he said.|Then... nothing.",
    "What?!|No way.|Really??|Yes.",
    "St. Louis won.|The game was on St. Patrick's Day.",
    "Read it at www.example.com.|It is free.",
    "He spoke on Nov. 11 in Ghent.|It rained on Tues. Sept. 5.",
    "The U.S. President met the U.K. Prime Minister.|They talked.",
    "The U.N. General Assembly met.|So did the U.N. Security Council.",
    "Maj. Gen. Ann Ray, Capt. Bo Lee and Atty. Gen. Lo met Prof. Day.|Cpl. Roy Fox came too.",
    "Mr. Obama met Mrs. Trump.|Sen. Amy Day and Rep. Todd Roe did not.",
    "He lives in Tulsa, Okla., and she in Troy, N.Y.|The trip to Ft. Worth, Tex., is long.",
    "Day Bros. Pictures and Roe Co. Ltd. agreed.|Shares of Roe Ltd.|The deal closed.",
    "See No. 5 for more.|She said no.|Then she left.",
]
WRONG = [
    ("It closes at 5 p.m. Monday is busy.", "a day after p.m. mostly goes on: 'at 5 p.m. Monday'"),
    ("He left the U.S. Yesterday he came back.", "'Yesterday' is not among the model's sentence starters"),
    ('"Is it over?"|she asked.', "a question mark within a quotation ends the sentence"),
    ("The Yahoo!|deal failed.", "an exclamation mark in a name ends the sentence"),
    ("It went to Boston, Mass.|Governor Day signed.", "'mass' is a word too, and most sentences end at it"),
]


@pytest.mark.parametrize("marked", RIGHT)
def test_hard_cases(marked: str) -> None:
    assert splitter("english").sentences(marked.replace("|", " ")) == marked.split("|")


@pytest.mark.parametrize(("marked", "why"), WRONG)
def test_hard_cases_the_shipped_model_gets_wrong(marked: str, why: str) -> None:
    assert splitter("english").sentences(marked.replace("|", " ")) == marked.split("|"), why


def test_without_parameters_every_abbreviation_ends_a_sentence() -> None:
    assert splitter("neutral").sentences("Mr. Smith met J. Jones.") == ["Mr.", "Smith met J. Jones."]


@pytest.mark.parametrize(
    "marked",
    [
        "वह घर गया।|वह सो गया॥|फिर आया।",
        "他来了。|他走了！|真的吗？|是的。",
        "他说：「走吧。」|他走了。",
        "她说：“他说：‘走吧。’”|他走了。",
        "彼は『「行こう。」|と言え。』|と書いた！？》）】〉〕］｝｣|彼は去った。",
        "그는 「간다. 」|그는 갔다.",
        "كيف حالك؟|أنا بخير.|شكرا.",
        "وہ گھر گیا۔|وہ سو گیا۔|کیا؟|ہاں۔",
        "ሰላም ለዓለም።|እንዴት ነህ፧|ደህና።",
        "Привет, мир.|Это т. е. тест.|Конец!",
        "¿Qué pasó?|Nada.|Él no vino.",
        "မင်္ဂလာပါ။|နေကောင်းလား။",
        "សួស្តី។|លាហើយ។",
        "Բարև։|Ցտեսություն։",
    ],
)
def test_every_script_has_its_sentence_ends(marked: str) -> None:
    joined = marked.replace("|", " ")
    for model in MODELS:
        assert splitter(model).sentences(joined) == [
            sentence for block in blocks(joined) for sentence in splitter(model).sentences(block)
        ]
    expected = [blocks(part)[0] for part in marked.split("|")]
    assert splitter("neutral").sentences(joined) == expected


@pytest.mark.parametrize("repeated", ["。", "।", "؟", "！", "？"])
def test_repeated_marks_and_closing_quotes_stay_with_their_sentence(repeated: str) -> None:
    first = f"abc{repeated * 3}\u201d"
    assert splitter("neutral").sentences(f"{first} def") == [first, "def"]


def test_headings_and_paragraphs_end_sentences_without_any_punctuation() -> None:
    prose = "The storm reached the coast on Monday night and moved on"
    text = f"Storm nears coast\n{prose}\n\nRead more\n\n{prose}"
    assert splitter("english").sentences(text) == ["Storm nears coast", prose, "Read more", prose]
