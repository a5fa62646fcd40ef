"""Does a sentence end at this mark? Punkt's answer, from a model and the words around it.

The classification of Kiss and Strunk ("Unsupervised multilingual sentence boundary detection", Computational
Linguistics 32, 2006, section 4) as NLTK has it, without an object for each word: the same
answers, and no NLTK in the processes that fingerprint. Tests hold the two equal. It does not look for marks.
"""

from __future__ import annotations

import re
from itertools import pairwise

from dedup.text.punkt import PunktModel

NON_WORDS = ")\";}]*:@'({[\u2018\u2019\u201c\u201d\u00ab\u00bb?!"
"""What may follow a mark at the end of a sentence without a space, and ends a word."""

_NON_WORD = f"[{re.escape(NON_WORDS)}]"
_SEVERAL = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
TOKEN = re.compile(
    rf"({_SEVERAL}|(?=[^(\"`{{\[:;&#*@)}}\]\-,])\S+?"
    rf"(?=\s|$|{_NON_WORD}|{_SEVERAL}|,(?=$|\s|{_NON_WORD}|{_SEVERAL}))|\S)"
)
"""NLTK's word pattern, fixed here: a fingerprint may not change with NLTK's version."""

_ELLIPSIS = re.compile(r"\.\.+$")
_NUMBER = re.compile(r"^-?[\.,]?\d[\d,\.-]*\.?$")
_INITIAL = re.compile(r"[^\W\d]\.$")
_NUMBER_KIND = "##number##"
_ENDS = frozenset(".?!")
_PUNCTUATION = frozenset(";:,.!?")

# NLTK's bits: how a word was seen in the corpus of the model.
_UPPER_WITHIN = 1 << 2
_UPPER = (1 << 1) + _UPPER_WITHIN + (1 << 3)
_LOWER_FIRST = 1 << 4
_LOWER = _LOWER_FIRST + (1 << 5) + (1 << 6)


class Decisions:
    """Decides for texts of one language, by its Punkt parameters."""

    def __init__(self, model: PunktModel) -> None:
        self._abbreviations = model.abbrev_types
        self._collocations = model.collocations
        self._starters = model.sent_starters
        self._contexts = model.ortho_context
        self.uncertain = model.abbrev_types | {first for first, _ in model.collocations}
        """Lower-case words of two letters and more; any other one before a mark ends its sentence."""

    def ends(self, context: str) -> bool:
        """Whether a sentence ends in a context: a word, its mark, and what follows up to the next space."""
        return any(self._ends_between(one, other) for one, other in pairwise(TOKEN.findall(context)))

    def _ends_between(self, token: str, following: str) -> bool:
        abbreviated, ends = self._at_first(token)
        if token[-1] != ".":
            return ends
        kind, next_kind = _without_period(_kind(token)), _kind(following)
        if self._at_first(following)[1]:
            next_kind = _without_period(next_kind)
        if (kind, next_kind) in self._collocations:
            return False
        initial = _INITIAL.match(token) is not None
        if (abbreviated or _ELLIPSIS.match(token)) and not initial:
            if self._starts(following, next_kind):
                return True
            if following[0].isupper() and next_kind in self._starters:
                return True
        if initial or kind == _NUMBER_KIND:
            starts = self._starts(following, next_kind)
            if starts is False:
                return False
            if starts is None and initial and following[0].isupper():
                return ends and bool(self._contexts.get(next_kind, 0) & _LOWER)
        return ends

    def _at_first(self, token: str) -> tuple[bool, bool]:
        """By the token alone: is it an abbreviation, and does it end a sentence?"""
        if token in _ENDS:
            return False, True
        if token[-1] != "." or token.endswith(".."):
            return False, False
        word = token[:-1].lower()
        found = word in self._abbreviations or word.split("-")[-1] in self._abbreviations
        return found, not found

    def _starts(self, token: str, kind: str) -> bool | None:
        """Does a token start a sentence, by how its word was written in the corpus? None: it does not say."""
        if token in _PUNCTUATION:
            return False
        context = self._contexts.get(kind, 0)
        if token[0].isupper():
            return True if context & _LOWER and not context & _UPPER_WITHIN else None
        if token[0].islower() and (context & _UPPER or not context & _LOWER_FIRST):
            return False
        return None


def _kind(token: str) -> str:
    """What tokens are counted under: lower case, and all numbers are one."""
    return _NUMBER.sub(_NUMBER_KIND, token.lower())


def _without_period(kind: str) -> str:
    return kind[:-1] if len(kind) > 1 and kind[-1] == "." else kind
