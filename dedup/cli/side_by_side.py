"""Two texts side by side or one below the other, what differs marked: for `judge review`, and `explain`.

In a terminal versions of a sentence stand side by side, words that differ in a style; elsewhere one below the
other, as `[-earlier-]` and `{+later+}`. It computes nothing: see `settling/explain.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.console import Console
from rich.table import Table
from rich.text import Text

import dedup
from dedup.cli import output
from dedup.cli.output import printable
from dedup.text.alignment import Passage, Segment, align, reflowed

GAP, GAP_BETWEEN_DIFFERENT = " │ ", " ┃ "  # What stands between the columns

ALONE = "bold underline yellow"
"""Style of what the other text does not have; where there are no colours it is still bold and underlined."""


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """A line of the page; `different` if something stands on it that only one text has."""

    text: Text
    different: bool


class SideBySide:
    """Two texts, ready to be set at any width."""

    def __init__(self, a: str, b: str) -> None:
        self._aligned = align(reflowed(a), reflowed(b))

    def side_by_side(self, width: int) -> list[ScreenRow]:
        column = (width - len(GAP)) // 2
        rows: list[ScreenRow] = []
        for row in self._aligned:
            if rows and ((row.a and row.a.opens) or (row.b and row.b.opens)):
                rows.append(ScreenRow(beside(Text(), Text(), column), False))
            left, right = (_wrapped(side, column) for side in (row.a, row.b))
            different = bool((row.a and row.a.different) or (row.b and row.b.different))
            rows += [
                ScreenRow(beside(x or Text(), y or Text(), column, different), different)
                for x, y in zip_longest(left, right)
            ]
        return rows

    def stacked(self, width: int, between: Text) -> list[ScreenRow]:
        """Rows of one column, the second text below the first and a line between them."""
        sides = [row.a for row in self._aligned], [row.b for row in self._aligned]
        first, second = ([*_stack(filter(None, side), width)] for side in sides)
        return [
            *first,
            ScreenRow(Text(), False),
            ScreenRow(between, False),
            ScreenRow(Text(), False),
            *second,
        ]


def marked(segments: Iterable[Segment], around: tuple[str, str] | None = None) -> Text:
    """A passage with what the other text does not have in a style, or between two marks."""
    text = Text()
    for segment in segments:
        shown = printable(segment.text)
        if segment.shared or shown.isspace():
            text.append(shown)
            continue
        words = shown.strip()
        before, _, after = shown.partition(words)
        text.append(before)
        text.append(f"{around[0]}{words}{around[1]}" if around else words, None if around else ALONE)
        text.append(after)
    return text


_WRAPPER = Console(width=1_000)  # What Rich wants to see before it wraps a text


def _wrapped(passage: Passage | None, width: int) -> list[Text]:
    if not passage:
        return []
    text = marked(passage.segments)
    text.rstrip()
    return list(text.wrap(_WRAPPER, width))


def beside(left: Text, right: Text, width: int, different: bool = False) -> Text:
    """Two lines as one row; `width` is that of a column."""
    left, right = left.copy(), right.copy()
    left.truncate(width, pad=True)
    right.truncate(width)
    gap = (GAP_BETWEEN_DIFFERENT, "yellow") if different else (GAP, "dim")
    return Text.assemble(left, gap, right)


def _stack(passages: Iterable[Passage], width: int) -> Iterator[ScreenRow]:
    for number, passage in enumerate(passages):
        if passage.opens and number:
            yield ScreenRow(Text(), False)
        for line in _wrapped(passage, width):
            yield ScreenRow(line, passage.different)


EARLIER, LATER = ("[-", "-]"), ("{+", "+}")
"""What stands around words that only this article has, where there are no styles; as wdiff writes it."""

NARROWEST_COLUMNS = 80  # Columns of a terminal from which two sentences stand side by side


def print_explanation(found: dedup.Explanation) -> None:
    console = output.console()
    console.print(Text(printable(found.decision), style="bold"), soft_wrap=True)
    for sentence in found.letters:
        console.print(Text(printable(f"letters: {sentence}")), soft_wrap=True)
    for reason in found.why_not:
        console.print(Text(printable(f"why not: {reason}")), soft_wrap=True)
    console.print()
    articles = (("earlier", found.earlier), ("later", found.later))
    output.table(
        "",
        ("", "id", "publication", "published", "status", "words", "shingles"),
        ((n, a.id, a.publication, a.time, a.status, a.words, a.shingles) for n, a in articles),
        ("published", "words", "shingles"),
    )
    if found.scores:
        scores = found.scores
        console.print()
        console.print(
            f"sentence Jaccard {scores.sentence_jaccard:.3f} · containment {scores.containment:.3f} ·"
            f" signature Jaccard {scores.signature_jaccard:.3f} ·"
            f"{f' print Jaccard {scores.print_jaccard:.3f} ·' if scores.print_jaccard else ''}"
            f" score {scores.score:.3f}"
        )
    _print_sentences(console, "shared sentences", found.shared, "green")
    _print_differing(console, found.differing, letters=bool(found.letters))
    ignored = dict.fromkeys(
        f"[{why}] {sentence}" for _, article in articles for sentence, why in article.ignored
    )
    _print_sentences(console, "ignored", [*ignored], "dim")


def _print_sentences(console: Console, title: str, sentences: Sequence[str], style: str) -> None:
    if not sentences:
        return
    console.print()
    console.print(Text(f"{title} ({len(sentences):,})", style="bold"))
    for sentence in sentences:  # each on one line where stdout is no terminal, for other programs
        shown = Text(f"  {printable(sentence)}", style=style)
        console.print(shown, soft_wrap=not console.is_terminal)


def _print_differing(
    console: Console, sentences: Sequence[dedup.DifferingSentence], *, letters: bool
) -> None:
    if not sentences:
        return
    earlier = sum(sentence.earlier is not None for sentence in sentences)
    later = sum(sentence.later is not None for sentence in sentences)
    console.print()
    title = f"only in one article ({earlier:,} in the earlier, {later:,} in the later)"
    if letters:
        title = f"passages with letters that differ ({len(sentences):,})"
    console.print(Text(title, style="bold"))
    styles = console.is_terminal and not console.is_dumb_terminal
    if styles and console.width >= NARROWEST_COLUMNS:
        table = Table(box=None, expand=True, header_style="dim", padding=(0, 0, 1, 2))
        for name in ("earlier", "later"):
            table.add_column(name, ratio=1, overflow="fold")
        for sentence in sentences:
            table.add_row(*(marked(side or (), None) for side in (sentence.earlier, sentence.later)))
        console.print(table)
        return
    for number, sentence in enumerate(sentences):
        if number:
            console.print()
        for sign, segments, marks in (("-", sentence.earlier, EARLIER), ("+", sentence.later, LATER)):
            if segments is not None:
                shown = marked(segments, None if styles else marks)
                console.print(Text(f"  {sign} ").append(shown), soft_wrap=not console.is_terminal)
