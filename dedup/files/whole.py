"""A new file that is whole or not there: it is written beside its place under another name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dedup.base.errors import InputError


@contextmanager
def new_file(path: Path, *, private: bool = False, replace: bool = False) -> Iterator[Path]:
    """The name under which to write a file; at the end of the block it is on the disk, in its place.

    An error within leaves nothing behind. `path` must not exist, unless `replace`: that is checked before and
    after. `private` files only this user may read. Raises InputError if it exists, or cannot be written.
    """
    if not replace:
        _refuse_existing(path)
    made = path.parent / f".{path.name}.{secrets.token_hex(6)}"
    try:
        number = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        yield made
        os.fsync(number)
        if replace:
            made.replace(path)
            return
        try:
            os.link(made, path)  # unlike a rename it takes nobody's place
        except FileExistsError:
            raise InputError(f"{path} exists; give another name") from None
        except OSError:  # a file system without links
            _refuse_existing(path)
            made.rename(path)
    finally:
        os.close(number)
        with suppress(FileNotFoundError):
            made.unlink()


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists; give another name")


def ends_a_line(path: Path) -> bool:
    """Whether a file, which is not empty, ends in a line feed: else a program was killed while it wrote."""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
