"""Find the words with which an article announces that it is a correction, by a list of phrases.

A listed phrase counts only in these places, and only where a sentence, a line or a bracket begins:

- `headline`: at the beginning of the headline, "CORRECTED-UPDATE 2-Bank lends more"
- `beginning`: in the first characters of the text, "(Corrects year in headline)"
- `end`: in the last characters of the text, "Correction: An earlier version of this article said …"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from dedup.text import ends

Place = Literal["headline", "beginning", "end"]
Correction = tuple[str, Place]  # A listed phrase, and the place where an article has the phrase

HEAD = 400  # Characters at the beginning that are searched; names and a dateline can precede the phrase
TAIL = 700  # Characters at the end that are searched; with 1,500, one more phrase in 9,275 articles is found
MIN_PHRASE, MAX_PHRASE = 5, 80  # Characters of a phrase; the table correction_phrase has these limits

_KEY = MIN_PHRASE  # Number of first characters by which phrases are looked up
_BEFORE = ".!?:\u2026\"\u201c\u201d\u2018\u2019'\xab\xbb)]([*\u2022\xb7|\u2013\u2014\n_-"
# Between a phrase with a colon and its note: a colon, a dash, the end of a bracket, or a date and a colon, as
# in "Correction, Dec. 4:". Each repetition has a limit, so that matching takes linear time.
_COLON = (
    r"(?:\s{0,2}[:)\]\u2013\u2014-]"
    r"|[ ,(]{1,2}[^\n:]{0,20}\d[^\n:]{0,12}(?::\d\d[^\n:]{0,9})?\s{0,2}:)"
)


class CorrectionReader:
    """Reader of corrections, for a list of phrases. Letter case does not matter.

    A colon at the end of a phrase also stands for a dash or a closing bracket. In a headline only phrases
    with a colon count.

    >>> reader = CorrectionReader(["Corrects", "Corrected:"])
    >>> reader.read("BRIG (AP) - It rained.", "CORRECTED-Rain in Brig")
    ('Corrected:', 'headline')
    >>> reader.read("(Corrects year.) It rained."), reader.read("The memo corrects the record.")
    (('Corrects', 'beginning'), None)
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases: dict[str, list[str]] = {}
        for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)):  # longest first
            self._phrases.setdefault(_key(phrase.casefold()), []).append(phrase)
        self._patterns = {
            key: re.compile("|".join(f"({_pattern(one)})" for one in listed))
            for key, listed in self._phrases.items()
        }
        # Group keys by first letter: it rules out most words, and saves a quarter of the instructions.
        ends: dict[str, list[str]] = {}
        for key in self._phrases:
            ends.setdefault(key[0], []).append(re.escape(key[1:]).replace("\\ ", r"\s{1,3}"))
        keys = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in ends.items()) or "(?!)"
        self._begins = re.compile(rf"[{re.escape(_BEFORE)}]\s{{0,9}}(?={keys})")

    def read(
        self, text: str, headline: str | None = None, *, beginning: bool = True, end: bool = True
    ) -> Correction | None:
        """Return the phrase that announces a correction, and its place; None if no phrase does.

        `beginning`, `end`: False if `WordFinder` found no word of a phrase there.
        """
        if headline:
            phrase = self._at(headline[: 2 * MAX_PHRASE].casefold().lstrip("([ "), 0)
            if phrase and phrase.endswith(":"):
                return phrase, "headline"
        if beginning and (phrase := self._search(f"\n\n{ends.first(text, HEAD)}")):
            return phrase, "beginning"
        if end and len(text) > HEAD and (phrase := self._search(text[max(HEAD, len(text) - TAIL) :])):
            return phrase, "end"
        return None

    def _search(self, part: str) -> str | None:
        """Return the first listed phrase with which a sentence, a line or a bracket of `part` begins."""
        part = part.casefold()
        for found in self._begins.finditer(part):
            before = found[0]
            if before == "-" and part[found.start() - 1 : found.start()].isalnum():
                continue  # The hyphen of a word such as "self-correction"
            phrase = self._at(part, found.end())
            # A line of a wrapped text may begin with any word, but hardly ever with a word and a colon.
            wrapped = before[0] == "\n" and before.count("\n") < 2
            if phrase and (not wrapped or phrase.endswith(":")):
                return phrase
        return None

    def _at(self, part: str, start: int) -> str | None:
        """Return the longest phrase that begins at a position of `part`, which is in lower case."""
        key = _key(part[start : start + 2 * _KEY])
        found = self._patterns[key].match(part, start) if key in self._patterns else None
        return self._phrases[key][found.lastindex - 1] if found and found.lastindex else None


def _key(text: str) -> str:
    return " ".join(text.split())[:_KEY]


def _pattern(phrase: str) -> str:
    words = r"\s{1,3}".join(map(re.escape, phrase.casefold().removesuffix(":").split()))
    return words + (_COLON if phrase.endswith(":") else r"(?!\w)")
