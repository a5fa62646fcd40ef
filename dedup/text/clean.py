"""A raw text becomes blocks of running text: the first step of a fingerprint.

Hard line wrapping is not content, so a line break inside a paragraph is a space; a blank line ends a
block, and so does a short unpunctuated line such as a heading or "Read more". It does not split
sentences. Read next: `sentences.py`.

How a heading is told from a wrapped line. A wrapper starts a new line only when the next word no longer
fits. A break where the next word *would* have fitted in the widest line of the text was therefore made
by an author: if the line before it is short and ends without punctuation, it is a block of its own.
Wrapped text never contains such a break, whatever the width, which is why re-wrapping cannot change a
fingerprint. Where a text separates headings by single line breaks *and* is wrapped so narrowly that its
headings fill their lines, no reader can tell them apart; blank lines always can.
"""

from __future__ import annotations

import re

from dedup.article import storable

HEADING_MAX_CHARACTERS = 60
"""A longer line is prose, not a heading. News headings are written to fit about 60 characters."""

HEADING_MAX_SHARE = 0.6
"""A heading fills at most this share of the widest line: wrappers that balance lines stay well above."""

HEADING_MIN_WIDTH = 40
"""In a text whose widest line is narrower, line breaks tell nothing: no article is set that narrow."""

_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_HYPHEN_BREAK = re.compile(r"(?<=\w)- (?=\w)")
_DASHES = re.compile(r" ?-{2,} ?")
_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]")
_CLOSERS = "\"')]}\u2019\u201d\u00bb* "
_PUNCTUATION = frozenset(
    ".,;:!?-\u2013\u2014\u2026"  # Latin
    "\u3002\uff0c\uff01\uff1f\u3001\u0964\u0965"  # Chinese and Japanese, Devanagari
    "\u061f\u060c\u06d4\u1362\u1363"  # Arabic and Urdu, Ethiopic
)


def blocks(text: str) -> list[str]:
    """The blocks of a text, each on one line with single spaces, in order; none is empty.

    >>> blocks("Storm nears coast\\n\\nThe storm\\nis  near. It\\r\\nis big.")
    ['Storm nears coast', 'The storm is near. It is big.']
    """
    text = storable(text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    if _LINE_ENDS.search(text):
        text = _LINE_ENDS.sub("\n", text.replace("\r\n", "\n").replace("\u2029", "\n\n"))
    lines = [" ".join(line.split()) for line in text.split("\n")]
    fits: _Fits | None = None
    found: list[str] = []
    block: list[str] = []
    for i, line in enumerate(lines):
        if line:
            block.append(line)
            if i + 1 == len(lines) or not lines[i + 1] or not _may_be_heading(line):
                continue
            fits = fits or _Fits(text, lines)
            if not fits.next_word_after(i):
                continue
        if block:
            found.append(_one_line(block))
            block = []
    if block:
        found.append(_one_line(block))
    return found


class _Fits:
    """Tells whether the first word of the next line would have fitted on a line of the text."""

    def __init__(self, text: str, lines: list[str]) -> None:
        # Runs of spaces may have come before the wrapping or after it: both measures must agree.
        self._measures = [[line.rstrip() for line in text.split("\n")], lines]
        self._widths = [max(map(len, measure)) for measure in self._measures]
        self._lines = lines

    def next_word_after(self, i: int) -> bool:
        if self._widths[1] < HEADING_MIN_WIDTH or len(self._lines[i]) > HEADING_MAX_SHARE * self._widths[1]:
            return False
        word = self._lines[i + 1].partition(" ")[0]
        return all(
            len(measure[i]) + 1 + len(word) <= width
            for measure, width in zip(self._measures, self._widths, strict=True)
        )


def _may_be_heading(line: str) -> bool:
    return len(line) <= HEADING_MAX_CHARACTERS and (line.rstrip(_CLOSERS) or line)[-1] not in _PUNCTUATION


def _one_line(lines: list[str]) -> str:
    line = " ".join(lines)
    # A wrapper may break after a hyphen or beside a dash: both forms must come out the same.
    if "- " in line:
        line = _HYPHEN_BREAK.sub("-", line)
    if "--" in line:
        line = _DASHES.sub(" -- ", line).strip()
    return line
