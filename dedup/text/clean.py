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

from dedup.article import storable
from dedup.text.normalize import composed

HEADING_MAX_CHARACTERS = 60
"""A longer line is prose, not a heading. News headings are written to fit about 60 characters."""

HEADING_MAX_SHARE = 0.6
"""A heading fills at most this share of the widest line: wrappers that balance lines stay well above."""

HEADING_MIN_WIDTH = 40
"""In a text whose widest line is narrower, line breaks tell nothing: no article is set that narrow."""

WIDEST_GAP = 8
"""A wrapper drops the spaces at which it breaks. A run of this many, a tab stop, is allowed for: a word
that fits only behind a narrower gap may have been wrapped."""

_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_HYPHEN_BREAK = re.compile(r"(?<=\w)- (?=\w)")
_DASHES = re.compile(r"(?: ?-{2,})+ ?")
_IDEOGRAPHS = (
    "\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # and kana
    "\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"  # full-width punctuation
)
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")
_IDEOGRAPH_SPACE = re.compile(
    f"(?<=[{_IDEOGRAPHS}]) (?=[{_IDEOGRAPHS}0-9A-Za-z])|(?<=[0-9A-Za-z%]) (?=[{_IDEOGRAPHS}])"
)
_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]")
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
    text = storable(text)
    if not text.isascii():
        text = composed(_INVISIBLE.sub("", text))
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


def _may_be_heading(line: str) -> bool:
    return len(line) <= HEADING_MAX_CHARACTERS and (line.rstrip(_CLOSERS) or line)[-1] not in _PUNCTUATION


def _one_line(lines: list[str]) -> str:
    line = " ".join(lines)
    # A wrapper may break after a hyphen or beside a dash: both forms must come out the same.
    if "- " in line:
        line = _HYPHEN_BREAK.sub("-", line)
    if "--" in line:
        line = _DASHES.sub(" -- ", line).strip()
    # Chinese and Japanese have no spaces between words, so a wrapper's line break becomes nothing.
    if not line.isascii() and _IDEOGRAPH.search(line):
        line = _IDEOGRAPH_SPACE.sub("", line)
    return unglued(line)


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
