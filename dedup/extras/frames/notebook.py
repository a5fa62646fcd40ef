"""Show answers as HTML in a notebook: tables, and for an explanation the differing sentences.

All texts are from strangers: each is escaped, harmful characters are replaced, and long texts are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from html import escape
from itertools import islice
from typing import Any

from dedup.base.answer import Answer, Rows
from dedup.base.printable import printable
from dedup.base.verdict import Verdict
from dedup.settling.explanation import Explanation
from dedup.store.stories import Story
from dedup.text.alignment import Segment

ROWS_SHOWN = 200  # Maximum number of rows of a table, and of sentences
TEXT_SHOWN = 600  # Maximum number of characters of a text


def as_html(answer: object) -> str:
    """Return HTML of an answer, of a list of answers, or of the first rows of `Rows`."""
    match answer:
        case Verdict():
            parts = [_head(str(answer)), _table(answer.matches), _table(answer.copies)]
        case Story():
            title = answer.original.title or answer.original.id
            parts = [_head(f"{title} ({answer.origin.printed_by(answer.outlets)})"), _table(answer.articles)]
        case Explanation():
            parts = _explanation(answer)
        case list():
            parts = [_table(answer) or _head("none")]
        case Rows():
            with closing(iter(answer)) as rows:
                first = [*islice(rows, ROWS_SHOWN + 1)]
            parts = [_table(first[:ROWS_SHOWN]) or _head("none")]
            parts += ["<p>and more</p>"] if len(first) > ROWS_SHOWN else []
        case _:
            parts = [_facts(answer)]
    return f"<div>{''.join(parts)}</div>"


def _explanation(found: Explanation) -> list[str]:
    sides = [(one.earlier, one.later) for one in found.differing]
    rows = [[_side(side) for side in pair] for pair in sides[:ROWS_SHOWN]]
    ignored = dict.fromkeys(
        f"[{why}] {sentence}" for one in (found.earlier, found.later) for sentence, why in one.ignored
    )
    return [
        _head(found.decision),
        _sentences("letters", found.letters),
        _sentences("why not", found.why_not),
        _table((found.earlier, found.later), left_out={"ignored"}),
        _table([found.scores] if found.scores else []),
        _sentences("shared sentences", found.shared),
        _head("sentences that differ") + _rows(("earlier", "later"), rows, len(sides)) if sides else "",
        _sentences("ignored", [*ignored]),
    ]


def _side(segments: Sequence[Segment] | None) -> str:
    """Return a sentence; words that the other sentence lacks are marked."""
    shown, left = "", TEXT_SHOWN
    for segment in segments or ():
        text = _text(segment.text, left)
        shown += text if segment.shared else f"<mark>{text}</mark>"
        left -= len(segment.text)
        if left <= 0:
            break
    return shown


def _head(text: str) -> str:
    return f'<p dir="auto"><b>{_text(text)}</b></p>'


def _sentences(title: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f'<li dir="auto">{_text(one)}</li>' for one in sentences[:ROWS_SHOWN])
    return f"{_head(f'{title} ({len(sentences):,})')}<ul>{items}</ul>"


def _table(answers: Sequence[Any], left_out: Iterable[str] = ()) -> str:
    """Return a table with a row per answer, without columns that are empty."""
    members = [_members(one) for one in answers[:ROWS_SHOWN]]
    names = [*dict.fromkeys(name for row in members for name in row)]
    names = [name for name in names if name not in left_out and any(row.get(name) for row in members)]
    rows = [[_cell(row.get(name)) for name in names] for row in members]
    return _rows(names, rows, len(answers)) if names else ""


def _members(answer: object) -> dict[str, Any]:
    if is_dataclass(answer):
        return {one.name: getattr(answer, one.name) for one in fields(answer)}
    return dict(answer) if isinstance(answer, Mapping) else {"": answer}


def _facts(answer: object) -> str:
    return _rows((), [[_text(name), _cell(value)] for name, value in _members(answer).items()], 0)


def _rows(names: Sequence[str], rows: Sequence[Sequence[str]], count: int) -> str:
    head = "".join(f"<th>{_text(name.replace('_', ' '))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td dir="auto" style="text-align: start">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    more = f"<p>{count - len(rows):,} more</p>" if count > len(rows) else ""
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return _text(value.isoformat(" ", "minutes"))
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Enum):
        return _text(str(value.value))
    if isinstance(value, Answer):
        return _text(str(value)) if "__str__" in vars(type(value)) else _facts(value)
    if isinstance(value, Mapping):
        return _text(", ".join(f"{key}: {one}" for key, one in value.items()))
    if isinstance(value, list | tuple | set | frozenset):
        listed = [*value]
        return _table(listed) if any(map(is_dataclass, listed)) else _text(", ".join(map(str, listed)))
    return _text(str(value))


def _text(text: str, most: int = TEXT_SHOWN) -> str:
    return escape(printable(text[:most])) + ("…" if len(text) > most else "")
