"""Two texts with highlighted differences, for `explain`, `versions` and `judge review`.

A terminal shows the texts side by side, with differing words in a style. Other output shows one text below
the other, with differing words as `[-earlier-]` and `{+later+}`. `settling/explain.py` finds differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

import dedup
from dedup.cli import output
from dedup.cli.output import printable
from dedup.text.alignment import Passage, Segment, align, reflowed

ALONE = "bold underline yellow"
"""Style of words that the other text lacks; visible even without colours."""

EARLIER, LATER = ("[-", "-]"), ("{+", "+}")
"""Signs around words that the other text lacks, if there are no styles; wdiff prints the same signs."""

NARROWEST_COLUMNS = 80  # Minimum width of a terminal for two texts side by side


def page(a: str, b: str, heads: Sequence[Text], *, narrow: bool) -> RenderableType:
    """Return two texts with their heads, side by side or (if `narrow`) one below the other."""
    rows = align(reflowed(a), reflowed(b))
    if narrow:
        lines: list[Text] = []
        for head, side in zip(heads, ([row.a for row in rows], [row.b for row in rows]), strict=True):
            lines.append(head)
            for passage in filter(None, side):
                lines += [Text(), _passage(passage)] if passage.opens else [_passage(passage)]
            lines.append(Text())
        return Group(*lines)
    table = _columns(*heads)
    for row in rows:
        if table.row_count and ((row.a and row.a.opens) or (row.b and row.b.opens)):
            table.add_row()
        table.add_row(_passage(row.a), _passage(row.b))
    return table


def _passage(passage: Passage | None) -> Text:
    text = marked(passage.segments if passage else ())
    text.rstrip()
    return text


def _columns(*heads: Text, below: int = 0) -> Table:
    """Return a table of two equally wide columns. `below`: number of blank lines after each row."""
    table = Table(box=None, expand=True, pad_edge=False, padding=(0, 2, below, 0))
    for head in heads:
        table.add_column(head, ratio=1, overflow="fold")
    return table


def marked(segments: Iterable[Segment], around: tuple[str, str] | None = None) -> Text:
    """Return a passage with its differing words in a style, or between the two signs in `around`."""
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


def print_explanation(found: dedup.Explanation) -> None:
    console = output.console()
    console.print(Text(printable(found.decision), style="bold"), soft_wrap=True)
    for sentence in found.letters:
        console.print(Text(printable(f"letters: {sentence}")), soft_wrap=True)
    for reason in found.why_not:
        console.print(Text(printable(f"why not: {reason}")), soft_wrap=True)
    console.print()
    articles = (("earlier", found.earlier), ("later", found.later))
    statuses = {n: f"{a.status}, correction" if a.correction else a.status for n, a in articles}
    output.table(
        "",
        ("", "id", "publication", "published", "status", "words", "shingles"),
        ((n, a.id, a.publication, a.time, statuses[n], a.words, a.shingles) for n, a in articles),
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
    # Without a terminal each sentence is one line, because programs read it.
    for sentence in sentences:
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
    # In a dumb terminal, which has no styles, differing words get signs, too.
    styles = console.is_terminal and not console.is_dumb_terminal
    if styles and console.width >= NARROWEST_COLUMNS:
        table = _columns(Text("earlier", "dim"), Text("later", "dim"), below=1)
        for sentence in sentences:
            table.add_row(*(marked(side or (), None) for side in (sentence.earlier, sentence.later)))
        console.print(table)
        return
    for number, sentence in enumerate(sentences):
        if number:
            console.print()
        print_sides(console, sentence.earlier, sentence.later, "  ", marks=not styles)


def print_sides(
    console: Console,
    earlier: Sequence[Segment] | None,
    later: Sequence[Segment] | None,
    indent: str,
    *,
    marks: bool,
) -> None:
    """Print two versions of a sentence one below the other. `marks`: put signs around differing words."""
    for sign, segments, around in (("-", earlier, EARLIER), ("+", later, LATER)):
        if segments is not None:
            shown = marked(segments, around if marks else None)
            console.print(Text(f"{indent}{sign} ").append(shown), soft_wrap=not console.is_terminal)
