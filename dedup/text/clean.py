"""Clean a raw text into blocks of running text, the first step of a fingerprint.

A line break inside a paragraph becomes a space. A blank line ends a block; so does a short line without
punctuation, such as a heading or "Read more". If extraction lost the space after a sentence, add a space.

A program that wraps lines breaks a line only if the next word does not fit. So if the next word *would* fit,
judged by the widest line, the author made the break. A program makes no such break, whatever the width of the
lines. Therefore wrapping a text again does not change the fingerprint.
"""

from __future__ import annotations

import re
import unicodedata

from dedup.base.article import storable
from dedup.text.normalize import (
    CLOSERS,
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

# Maximum length of a heading: news headings are written to fit about 60 characters.
HEADING_MAX_CHARACTERS = 60
# Maximum heading length as a share of the widest line. Programs that balance lines make longer lines.
HEADING_MAX_SHARE = 0.6
# If the widest line is narrower than this, no program wrapped the text, and no line counts as a heading.
HEADING_MIN_WIDTH = 40
# Maximum number of spaces that a line break may have replaced: a tab stop is 8 wide.
WIDEST_GAP = 8

_LINE_END = re.compile(f"[{LINE_ENDS}]")
# The next two patterns begin with a hyphen, so that the search can skip quickly to the next hyphen.
_HYPHEN_BREAK = re.compile(r"- (?<=\w- )(?=\w)")
_DASHES = re.compile(r"--+(?: ?--+)* ?")
_IDEOGRAPH_SPACE = re.compile(
    f"(?<=[{IDEOGRAPHS}]) (?=[{IDEOGRAPHS}0-9A-Za-z])|(?<=[0-9A-Za-z%]) (?=[{IDEOGRAPHS}])"
)
_INVISIBLE = re.compile(f"[{INVISIBLES}]")
_ODD_SPACES = "\t\x1c\x1d\x1e\x1f"
# The pattern begins with the full stop, to search quickly; a look-behind tests the letters before the stop.
_GLUED = re.compile(r"[.?!\u2026](?<=[^\W\d_]{2}.)[\"')\]\u2019\u201d\u00bb]?(?=[^\W\d_]{2})")
_WEB_ADDRESS = re.compile(r"://|@|\bwww\.", re.IGNORECASE)
_SKIPPED = CLOSERS + "* "
_PUNCTUATION = frozenset(
    ".,;:!?-\u2013\u2014\u2026"  # Latin punctuation
    "\u3002\uff0c\uff01\uff1f\u3001\u0964\u0965"  # Punctuation of Chinese, Japanese and Devanagari
    "\u061f\u060c\u06d4\u1362\u1363"  # Punctuation of Arabic, Urdu and Ethiopic
)


def blocks(text: str) -> list[str]:
    """Return the blocks of a text, each as one non-empty line with single spaces.

    >>> blocks("Storm nears coast\\n\\nThe storm\\nis  near. It\\r\\nis big.")
    ['Storm nears coast', 'The storm is near. It is big.']
    """
    return [unglued(block) for block in glued_blocks(text)[0]]


def glued_blocks(text: str) -> tuple[list[str], int]:
    """Return the blocks of a text before `unglued` adds lost spaces, and the kinds of the characters."""
    text = storable(text)
    found = 0
    if not text.isascii():
        found = kinds(text)
        if found & INVISIBLE:
            text = _INVISIBLE.sub("", text)
        # NFC takes quadratic time on a long run of combining marks, so `composed` cuts such runs first.
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
            if (line.rstrip(_SKIPPED) or line)[-1] in _PUNCTUATION:
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
    lines = text.split("\n")
    # Split only if there are several spaces in a row, or unusual spaces, since splitting into words is slow.
    if found & SPACE or any(space in text for space in _ODD_SPACES):
        return [" ".join(line.split()) for line in lines]
    if "  " in text:
        return [" ".join(line.split()) if "  " in line else line.strip(" ") for line in lines]
    return [line.strip(" ") for line in lines]


class _Fits:
    """Test whether the first word of a line would have fitted at the end of the previous line."""

    def __init__(self, text: str, lines: list[str]) -> None:
        # Spaces around a line may have been added after the text was wrapped: measure with and without them.
        self._measures = [[line.strip(" ") for line in text.split("\n")], lines]
        # Ignore lines of one word, such as a web address, which can be wider than the wrapping width.
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
    # Programs also break lines after a hyphen or beside a dash: join such lines as if there were no break.
    if hyphens and "- " in line:
        line = _HYPHEN_BREAK.sub("-", line)
    if hyphens and "--" in line:
        line = " -- ".join(part.removesuffix(" ") for part in _DASHES.split(line)).strip()
    # Chinese and Japanese have no spaces between words, so a line break between words is removed.
    return _IDEOGRAPH_SPACE.sub("", line) if ideographs else line


def unglued(line: str) -> str:
    """Add a lost space after the end of a sentence, as in "left.The", but not in a web address.

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
        # Test each word only once: otherwise a word with a million full stops would take quadratic time.
        if mark >= word_stop:
            word_start = line.rfind(" ", word_stop, mark) + 1
            word_stop = line.find(" ", stop)
            word_stop = len(line) if word_stop < 0 else word_stop
            is_address = _WEB_ADDRESS.search(line, word_start, word_stop) is not None
        if not is_address:
            found.append(line[start:stop])
            start = stop
    return " ".join([*found, line[start:]])
