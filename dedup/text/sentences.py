"""Split blocks into sentences as NLTK's `PunktSentenceTokenizer` does, without NLTK.

The rules are from Kiss and Strunk, "Unsupervised multilingual sentence boundary detection", Computational
Linguistics 32, 2006, section 4; a test compares the results with NLTK. Punkt has no rules for the sentence
marks of other scripts (danda, ideographic, Arabic, Ethiopic), which always end a sentence here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise

from dedup.text.clean import glued_blocks, unglued
from dedup.text.normalize import CLOSERS, SENTENCE_END, SENTENCE_ENDS
from dedup.text.punkt import PunktModel

NON_WORDS = ")\";}]*:@'({[\u2018\u2019\u201c\u201d\u00ab\u00bb?!"
"""Characters that end a word; such a character may stand directly after the end of a sentence."""

_NON_WORD = f"[{re.escape(NON_WORDS)}]"
_SEVERAL = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
# A copy of NLTK's word pattern, since fingerprints must not change with the version of NLTK.
TOKEN = re.compile(
    rf"({_SEVERAL}|(?=[^(\"`{{\[:;&#*@)}}\]\-,])\S+?"
    rf"(?=\s|$|{_NON_WORD}|{_SEVERAL}|,(?=$|\s|{_NON_WORD}|{_SEVERAL}))|\S)"
)

_ELLIPSIS = re.compile(r"\.\.+$")
_NUMBER = re.compile(r"^-?[\.,]?\d[\d,\.-]*\.?$")
_INITIAL = re.compile(r"[^\W\d]\.$")
_NUMBER_KIND = "##number##"
_ENDS = frozenset(".?!")
_PUNCTUATION = frozenset(";:,.!?")

# NLTK's bits for the cases and positions in which the training corpus had a word.
_UPPER_WITHIN = 1 << 2
_UPPER = (1 << 1) + _UPPER_WITHIN + (1 << 3)
_LOWER_FIRST = 1 << 4
_LOWER = _LOWER_FIRST + (1 << 5) + (1 << 6)


class BoundaryRules:
    """The rules of Punkt with the parameters of one language."""

    def __init__(self, model: PunktModel) -> None:
        self._model = model
        self.uncertain = model.abbrev_types | {first for first, _ in model.collocations}
        """Lower-case words after which a period does not always end a sentence, such as abbreviations."""

    def ends(self, context: str) -> bool:
        """Return whether a sentence ends within `context`: a word, the mark after it, and the next word."""
        return any(self._ends_between(one, other) for one, other in pairwise(TOKEN.findall(context)))

    def _ends_between(self, token: str, following: str) -> bool:
        abbreviated, ends = self._at_first(token)
        if token[-1] != ".":
            return ends
        # As in NLTK, words are looked up in lower case, and all numbers count as the same word.
        kind, next_kind = (_NUMBER.sub(_NUMBER_KIND, word.lower()) for word in (token, following))
        kind = kind.removesuffix(".") or kind
        if self._at_first(following)[1]:
            next_kind = next_kind.removesuffix(".") or next_kind
        if (kind, next_kind) in self._model.collocations:
            return False
        initial = _INITIAL.match(token) is not None
        if (abbreviated or _ELLIPSIS.match(token)) and not initial:
            if self._starts(following, next_kind):
                return True
            if following[0].isupper() and next_kind in self._model.sent_starters:
                return True
        if initial or kind == _NUMBER_KIND:
            starts = self._starts(following, next_kind)
            if starts is False:
                return False
            if starts is None and initial and following[0].isupper():
                return ends and bool(self._model.ortho_context.get(next_kind, 0) & _LOWER)
        return ends

    def _at_first(self, token: str) -> tuple[bool, bool]:
        """Return whether a token is an abbreviation, and whether it seems to end a sentence."""
        if token in _ENDS:
            return False, True
        if token[-1] != "." or token.endswith(".."):
            return False, False
        word = token[:-1].lower()
        abbreviations = self._model.abbrev_types
        found = word in abbreviations or word.split("-")[-1] in abbreviations
        return found, not found

    def _starts(self, token: str, kind: str) -> bool | None:
        """Return whether a token starts a sentence, by its case here and in training; None if unclear."""
        if token in _PUNCTUATION:
            return False
        context = self._model.ortho_context.get(kind, 0)
        if token[0].isupper():
            return True if context & _LOWER and not context & _UPPER_WITHIN else None
        if token[0].islower() and (context & _UPPER or not context & _LOWER_FIRST):
            return False
        return None


CONTEXTS_KEPT = 1 << 14  # Maximum number of cached decisions per splitter

# A full stop after a longer word always ends the sentence: such a word is no abbreviation. This saves work.
MAX_CONTEXT_CHARACTERS = 200

# Punkt decides only about `.`, `?` and `!`, so a text is first cut after full stops of other scripts, and
# after closing quotes that follow these. The last alternative takes the rest of the text.
_OTHER_SENTENCE = re.compile(
    rf"[^{SENTENCE_ENDS}]*[{SENTENCE_ENDS}]+[{re.escape(CLOSERS)}]*|[^{SENTENCE_ENDS}]+"
)
_CONTEXT = re.compile(rf"[.?!](?=(?P<after>[{re.escape(NON_WORDS)}]|\s+(?P<next>\S+)))")
# Closing marks. As in NLTK, three opening quotes are among them, since some languages close with these.
_QUOTES = CLOSERS + "\u2018\u201c\u00ab"
_CLOSING = re.compile(rf"[{re.escape(_QUOTES)}]+?(?:\s+|(?=--)|$)")
_AFTER, _QUOTE = frozenset(NON_WORDS), frozenset(_QUOTES)


class SentenceSplitter:
    """Splitter of texts into sentences, with the Punkt parameters of one language."""

    def __init__(self, model: PunktModel) -> None:
        self._decisions = BoundaryRules(model)
        self._uncertain = self._decisions.uncertain
        self._is_end = lru_cache(CONTEXTS_KEPT)(self._decisions.ends)

    def sentences(self, text: str) -> list[str]:
        """Return the sentences of a raw text in order, each as one non-empty line."""
        blocks, kinds = glued_blocks(text)
        found: list[str] = []
        for block in blocks:
            if not kinds:
                found += self._plainly_split(block, glued=True) or self.split(unglued(block))
            elif kinds & SENTENCE_END:
                for part in _OTHER_SENTENCE.findall(unglued(block)):
                    if part := part.strip():
                        found += self.split(part)
            else:
                found += self.split(unglued(block))
        return found

    def split(self, block: str) -> list[str]:
        """Split a block into sentences as NLTK does. The block has single spaces and no line breaks."""
        return self._plainly_split(block, glued=False) or self._split(block)

    def _plainly_split(self, block: str, glued: bool) -> list[str]:
        """Split a block in which no word has two possible sentence ends; return [] for other blocks.

        `glued`: `unglued` has not yet added lost spaces. If a space may be lost, return [].
        """
        # Use fast string operations instead of a regular expression, since most blocks are split here.
        marked = block.replace("?", ".").replace("!", ".") if "?" in block or "!" in block else block
        parts = marked.split(".")
        if glued and "\u2026" in block:
            return []
        found = []
        quoted = False
        start = word_start = word_stop = 0
        mark = -1
        uncertain = self._uncertain
        for before, after in pairwise(parts):
            mark += len(before) + 1
            first = after[:1] or block[mark + 1 : mark + 2]
            if first != " ":
                if first not in _AFTER:
                    if glued and first.isupper() and before[-1:].islower():
                        return []
                    continue
                if " " not in after and mark + len(after) + 1 < len(block):
                    return []  # Two marks in one word: only the last can end a sentence
                if glued and first in _QUOTE and after[1:2].isupper():
                    return []
            space = before.rfind(" ")
            if space >= 0:
                word = before[space + 1 :]
                word_start = mark - len(word)
            else:
                space = block.rfind(" ", word_stop, mark)
                word_start = space + 1 if space > word_stop else word_start
                word = block[word_start:mark]
            word_stop = mark
            if (word.isalpha() and word.lower() not in uncertain and len(word) > 1) or self._ends(
                block, word_start, mark, first
            ):
                found.append((start, mark + 1))
                start = mark + 2 if first == " " else mark + 1
                quoted = quoted or block[start] in _QUOTE
        found.append((start, len(block)))
        if quoted:
            found = list(_realigned(block, found))
        return [block[first:stop] for first, stop in found if first < stop]

    def _ends(self, block: str, word_start: int, mark: int, first: str) -> bool:
        word = block[word_start:mark]
        if word.isalpha() and len(word) > 1 and block[mark] != ".":
            return True
        if mark - word_start > MAX_CONTEXT_CHARACTERS:
            return True
        stop = mark + 2
        if first == " ":
            limit = mark + 1 + MAX_CONTEXT_CHARACTERS
            stop = block.find(" ", stop, limit)
            stop = limit if stop < 0 else stop
        return self._is_end(block[word_start:stop])

    def _split(self, block: str) -> list[str]:
        """Split any block, with NLTK's pattern for places where a sentence can end."""
        spans = []
        start = word_start = word_stop = 0
        held: re.Match[str] | None = None
        for match in chain(_CONTEXT.finditer(block), [None]):
            next_start = word_start
            if match:
                space = block.rfind(" ", word_stop, match.start())
                next_start = space + 1 if space > word_stop else word_start
            # Of several marks in one word ("Yahoo!'s", "acting!!!") only the last can end a sentence.
            is_last = match is None or word_stop <= next_start
            if held and is_last and self._ends(block, word_start, held.start(), held["after"][0]):
                spans.append((start, held.end()))
                start = max(held.end(), held.start("next"))
            if match:
                held, word_start, word_stop = match, next_start, match.start()
        spans.append((start, len(block)))
        return [sentence for first, last in _realigned(block, spans) if (sentence := block[first:last])]


def _realigned(block: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Move closing quotes and brackets after a period to the sentence before them."""
    moved = 0
    for (start, stop), following in zip(spans, [*spans[1:], None], strict=True):
        start += moved
        moved = 0
        if following and block[following[0]] in _QUOTE and (closing := _CLOSING.match(block, *following)):
            moved = closing.end() - following[0]
            stop = following[0] + len(closing[0].rstrip())
        yield start, stop
