"""How `dedup explain` looks: the verdict, the two articles, the scores, the sentences.

In a terminal versions of a sentence stand side by side, words that differ in a style; elsewhere one below the
other, as `[-earlier-]` and `{+later+}`. It computes nothing: see `settling/explain.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.cli import output
from dedup.cli.columns import marked

if TYPE_CHECKING:
    from dedup import DifferingSentence, Explanation

EARLIER, LATER = ("[-", "-]"), ("{+", "+}")
"""What stands around words that only this article has, where there are no styles; as wdiff writes it."""

NARROWEST_COLUMNS = 80  # Columns of a terminal from which two sentences stand side by side


def print_explanation(found: Explanation) -> None:
    console = output.console()
    console.print(Text(output.printable(found.decision), style="bold"), soft_wrap=True)
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
            f" signature Jaccard {scores.signature_jaccard:.3f} · score {scores.score:.3f}"
        )
    _print_sentences(console, "shared sentences", found.shared, "green")
    _print_differing(console, found.differing)
    ignored = dict.fromkeys(
        f"[{why}] {sentence}" for _, article in articles for sentence, why in article.ignored
    )
    _print_sentences(console, "ignored", [*ignored], "dim")


def _print_sentences(console: Console, title: str, sentences: Sequence[str], style: str) -> None:
    if not sentences:
        return
    console.print()
    console.print(Text(f"{title} ({len(sentences):,})", style="bold"))
    for sentence in sentences:
        _print_line(console, Text(f"  {output.printable(sentence)}", style=style))


def _print_differing(console: Console, sentences: Sequence[DifferingSentence]) -> None:
    if not sentences:
        return
    earlier = sum(sentence.earlier is not None for sentence in sentences)
    later = sum(sentence.later is not None for sentence in sentences)
    console.print()
    title = f"only in one article ({earlier:,} in the earlier, {later:,} in the later)"
    console.print(Text(title, style="bold"))
    if _has_styles(console) and console.width >= NARROWEST_COLUMNS:
        console.print(_side_by_side(sentences))
        return
    for number, sentence in enumerate(sentences):
        if number:
            console.print()
        for sign, segments, marks in (("-", sentence.earlier, EARLIER), ("+", sentence.later, LATER)):
            if segments is not None:
                shown = marked(segments, None if _has_styles(console) else marks)
                _print_line(console, Text(f"  {sign} ").append(shown))


def _side_by_side(sentences: Sequence[DifferingSentence]) -> Table:
    table = Table(box=None, expand=True, header_style="dim", padding=(0, 0, 1, 2))
    for name in ("earlier", "later"):
        table.add_column(name, ratio=1, overflow="fold")
    for sentence in sentences:
        table.add_row(*(marked(side or (), None) for side in (sentence.earlier, sentence.later)))
    return table


def _has_styles(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


def _print_line(console: Console, line: Text) -> None:
    """A sentence, on one line where stdout is no terminal, for other programs."""
    console.print(line, soft_wrap=not console.is_terminal)
