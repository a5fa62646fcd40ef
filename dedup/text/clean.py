"""A raw text becomes blocks of running text: the first step of a fingerprint.

Hard line wrapping is not content, so a line break inside a paragraph is a space; a blank line ends a
block, and so does a short unpunctuated line such as a heading or "Read more". A sentence end whose space
was lost in extraction gets it back. It does not split sentences.

How a heading is told from a wrapped line. A wrapper starts a new line only when the next word no longer
fits. A break where the next word *would* have fitted in the widest line of the text was therefore made
by an author: if the line before it is short and ends without punctuation, and the next one does not go
on in lower case, it is a block of its own. Wrapped text never contains such a break, whatever the width,
which is why re-wrapping cannot change a fingerprint. Where a text separates headings by single line
breaks *and* is wrapped so narrowly that its headings fill their lines, no reader can tell them apart;
blank lines always can.
"""

from __future__ import annotations

import re
import unicodedata

from dedup.base.article import storable
from dedup.text.normalize import (
    IDEOGRAPH,
    IDEOGRAPHS,
    INVISIBLE,
    INVISIBLES,
    LINE_END,
    LINE_ENDS,
    MARK,
    SPACE,
    composed,
    kinds,
)

HEADING_MAX_CHARACTERS = 60
"""A longer line is prose, not a heading. News headings are written to fit about 60 characters."""

HEADING_MAX_SHARE = 0.6
"""A heading fills at most this share of the widest line: wrappers that balance lines stay well above."""

HEADING_MIN_WIDTH = 40
"""In a text whose widest line is narrower, line breaks tell nothing: no article is set that narrow."""

WIDEST_GAP = 8
"""A wrapper drops the spaces at which it breaks. A run of this many, a tab stop, is allowed for: a word
that fits only behind a narrower gap may have been wrapped."""

_LINE_END = re.compile(f"[{LINE_ENDS}]")
# What they begin with is one character, so that the search skips to it.
_HYPHEN_BREAK = re.compile(r"- (?<=\w- )(?=\w)")
_DASHES = re.compile(r"--+(?: ?--+)* ?")
_IDEOGRAPH_SPACE = re.compile(
    f"(?<=[{IDEOGRAPHS}]) (?=[{IDEOGRAPHS}0-9A-Za-z])|(?<=[0-9A-Za-z%]) (?=[{IDEOGRAPHS}])"
)
_INVISIBLE = re.compile(f"[{INVISIBLES}]")
_ODD_SPACES = "\t\x1c\x1d\x1e\x1f"
# The mark comes first, so that the search skips to it; then what is before it, then what follows.
_GLUED = re.compile(r"[.?!\u2026](?<=[^\W\d_]{2}.)[\"')\]\u2019\u201d\u00bb]?(?=[^\W\d_]{2})")
_WEB_ADDRESS = re.compile(r"://|@|\bwww\.", re.IGNORECASE)
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
    return [unglued(block) for block in glued_blocks(text)[0]]


def glued_blocks(text: str) -> tuple[list[str], int]:
    """The blocks of a text before lost spaces come back, and the kinds of characters in it (`normalize`)."""
    text = storable(text)
    found = 0
    if not text.isascii():
        found = kinds(text)
        if found & INVISIBLE:
            text = _INVISIBLE.sub("", text)
        # Only marks make a composition slow, and only they make one long run.
        text = composed(text) if found & MARK else unicodedata.normalize("NFC", text)
    elif "\r" in text or "\x0b" in text or "\x0c" in text:
        found = LINE_END
    if found & LINE_END:
        text = _LINE_END.sub("\n", text.replace("\r\n", "\n").replace("\u2029", "\n\n"))
    return _blocks(text, found), found


def _blocks(text: str, found: int) -> list[str]:
    lines = _lines(text, found)
    hyphens, ideographs = "-" in text, bool(found & IDEOGRAPH)
    fits: _Fits | None = None
    made: list[str] = []
    block: list[str] = []
    for i, line in enumerate(lines):
        if line:
            block.append(line)
            if i + 1 == len(lines) or not lines[i + 1] or len(line) > HEADING_MAX_CHARACTERS:
                continue
            if (line.rstrip(_CLOSERS) or line)[-1] in _PUNCTUATION:
                continue
            fits = fits or _Fits(text, lines)
            if not fits.next_word_after(i):
                continue
        if block:
            made.append(_one_line(block, hyphens, ideographs))
            block = []
    if block:
        made.append(_one_line(block, hyphens, ideographs))
    return made


def _lines(text: str, found: int) -> list[str]:
    """The lines of a text with single spaces. To split each into words takes long, and is mostly needless."""
    lines = text.split("\n")
    if found & SPACE or any(space in text for space in _ODD_SPACES):
        return [" ".join(line.split()) for line in lines]
    if "  " in text:
        return [" ".join(line.split()) if "  " in line else line.strip(" ") for line in lines]
    return [line.strip(" ") for line in lines]


class _Fits:
    """Tells whether the first word of the next line would have fitted on a line of the text."""

    def __init__(self, text: str, lines: list[str]) -> None:
        # Runs of spaces may have come before the wrapping or after it: both measures must agree.
        self._measures = [[line.strip(" ") for line in text.split("\n")], lines]
        # A line of one word, such as a web address, may be wider than the wrapper wanted it.
        self._widths = [
            max((len(line) for line in measure if " " in line), default=0) for measure in self._measures
        ]
        self._lines = lines

    def next_word_after(self, i: int) -> bool:
        width = self._widths[1]
        if width < HEADING_MIN_WIDTH or len(self._lines[i]) > HEADING_MAX_SHARE * width:
            return False
        return not self._lines[i + 1][0].islower() and all(
            len(measure[i]) + WIDEST_GAP + len(measure[i + 1].partition(" ")[0]) <= width
            for measure, width in zip(self._measures, self._widths, strict=True)
        )


def _one_line(lines: list[str], hyphens: bool, ideographs: bool) -> str:
    line = " ".join(lines)
    # A wrapper may break after a hyphen or beside a dash: both forms must come out the same.
    if hyphens and "- " in line:
        line = _HYPHEN_BREAK.sub("-", line)
    if hyphens and "--" in line:
        line = " -- ".join(part.removesuffix(" ") for part in _DASHES.split(line)).strip()
    # Chinese and Japanese have no spaces between words, so a wrapper's line break becomes nothing.
    return _IDEOGRAPH_SPACE.sub("", line) if ideographs else line


def unglued(line: str) -> str:
    """Give the space back to sentence ends that lost it: two lower-case letters, a mark, then a capital.

    Web and mail addresses stay as they are. Whether a sentence ends there is Punkt's decision, as it is
    where the space was never lost, so that both prints have the same sentences.

    >>> unglued("He left.The rest stayed. See www.example.com/Home.Page")
    'He left. The rest stayed. See www.example.com/Home.Page'
    """
    found: list[str] = []
    start = word_stop = 0
    is_address = False
    for match in _GLUED.finditer(line):
        mark, stop = match.span()
        if not (line[mark - 2].islower() and line[mark - 1].islower()):
            continue
        if not (line[stop].isupper() and line[stop + 1].islower()):
            continue
        if mark >= word_stop:  # each word is looked at once, however many marks it has
            word_start = line.rfind(" ", word_stop, mark) + 1
            word_stop = line.find(" ", stop)
            word_stop = len(line) if word_stop < 0 else word_stop
            is_address = _WEB_ADDRESS.search(line, word_start, word_stop) is not None
        if not is_address:
            found.append(line[start:stop])
            start = stop
    return " ".join([*found, line[start:]])
