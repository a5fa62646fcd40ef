"""Write a file that becomes visible only when the file is complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dedup.base.errors import InputError


@contextmanager
def new_file(path: Path, *, private: bool = False, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary path. Move the file to `path` after the block; delete the file after an error.

    `private`: only this user may read. Raises InputError: writing fails, or `path` exists (unless `replace`).
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
            os.link(made, path)  # unlike a rename, a link fails if `path` now exists
        except FileExistsError:
            raise InputError(f"{path} exists; give another name") from None
        except OSError:  # the file system supports no links
            _refuse_existing(path)
            made.rename(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        os.close(number)
        with suppress(FileNotFoundError):
            made.unlink()


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists; give another name")


def ends_a_line(path: Path) -> bool:
    """Return whether a file, which must not be empty, ends in a line feed."""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
