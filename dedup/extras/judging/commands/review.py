"""Command `dedup judge review`: a person reads pairs of articles side by side and labels each pair.

`--export` writes pairs into a file, one per line, and `--import` reads the file with labels filled in:

    {"a": {"id": …, "title": …, "text": …, "text_hash": …}, "b": {…}, "label": null, "note": null}

`text_hash` ties the judgement to the text that was read. An imported line needs only the ids and the label.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Option

from dedup.base.errors import InputError, NotFoundError
from dedup.base.words import counted, first_words
from dedup.cli import output
from dedup.cli.shared import corpus

if TYPE_CHECKING:
    from dedup.extras.judging.judgements import Judgements, ReviewArticle, ReviewPair

WIDEST_COLUMNS = 160  # Maximum width of both texts together, in characters; longer lines are hard to read

KEYS = {"d": "duplicate", "s": "similar", "x": "different", "u": "unsure"}

QUESTION = "d duplicate, s similar, x different, u unsure; Enter later, b back, q quit, ? help: "

HELP = """\
  d      duplicate: the same article, perhaps trimmed, updated or with another headline
  s      similar: the articles share passages, but each has much text that the other lacks
  x      different: separate texts, even if about the same event
  u      unsure: the pair is left out of every figure
  Enter  later: show the pair again at the end
  b      go back to the previous pair, to change its judgement
  r      take back the judgement of this pair
  v      show the scores of the methods; judge before you look
  q      quit; judgements are kept, and the next run continues from there"""


def review(
    judge: Annotated[
        str | None, Option("--as", metavar="NAME", help="Name of the judge; default: your user name.")
    ] = None,
    export: Annotated[
        Path | None, Option(metavar="FILE", help="Write pairs that you have not judged, and end.")
    ] = None,
    import_: Annotated[
        Path | None,
        Option("--import", metavar="FILE", help="Read judgements from an exported file, and end."),
    ] = None,
) -> None:
    """Judge the pairs that `dedup judge pairs` picked: duplicate, similar, different, or unsure.

    Both texts are shown side by side, with highlighted differences. Each judgement is stored at once: you may
    quit at any time, and the next run continues. Several people may judge the same pairs. `dedup browse
    --edit` has a page for this too.

    Without a terminal: run this with `--export FILE`, fill in every `label`, and run it with `--import FILE`.
    """
    who = judge or os.environ.get("USER") or os.environ.get("LOGNAME")
    if not who:
        raise InputError("the judge has no name: give yours with --as NAME")
    if export and import_:
        raise InputError("give only one of --export and --import")
    with corpus() as found:
        if export:
            _write(found.judgements, who, export)
        elif import_:
            _read(found.judgements, who, import_)
        else:
            _interactive(found.judgements, who)


def _interactive(judgements: Judgements, judge: str) -> None:
    _needs_pairs(judgements, judge)
    _Review(judgements, judge).run()
    progress = judgements.progress(judge)
    missing = f"; {progress.missing:,} cannot be shown: an article is not stored" if progress.missing else ""
    output.say(f"{judge} has judged {progress.judged:,} of {progress.picked:,} pairs{missing}")
    output.say("next: dedup judge review" if progress.left else "next: dedup judge tune")


def _needs_pairs(judgements: Judgements, judge: str) -> None:
    if not judgements.progress(judge).picked:
        raise InputError("no pairs are picked: run `dedup judge pairs` first")


class _Review:
    """Dialogue in plain lines of text that asks for the label of one pair after the other."""

    def __init__(self, judgements: Judgements, judge: str) -> None:
        self._judgements, self._judge = judgements, judge
        done, waiting = judgements.judged(judge), judgements.waiting(judge)
        self._pairs = [*done, *waiting]
        self._judged = set(done)
        self._at = min(len(done), len(self._pairs) - 1)

    def run(self) -> None:
        if self._pairs:
            self._show()
        while self._pairs and self._take(_answer()):
            pass

    def _take(self, answer: str) -> bool:
        """Store the label or run the command that the judge typed; return whether the dialogue continues."""
        pair = self._pairs[self._at]
        if answer in KEYS:
            hashes = (self._pair.a.text_hash, self._pair.b.text_hash)
            self._judgements.record(pair, self._judge, KEYS[answer], self._pair.note, hashes)
            self._judged.add(pair)
            return self._go_on()
        match answer:
            case "q":
                return False
            case "":
                return self._go_on()
            case "b" if self._at:
                self._at -= 1
                self._show()
            case "b":
                output.say("this is the first pair")
            case "r" if self._pair.label is None:
                output.say("there is no judgement to take back")
            case "r":
                self._judgements.take_back(pair, self._judge)
                self._judged.discard(pair)
                output.say("taken back")
                self._show()
            # Scores are hidden until the judge asks, because they could influence the judgement.
            case "v":
                scores = self._pair.scores.items()
                shown = (f"{name} {'–' if score is None else f'{score:.2f}'}" for name, score in scores)
                output.say("   ".join(shown) or "no scores were kept with this pair")
            case _:
                output.write_text(HELP)
        return True

    def _go_on(self) -> bool:
        """Show the next pair that is not judged; return False if all pairs are judged."""
        count = len(self._pairs)
        for step in range(1, count + 1):
            if self._pairs[(self._at + step) % count] not in self._judged:
                self._at = (self._at + step) % count
                self._show()
                return True
        return False

    def _show(self) -> None:
        from dedup.cli.side_by_side import NARROWEST_COLUMNS, page

        pair: ReviewPair = self._judgements.read(self._pairs[self._at], self._judge)
        self._pair, console = pair, output.console()
        width = min(console.width, WIDEST_COLUMNS)
        said = f", {self._judge} said {pair.label}" if pair.label else ""
        left = len(self._pairs) - len(self._judged)
        place = f"{self._at + 1} of {len(self._pairs)}, {left} not judged{said}"
        narrow = width < NARROWEST_COLUMNS
        console.print(Text(f"\n{place}", "bold"))
        console.print(
            page(pair.a.text, pair.b.text, [*map(_head, (pair.a, pair.b))], narrow=narrow), width=width
        )


def _answer() -> str:
    try:
        return input(QUESTION).strip().lower()
    except EOFError:
        output.write_text("")
        return "q"


def _head(side: ReviewArticle) -> Text:
    facts = [side.publication, f"{side.time:%Y-%m-%d %H:%M}", side.id]
    title, below = side.title or first_words(side.text), " · ".join(fact for fact in facts if fact)
    return Text.assemble((output.printable(title), "bold"), "\n", (output.printable(below), "dim"))


def _write(judgements: Judgements, judge: str, path: Path) -> None:
    _needs_pairs(judgements, judge)
    pairs = (judgements.read(pair, judge) for pair in judgements.waiting(judge))
    rows = ({"a": _side(pair.a), "b": _side(pair.b), "label": None, "note": None} for pair in pairs)
    try:
        with path.open("x", encoding="utf-8") as file:
            count = output.write_jsonl(rows, file)
    except FileExistsError:
        raise InputError(f"{path} exists: --import it first, or choose another --export") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --export") from None
    output.say(f"wrote {counted(count, 'pair')} to {path}")
    output.say(f"next: fill in every label, then dedup judge review --import {path}")


def _side(side: ReviewArticle) -> dict[str, Any]:
    shown = {name: getattr(side, name) for name in ("id", "title", "publication", "time", "text")}
    return {**shown, "text_hash": side.text_hash.hex()}


def _read(judgements: Judgements, judge: str, path: Path) -> None:
    """Store all judgements of a file, or none after an error; skip lines without a label."""
    from dedup.extras.judging.judgements import key
    from dedup.files.jsonl import BLANK, read_jsonl
    from dedup.files.source import LineSource

    stored = passed = 0
    plan = {name: (name,) for name in ("a", "b", "label", "note")}
    with judgements.recording() as record, closing(LineSource(str(path))) as source:
        for number, _, row in read_jsonl(source, plan, every_line=True):
            if row == BLANK:
                continue
            try:
                if isinstance(row, str):
                    raise InputError(f"the line does not have the form that --export writes: {row}")
                # Lines without a label are allowed, because people may judge the rest of the pairs later.
                if row.get("label") is None:
                    passed += 1
                    continue
                ends = dict(_named(row, name) for name in ("a", "b"))
                if len(ends) < 2:
                    raise InputError("a and b are the same article")
                pair = key(*ends)
                note = row.get("note")
                if note is not None and not isinstance(note, str):
                    raise InputError("a note must be a string")
                note = note.replace("\0", "") if note else None
                record(pair, judge, str(row["label"]), note, (ends[pair[0]], ends[pair[1]]))
                stored += 1
            except (InputError, NotFoundError) as error:
                raise InputError(f"{path}, line {number}: {error}; nothing was stored") from None
    judged = judgements.progress(judge).judged
    output.say(
        f"stored {counted(stored, 'judgement')} of {judge}; {counted(passed, 'line has', 'lines have')}"
        f" no label. {judge} has now judged {judged:,} of the picked pairs; judgements of other pairs,"
        " or of texts edited since, do not count"
    )
    output.say("next: dedup judge tune" if stored else "next: fill in every label and import the file again")


def _named(row: Mapping[str, Any], name: str) -> tuple[str, bytes | None]:
    """Return the id of an article, and the hash of the text that the judge read; None without a hash.

    `row`: a line of the imported file. `name`: "a" or "b".
    """
    side = row.get(name)
    given = side if isinstance(side, dict) else {"id": side}
    source_id, text_hash = given.get("id"), given.get("text_hash")
    if not isinstance(source_id, str):
        raise InputError(f"{name} names no article")
    try:
        return source_id, bytes.fromhex(text_hash) if text_hash else None
    except (TypeError, ValueError):
        raise InputError(f"the text_hash of {name} is damaged") from None
