"""`dedup judge review`: a person reads pairs of articles side by side and says what they are to each other.

Scores and methods' opinions stay hidden until asked for: they would lead the judge. Every judgement is
committed at once.

Without a terminal `--export` writes the pairs as lines of a file, and `--import` reads the labels back:

    {"a": {"id": …, "title": …, "text": …, "text_hash": …}, "b": {…}, "label": null, "note": null}

Fill in `label` ("duplicate", "similar", "different", "unsure") and hand the file back; `text_hash` ties the
judgement to the text that was read. For an import a line may be as short as
{"a": ID, "b": ID, "label": …}.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Option

from dedup.base.errors import InputError, NotFoundError
from dedup.base.words import counted, first_words
from dedup.cli import output
from dedup.cli.shared import corpus

if TYPE_CHECKING:
    from dedup.cli.side_by_side import ScreenRow, SideBySide
    from dedup.extras.judging.commands.terminal import Terminal
    from dedup.extras.judging.judgements import Judgements, Key, ReviewArticle, ReviewPair

NARROWEST_COLUMNS = 80  # Columns from which two texts stand side by side; below, one under the other
CONTEXT = 2  # Rows shown above the difference that a key jumps to

STYLES = {"duplicate": "bold cyan", "similar": "bold yellow", "different": "bold green", "unsure": "bold"}

ALL_JUDGED = "every pair is judged: q ends, b looks back"

HELP = (
    ("d", "duplicate: the same article, perhaps trimmed, updated or with another headline"),
    ("s", "similar: they share passages, but each says much of its own"),
    ("x", "different: two texts, be it on one event"),
    ("u", "unsure: left out of every count"),
    ("", ""),
    ("space, PgDn", "a page on (also f); PgUp a page back"),
    ("j k, arrows", "a line down or up; Home and End"),
    ("n p", "to the next difference, to the one before"),
    ("v", "what the methods say of this pair: better after your own judgement"),
    ("", ""),
    ("b", "back to the pair before, to change or take back a judgement"),
    ("r", "take back the judgement of this pair"),
    ("Enter", "on to the next pair; one that is not judged comes again at the end"),
    ("q", "quit; what you have said is kept, and the next run goes on from there"),
)


def review(
    judge: Annotated[
        str | None, Option("--as", metavar="NAME", help="Who judges; default: your user name.")
    ] = None,
    export: Annotated[
        Path | None, Option(metavar="FILE", help="Write the pairs you have not judged, and end.")
    ] = None,
    import_: Annotated[
        Path | None, Option("--import", metavar="FILE", help="Read judgements from such a file, and end.")
    ] = None,
) -> None:
    """Judge the pairs that `dedup judge pairs` picked: duplicate, similar, different, or unsure.

    Both texts side by side, what differs marked. One key per judgement, which is stored at once: quit at any
    time, the next run goes on. Several people may judge the same pairs.

    Without a terminal: `--export pairs.jsonl`, fill in every `label`, `--import pairs.jsonl`.
    """
    who = judge or os.environ.get("USER") or os.environ.get("LOGNAME")
    if not who:
        raise InputError("who judges? name yourself with --as NAME")
    if export and import_:
        raise InputError("choose one of --export and --import")
    if export or import_:
        with corpus() as found:
            if export:
                _write(found.judgements, who, export)
            elif import_:
                _read(found.judgements, who, import_)
        return
    from dedup.extras.judging.commands.terminal import Terminal

    terminal = Terminal("use `dedup judge review --export FILE` and `--import FILE`")
    with corpus() as found:
        _interactive(terminal, found.judgements, who)


def _interactive(terminal: Terminal, judgements: Judgements, judge: str) -> None:
    progress = judgements.progress(judge)
    done, waiting = judgements.judged(judge), judgements.waiting(judge)
    if not progress.picked:
        raise InputError("no pairs are picked: run `dedup judge pairs` first")
    if done or waiting:
        with terminal:
            _Review(terminal, judgements, judge, done, waiting).run()
    progress = judgements.progress(judge)
    missing = (
        f"; {progress.missing:,} cannot be shown, as an article is not stored" if progress.missing else ""
    )
    output.say(f"{judge} has judged {progress.judged:,} of {progress.picked:,} pairs{missing}")
    output.say("next: dedup judge review" if progress.left else "next: dedup judge tune")


class _Review:
    def __init__(
        self, terminal: Terminal, judgements: Judgements, judge: str, done: list[Key], waiting: list[Key]
    ) -> None:
        self.terminal, self.judgements, self.judge = terminal, judgements, judge
        self.pairs = [*done, *waiting]
        self.judged = set(done)
        self.at = min(len(done), len(self.pairs) - 1)
        self.words = "" if waiting else ALL_JUDGED

    def run(self) -> None:
        self.load()
        while True:
            self.draw()
            key = self.terminal.key()
            self.words = ""
            if key in ("q", "stop"):
                return
            if key in _LABEL_KEYS:
                label, hashes = _LABEL_KEYS[key], (self.pair.a.text_hash, self.pair.b.text_hash)
                self.judgements.record(self.pairs[self.at], self.judge, label, self.pair.note, hashes)
                self.judged.add(self.pairs[self.at])
                self.words = f"said: {label} (b to change it)"
                self.go_on()
            else:
                self.other(key)

    def load(self) -> None:
        from dedup.cli.side_by_side import SideBySide

        self.pair: ReviewPair = self.judgements.read(self.pairs[self.at], self.judge)
        self.page: SideBySide = SideBySide(self.pair.a.text, self.pair.b.text)
        self.rows: list[ScreenRow] = []
        self.laid_out = (0, 0)
        self.top = 0
        self.scores_shown = self.help_shown = False

    def take_back(self) -> None:
        if self.pair.label is None:
            self.words = "there is no judgement to take back"
            return
        self.judgements.take_back(self.pairs[self.at], self.judge)
        self.judged.discard(self.pairs[self.at])
        self.load()
        self.words = "taken back"

    def go_on(self) -> None:
        """To the next pair that is not judged; after the last come the ones that were passed over."""
        count = len(self.pairs)
        for step in range(1, count + 1):
            if self.pairs[(self.at + step) % count] not in self.judged:
                self.at = (self.at + step) % count
                self.load()
                return
        self.load()
        self.words = ALL_JUDGED

    def other(self, key: str) -> None:
        """Keys that give no label."""
        _, lines = self.terminal.size()
        page = max(1, self.height(lines) - 1)
        moves = {"down": 1, "j": 1, "up": -1, "k": -1, "space": page, "f": page, "pagedown": page}
        moves |= {"pageup": -page, "home": -len(self.rows), "end": len(self.rows)}
        if key in moves:
            self.top += moves[key]
        elif key in ("n", "p"):
            self.jump(1 if key == "n" else -1)
        elif key == "v":
            self.scores_shown = not self.scores_shown
        elif key in ("?", "h"):
            self.help_shown = not self.help_shown
        elif key == "enter":
            self.go_on()
        elif key == "r":
            self.take_back()
        elif key == "b":
            if self.at:
                self.at -= 1
                self.load()
            else:
                self.words = "this is the first pair"
        elif key != "resize":
            self.words = "? shows the keys"

    def jump(self, direction: int) -> None:
        """To the next place where the texts differ, in a direction."""
        starts = [
            number
            for number, row in enumerate(self.rows)
            if row.different and not (number and self.rows[number - 1].different)
        ]
        tops = [self.reachable(start - CONTEXT) for start in starts]
        ahead = [top for top in tops if (top - self.top) * direction > 0]
        if ahead:
            self.top = min(ahead) if direction > 0 else max(ahead)
        else:
            self.words = "no difference further on" if direction > 0 else "no difference before this"

    def height(self, lines: int) -> int:
        columns, _ = self.laid_out
        fixed = 1 + (2 if columns >= NARROWEST_COLUMNS else 4) + 1 + 1 + self.scores_shown
        return max(1, lines - fixed)

    def reachable(self, top: int) -> int:
        """The nearest row that can be the top one."""
        _, lines = self.terminal.size()
        return max(0, min(top, len(self.rows) - self.height(lines)))

    def draw(self) -> None:
        columns, lines = size = self.terminal.size()
        width = columns - 1
        if size != self.laid_out:
            if columns >= NARROWEST_COLUMNS:
                self.rows = self.page.side_by_side(width)
            else:
                self.rows = self.page.stacked(width, Text("─" * width, "dim"))
            self.laid_out = size
        self.top = self.reachable(self.top)
        height = self.height(lines)
        body = [row.text for row in self.rows[self.top : self.top + height]]
        if self.help_shown:
            body = [Text.assemble((f"  {key:<12}", "bold"), words) for key, words in HELP][:height]
        body += [Text()] * (height - len(body))
        self.terminal.show([*self.header(width), *body, *self.footer()])

    def header(self, width: int) -> list[Text]:
        from dedup.cli.side_by_side import beside

        left = len(self.pairs) - len(self.judged)
        place = Text.assemble(
            (f" {len(self.judged)} of {len(self.pairs)}", "bold"),
            f", {left} left",
            (f"   {self.judge}", "dim"),
        )
        if self.pair.label:
            place.append(f"   you said {self.pair.label}", STYLES[self.pair.label])
        if self.words:
            place.append(f"   {self.words}", "italic")
        heads = [_head(side) for side in (self.pair.a, self.pair.b)]
        if width + 1 >= NARROWEST_COLUMNS:
            column = (width - 3) // 2
            titles = [beside(x, y, column) for x, y in zip(*heads, strict=True)]
        else:
            titles = [line for head in heads for line in head]
        return [place, *titles, Text("─" * width, "dim")]

    def footer(self) -> list[Text]:
        """The scores, if they are asked for, and the keys."""
        rows = []
        if self.scores_shown:
            said = [
                f"{name} {'–' if score is None else f'{score:.2f}'}"
                for name, score in self.pair.scores.items()
            ]
            rows.append(Text("   ".join(said) or "no scores were kept with this pair", "cyan"))
        keys = Text(" ")
        for key, word in (("d", "uplicate"), ("s", "imilar"), ("x", " different"), ("u", "nsure")):
            keys.append(key, "bold reverse").append(f"{word}   ")
        keys.append("? help   ", "dim")
        last = self.top + self.height(self.terminal.size()[1])
        if last < len(self.rows):
            keys.append(f"▼ {counted(len(self.rows) - last, 'more line')}   ", "bold")
        keys.append("n p difference   v scores   b back   q quit", "dim")
        return [*rows, keys]


_LABEL_KEYS = {"d": "duplicate", "s": "similar", "x": "different", "u": "unsure"}


def _head(side: ReviewArticle) -> list[Text]:
    """Title, or else the first words; publication, date and id: two rows."""
    title = Text(output.printable(side.title or first_words(side.text)), "bold")
    facts = [side.publication, f"{side.time:%Y-%m-%d %H:%M}", side.id]
    return [title, Text(" · ".join(output.printable(fact) for fact in facts if fact), "dim")]


def _write(judgements: Judgements, judge: str, path: Path) -> None:
    """Write the pairs this judge has not judged."""
    if not judgements.progress(judge).picked:
        raise InputError("no pairs are picked: run `dedup judge pairs` first")
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
    """Store the judgements of a file, all or none; lines without a label are passed over."""
    from dedup.extras.judging.judgements import key

    stored = passed = 0
    with judgements.recording() as record:
        for number, row in _lines(path):
            try:
                if row.get("label") is None:
                    passed += 1
                    continue
                (a, a_hash), (b, b_hash) = _named(row, "a"), _named(row, "b")
                if a == b:
                    raise InputError("a and b are the same article")
                ends = {a: a_hash, b: b_hash}
                pair = key(a, b)
                hashes = (ends[pair[0]], ends[pair[1]])
                note = row.get("note")
                if note is not None and not isinstance(note, str):
                    raise InputError("a note is text")
                note = note.replace("\0", "") if note else None
                record(pair, judge, str(row["label"]), note, hashes)
                stored += 1
            except (InputError, NotFoundError) as error:
                raise InputError(f"{path}, line {number}: {error}; nothing was stored") from None
    judged = judgements.progress(judge).judged
    output.say(
        f"stored {counted(stored, 'judgement')} of {judge}; {counted(passed, 'line has', 'lines have')}"
        f" no label. {judge} has now judged {judged:,} of the picked pairs; judgements of other pairs,"
        " or of texts edited since, do not count"
    )
    output.say("next: dedup judge tune" if stored else "next: fill in every label and import it again")


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    raise InputError(f"{path}, line {number}: not as --export writes it; nothing was stored")
                yield number, row
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; nothing was stored") from None


def _named(row: dict[str, Any], name: str) -> tuple[str, bytes | None]:
    """The id of a side, and the hash of the text that was read, if the line has it."""
    side = row.get(name)
    given = side if isinstance(side, dict) else {"id": side}
    source_id, text_hash = given.get("id"), given.get("text_hash")
    if not isinstance(source_id, str):
        raise InputError(f"{name} names no article")
    try:
        return source_id, bytes.fromhex(text_hash) if text_hash else None
    except (TypeError, ValueError):
        raise InputError(f"the text_hash of {name} is damaged") from None
