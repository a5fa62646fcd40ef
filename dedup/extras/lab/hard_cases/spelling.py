"""The same article in another punctuation and spelling, one kind at a time and all at once.

Every copy differs from its original in characters and is the same to a reader. All versions of an article
are one story; the pairs with the original tell the kind.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from dedup.base.article import Article
from dedup.extras.lab.hard_cases.case import DUPLICATE, CasePair, CaseStory, MadeCase, minute
from dedup.extras.lab.hard_cases.prose import Draft, Writer

WORDS = 350  # length of an article, in words

_BRITISH_WORDS = """
    analyze:analyse apologized:apologised authorize:authorise authorized:authorised canceled:cancelled
    catalog:catalogue center:centre centers:centres color:colour colors:colours criticized:criticised
    defense:defence emphasized:emphasised fiber:fibre gray:grey harbor:harbour harbors:harbours
    kilometers:kilometres labor:labour license:licence meters:metres neighbor:neighbour
    neighborhood:neighbourhood neighbors:neighbours organize:organise organized:organised percent:per_cent
    program:programme programs:programmes recognized:recognised reorganized:reorganised theater:theatre
    theaters:theatres
"""
BRITISH = {us: gb.replace("_", " ") for us, gb in (pair.split(":") for pair in _BRITISH_WORDS.split())}
MONTHS = {
    "Jan.": "January", "Feb.": "February", "Aug.": "August", "Sept.": "September", "Oct.": "October",
    "Nov.": "November", "Dec.": "December",
}  # fmt: skip
SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_PLAIN = {"U.S.": "US", "Mr.": "Mr", "Mrs.": "Mrs", "Ms.": "Ms", "Dr.": "Dr", "a.m.": "am", "p.m.": "pm"}
_LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}
_FULL_WIDTH = {ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"}
_BRITISH = re.compile(rf"\b({'|'.join(BRITISH)})\b", re.IGNORECASE)
# A count before a lower-case word; the day of a month and a part of a longer number are none.
_COUNT = re.compile(
    r"(?<![\d.,$:-])(?<!\w\. )(?<!March )(?<!April )(?<!May )(?<!June )(?<!July )\b(1?\d)(?= [a-z])"
)


def british(text: str) -> str:
    return _BRITISH.sub(lambda match: _cased(match[0], BRITISH[match[0].lower()]), text)


def curly(text: str) -> str:
    opened = re.sub(r'(?:^|(?<=\s))"', "“", text)
    return opened.replace('"', "”").replace("'", "’")


def dashes(text: str) -> str:
    return text.replace(" - ", "—")


def ellipsis(text: str) -> str:
    return text.replace(" ... ", "… ")


def abbreviations(text: str) -> str:
    """Abbreviations lose their points, months are written out."""
    for short, long in {**_PLAIN, **MONTHS}.items():
        text = re.sub(rf"\b{re.escape(short)}", long, text)
    return text


def compatible(text: str) -> str:
    """Ligatures and full-width digits, as text taken from a PDF has them."""
    for letters, ligature in _LIGATURES.items():
        text = text.replace(letters, ligature)
    return text.translate(_FULL_WIDTH)


def headings(text: str) -> str:
    """Lines without a full stop, which are headings here, in capitals."""
    return "\n".join(line if line.endswith((".", '"')) else line.upper() for line in text.split("\n"))


def spelled_numbers(text: str) -> str:
    return _COUNT.sub(lambda match: SMALL[int(match[1])], text)


def unaccented(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def everything(text: str) -> str:
    """All kinds at once; ligatures last, since the others do not look into them."""
    for change in (headings, british, abbreviations, spelled_numbers, unaccented, curly, dashes, ellipsis):
        text = change(text)
    return compatible(text)


KINDS: dict[str, Callable[[str], str]] = {
    "british": british, "quotes": curly, "dashes": dashes, "ellipsis": ellipsis,
    "abbreviations": abbreviations, "ligatures": compatible, "headings": headings,
    "numbers": spelled_numbers, "accents": unaccented, "everything": everything,
}  # fmt: skip
"""Kind of change -> what it does to a text."""


def make(seed: int, originals: int = 100) -> MadeCase:
    """`originals` articles that every kind changes, each with one copy per kind."""
    articles: list[Article] = []
    truth: list[CaseStory | CasePair] = []
    tried = 0
    while len(truth) < originals * (len(KINDS) + 1):
        writer = Writer(f"spelling/{seed}/{tried}")
        draft = _with_headings(writer.article(WORDS), writer)
        tried += 1
        copies = {kind: change(draft.text) for kind, change in KINDS.items()}
        if draft.text in copies.values():
            continue
        name = f"spelling-{tried:04}"
        texts = {name: draft.text} | {f"{name}-{kind}": text for kind, text in copies.items()}
        for source_id, text in texts.items():
            time = minute(len(articles))
            articles.append(Article(source_id, text, draft.headline, None, None, time, None, "en"))
        truth.append(CaseStory(name, tuple(texts)))
        truth += [CasePair(name, f"{name}-{kind}", DUPLICATE, kind=kind) for kind in KINDS]
    return MadeCase(articles, truth)


def _with_headings(draft: Draft, writer: Writer) -> Draft:
    body: list[tuple[str, ...]] = []
    for number, paragraph in enumerate(draft.paragraphs):
        if number % 4 == 3:
            body.append((writer.headline(),))
        body.append(paragraph)
    return Draft(draft.headline, tuple(body))


def _cased(model: str, word: str) -> str:
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word
