"""An example package that extends dedup. Its pyproject.toml names the entry points."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import typer

from dedup.files.record import Plan, Record
from dedup.files.report import Understanding


def letters(word: str) -> None:
    """Count the letters of a word."""
    typer.echo(len(word))


def paragraphs(html: str) -> str:
    """Return the text of the paragraphs of a page."""
    return "\n".join(re.findall(r"<p>(.*?)</p>", html, re.S))


class Telegrams:
    """A file of lines such as `17: Ships late. STOP. Harbour closed.`"""

    suffixes = (".telegram",)

    def __init__(self, path: str, max_record_bytes: int) -> None:
        self.file, self.truncated = path, False
        self._most, self._opened = max_record_bytes, Path(path).open("rb")  # noqa: SIM115 - closed by `close`
        self.bytes_read, self.bytes_total = 0, Path(path).stat().st_size

    def records(self, _plan: Plan, _needed: Collection[str], _understood: Understanding) -> Iterator[Record]:
        """Yield one record per line, or the reason to refuse the line."""
        for number, line in enumerate(self._opened, 1):
            self.bytes_read += len(line)
            name, colon, text = line.decode("utf-8", "replace").partition(":")
            if not colon or len(line) > self._most:
                yield number, line, "a telegram has a number, a colon and at most as many bytes as an article"
            else:
                yield number, line, {"source_id": name.strip(), "text": text.replace(" STOP.", "").strip()}

    def close(self) -> None:
        """Close the file."""
        self._opened.close()
