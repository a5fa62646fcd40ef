"""Judging without a terminal: the pairs as lines of a file, and the labels back from it.

    {"a": {"id": …, "title": …, "text": …, "text_hash": …}, "b": {…}, "label": null, "note": null}

Fill in `label` ("duplicate", "similar", "different", "unsure") and hand the file back; `text_hash` ties the
judgement to the text that was read. For an import a line may be as short as
{"a": ID, "b": ID, "label": …}.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dedup.api.judgements import Judgements, ReviewArticle, key
from dedup.base.errors import InputError, NotFoundError
from dedup.cli import output


def write(judgements: Judgements, judge: str, path: Path) -> None:
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
    output.say(f"wrote {count:,} pairs to {path}")
    output.say(f"next: fill in every label, then dedup judge review --import {path}")


def _side(side: ReviewArticle) -> dict[str, Any]:
    return {
        "id": side.id,
        "title": side.title,
        "publication": side.publication,
        "time": side.time,
        "text": side.text,
        "text_hash": side.text_hash.hex(),
    }


def read(judgements: Judgements, judge: str, path: Path) -> None:
    """Store the judgements of a file, all or none; lines without a label are passed over."""
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
                record(pair, judge, str(row["label"]), _note(row), hashes)
                stored += 1
            except (InputError, NotFoundError) as error:
                raise InputError(f"{path}, line {number}: {error}; nothing was stored") from None
    counted = judgements.progress(judge).judged
    output.say(
        f"stored {stored:,} judgements of {judge}; {passed:,} lines have no label. {judge} has now judged"
        f" {counted:,} of the picked pairs; judgements of other pairs, or of texts edited since, do not count"
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


def _note(row: dict[str, Any]) -> str | None:
    note = row.get("note")
    if note is not None and not isinstance(note, str):
        raise InputError("a note is text")
    return note.replace("\0", "") if note else None
