"""Copies of an article in other punctuation and spelling: one for each kind of change, and one with all.

All versions of an article are one story; the truth names the kind of change of each pair with the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from dedup.extras.lab.hard_cases.case import DUPLICATE, LISTS, CasePair, CaseStory, MadeCase, pairs
from dedup.extras.lab.hard_cases.prose import Draft, Writer

WORDS = 350  # length of an article, in words

BRITISH: dict[str, str] = pairs("british")
SMALL: list[str] = LISTS["small"]  # numbers in words, from zero on
_FULL_WIDTH = {ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"}
_BRITISH = re.compile(rf"\b({'|'.join(BRITISH)})\b", re.IGNORECASE)
# A count before a lower-case word, but not the day of a month or a part of a longer number.
_COUNT = re.compile(
    r"(?<![\d.,$:-])(?<!\w\. )(?<!March )(?<!April )(?<!May )(?<!June )(?<!July )\b(1?\d)(?= [a-z])"
)


def british(text: str) -> str:
    return _BRITISH.sub(lambda match: _cased(match[0], BRITISH[match[0].lower()]), text)


def curly(text: str) -> str:
    opened = re.sub(r'(?:^|(?<=\s))"', "“", text)
    return opened.replace('"', "”").replace("'", "’")


def abbreviations(text: str) -> str:
    """Remove the points of abbreviations, and write out months."""
    for short, long in pairs("abbreviations").items():
        text = re.sub(rf"\b{re.escape(short)}", long, text)
    return text


def compatible(text: str) -> str:
    """Use ligatures and full-width digits, as in text extracted from a PDF."""
    for letters, ligature in LISTS["ligatures"].items():
        text = text.replace(letters, ligature)
    return text.translate(_FULL_WIDTH)


def headings(text: str) -> str:
    """Write headings in capitals; a heading is a line without a full stop."""
    return "\n".join(line if line.endswith((".", '"')) else line.upper() for line in text.split("\n"))


def spelled_numbers(text: str) -> str:
    return _COUNT.sub(lambda match: SMALL[int(match[1])], text)


def unaccented(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def everything(text: str) -> str:
    # Ligatures come last, because the other changes do not find letters within ligatures.
    order = ("headings", "british", "abbreviations", "numbers", "accents", "quotes", "dashes", "ellipsis")
    for kind in order:
        text = KINDS[kind](text)
    return compatible(text)


KINDS: dict[str, Callable[[str], str]] = {
    "british": british, "quotes": curly, "dashes": lambda text: text.replace(" - ", "—"),
    "ellipsis": lambda text: text.replace(" ... ", "… "),
    "abbreviations": abbreviations, "ligatures": compatible, "headings": headings,
    "numbers": spelled_numbers, "accents": unaccented, "everything": everything,
}  # fmt: skip


def make(seed: int, originals: int = 100) -> MadeCase:
    """Make `originals` articles, each with one copy per kind of change. Every change alters the text."""
    found, tried = MadeCase(), 0
    while len(found.truth) < originals * (len(KINDS) + 1):
        writer = Writer(f"spelling/{seed}/{tried}")
        draft = _with_headings(writer.article(WORDS), writer)
        tried += 1
        copies = {kind: change(draft.text) for kind, change in KINDS.items()}
        if draft.text in copies.values():  # a change alters nothing in this text
            continue
        name = f"spelling-{tried:04}"
        texts = {name: draft.text} | {f"{name}-{kind}": text for kind, text in copies.items()}
        for source_id, text in texts.items():
            found.add(source_id, text, draft.headline)
        found.truth.append(CaseStory(name, tuple(texts)))
        found.truth.extend(CasePair(name, f"{name}-{kind}", DUPLICATE, kind=kind) for kind in KINDS)
    return found


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
