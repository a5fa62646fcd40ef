"""Find configured values: first in options, then in variables, then in the file `dedup.toml`.

The file is `DEDUP_CONFIG`, or in the folder of the user or of the machine. The working directory is never
searched: strangers may write there, and the file decides which database gets all texts.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from dedup.base.errors import InputError
from dedup.base.timeouts import Timeouts, check_seconds

FILE_NAME = "dedup.toml"
MACHINE_FOLDER = Path("/etc/dedup")

CONFIG_VARIABLE = "DEDUP_CONFIG"  # Path of the file; `/dev/null` for no file
URL_VARIABLE = "DEDUP_DATABASE_URL"  # Address of the database; if unset, the embedded server is used
SECRET_VARIABLE = "DEDUP_DATABASE_URL_FILE"  # noqa: S105 - path of a file with the address
SCHEMA_VARIABLE = "DEDUP_SCHEMA"
HOME_VARIABLE = "DEDUP_HOME"  # Folder of the embedded server
EXTRACTOR_VARIABLE = "DEDUP_EXTRACTOR"  # Name of the plug-in that extracts texts from HTML
TIMEOUT_PREFIX = "DEDUP_TIMEOUT_"

MAX_BYTES = 100_000  # Maximum size of `dedup.toml`, and of a file with the database's address

VARIABLES = {
    "database": URL_VARIABLE,
    "database_file": SECRET_VARIABLE,
    "schema": SCHEMA_VARIABLE,
    "home": HOME_VARIABLE,
    "extractor": EXTRACTOR_VARIABLE,
    **{f"timeouts.{item.name}": TIMEOUT_PREFIX + item.name.upper() for item in fields(Timeouts)},
}
"""Variables of the environment, by the equivalent key of the file."""

FEEDS = "feeds"  # Key in `dedup.toml` for the feeds of each outlet
_PATHS = ("database_file", "home")  # Keys with paths, which are relative to the folder of the file
_PASSWORD = re.compile(r"://[^@]*:.*@|(?:password|secret)\s*=", re.I | re.S)

options: dict[str, str] = {}
"""Options of the command line in force, by the variable that each option has set."""

log = logging.getLogger("dedup.config")


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the operator chose. `source`: the option, the variable, or the key and file."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    values: dict[str, Any]


def find(key: str) -> Choice | None:
    """Return the operator's value for a key; None without one. The key is in `VARIABLES`, or is `FEEDS`.

    Raises InputError: the file cannot be used.
    """
    return _in_environment(key) or _in_file(key)


def address() -> Choice | None:
    """Return the address of the database; None for the embedded server.

    Raises InputError: a file cannot be used; or the environment, or `dedup.toml`, gives both an address and a
    file with an address.
    """
    for search in (_in_environment, _in_file):
        plain, secret = search("database"), search("database_file")
        if plain and secret:
            raise InputError(f"{plain.source} and {secret.source} are both set: remove one of them")
        if secret:
            return Choice(_read_address(secret), secret.source)
        if plain:
            return plain
    return None


def timeouts() -> Timeouts:
    """Return the configured timeouts, and defaults for the rest. Raises InputError: no number, or too big."""
    given: dict[str, float] = {}
    for item in fields(Timeouts):
        if choice := find(f"timeouts.{item.name}"):
            try:
                given[item.name] = float(choice.value)
            except (ValueError, OverflowError):
                raise InputError(
                    f"{choice.source} must be a number of seconds, not {choice.value!r}"
                ) from None
            check_seconds(choice.source, given[item.name])
    return Timeouts(**given)


def has_password(url: str) -> bool:
    """Return whether an address, which need not be valid, seems to contain a password."""
    return bool(_PASSWORD.search(url))


def places() -> list[Path]:
    """Return the paths at which the file is searched; the first file that exists is used, and no other."""
    if given := os.environ.get(CONFIG_VARIABLE):
        return [Path(given)]
    # The specification of XDG says that a relative path must be ignored.
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():
        folder = _expanded("~/.config")
    found = [folder / "dedup" / FILE_NAME, MACHINE_FOLDER / FILE_NAME]
    # Without a home folder the first path is relative. Leave it out: it leads into the working directory.
    return [place for place in found if place.is_absolute()]


def path() -> Path | None:
    """Return the path of the file that is used; None without a file."""
    return found.path if (found := _file()) else None


def _in_environment(key: str) -> Choice | None:
    variable = VARIABLES.get(key)
    given = os.environ.get(variable) if variable else None
    return Choice(given, options.get(variable, variable)) if variable and given else None


def _in_file(key: str) -> Choice | None:
    found = _file()
    return Choice(found.values[key], f"{key} in {found.path}") if found and key in found.values else None


def _file() -> _File | None:
    for place in places():
        try:
            now = place.stat()
        except OSError as error:
            if given := os.environ.get(CONFIG_VARIABLE):
                raise InputError(f"{CONFIG_VARIABLE} names {given}: {error.strerror}") from None
            continue
        # The cache has the state of the file as a key, so a long-running process reads a changed file again.
        return _read(place, (now.st_ino, now.st_size, now.st_mtime_ns, now.st_mode))
    return None


@lru_cache(maxsize=1)
def _read(path: Path, _version: tuple[int, ...]) -> _File:
    import tomllib  # Imported late: only a file needs it

    data, mode = _read_bytes(path)
    if mode & stat.S_IWOTH:
        raise InputError(f"every user of this machine may change {path}: run `chmod o-w {path}`")
    try:
        values = _checked(path, tomllib.loads(data.decode()))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    instead = ", or write the address into another file, and name that file as database_file"
    _warn_if_readable(path, mode, values.get("database", ""), instead)
    return _File(path, values)


def _read_bytes(path: Path) -> tuple[bytes, int]:
    """Return the content of a file, and its mode, which is 0 for anything but a file on disk."""
    try:
        with path.open("rb") as file:
            data, mode = file.read(MAX_BYTES + 1), os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise InputError(f"{path} cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path} has more than {MAX_BYTES:,} bytes")
    return data, mode if stat.S_ISREG(mode) else 0


def _warn_if_readable(path: Path, mode: int, url: str, instead: str = "") -> None:
    # Only warn of a file that all may read, because Docker and Kubernetes mount secrets with mode 0444.
    if mode & stat.S_IROTH and has_password(url):
        _warn_readable(path, instead)


@cache
def _warn_readable(path: Path, instead: str) -> None:
    words = "every user of this machine can read the password in %s: run `chmod o-r %s`%s"
    log.warning(words, path, path, instead)


def _read_address(secret: Choice) -> str:
    path = Path(secret.value)
    data, mode = _read_bytes(path)
    try:
        found = data.decode().strip()
    except ValueError:
        found = ""
    _warn_if_readable(path, mode, found)
    # The message does not quote the file, which holds a password.
    if not found or not found.isprintable():
        raise InputError(f"{secret.source} names {secret.value}, which must hold one line: an address")
    return found


def _expanded(path: str) -> Path:
    with suppress(RuntimeError):  # there is no home folder
        return Path(path).expanduser()
    return Path(path)


def _checked(path: Path, table: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a file by their keys, such as `timeouts.lock`; raise InputError if one is bad."""
    nested = table.pop("timeouts", {})
    if not isinstance(nested, dict):
        raise InputError(f"{path}: timeouts must be a table, [timeouts]")
    values = {**table, **{f"timeouts.{name}": value for name, value in nested.items()}}
    for key, value in values.items():
        if key not in VARIABLES and key != FEEDS:
            from difflib import get_close_matches  # Imported late: only this error needs it

            near = get_close_matches(key, [*VARIABLES, FEEDS], 1)
            meant = f"did you mean {near[0]}?" if near else f"the keys are {', '.join([*VARIABLES, FEEDS])}"
            raise InputError(f"{path}: there is no key {key[:40]!r}; {meant}")
        if key == FEEDS:
            values[key] = _feeds(path, value)
        elif key.startswith("timeouts."):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{path}: {key} must be a number of seconds without quotes, such as 30")
        elif not isinstance(value, str) or not value or not value.isprintable():
            raise InputError(f'{path}: {key} must be text on one line, such as "…"')
        elif key in _PATHS:
            values[key] = str(path.parent / _expanded(value))
    return values


def _feeds(path: Path, table: Any) -> list[str]:
    """Return feeds as `dedup watch` takes them: `OUTLET=ADDRESS`."""
    found: list[str] = []
    for name, value in table.items() if isinstance(table, dict) else [("", None)]:
        addresses = [value] if isinstance(value, str) else value
        if not isinstance(addresses, list) or not all(isinstance(one, str) for one in addresses):
            key = f"{FEEDS}.{name[:40]}" if name else FEEDS
            raise InputError(
                f"{path}: {key} must be an address, or a list of addresses, in a table [{FEEDS}] with lines"
                ' such as Courier = "https://courier.example/feed"'
            )
        found += [f"{name}={one}" for one in addresses]
    return found
