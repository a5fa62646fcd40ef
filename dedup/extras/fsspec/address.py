"""Open files at addresses with fsspec, and read them in parts: no file is in memory or copied as a whole.

A file of a web server is read from start to end, like a pipe: fsspec would read any amount that a server
sends in answer to a request for a part. Stores, such as S3, give parts in any order, as Parquet needs.

fsspec finds logins in its own configuration and in that of the cloud. An error names only the kind of the
failure, because messages of servers may hold secrets or texts of articles.
"""

from __future__ import annotations

import io
from typing import Any

import aiohttp
from fsspec.core import url_to_fs

from dedup.base.errors import InputError

WEB = ("https", "http")
PACKAGES = {
    **{"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "sftp": "paramiko"},
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
}
"""Schemes of stores, each with the package that fsspec needs for it."""

SCHEMES = (*WEB, *PACKAGES)
"""Schemes that are read. Other schemes of fsspec cache, unpack or read local files, as dedup does itself."""

BLOCK_BYTES = 4_194_304  # Bytes per request, and held in memory
CONNECT_SECONDS, READ_SECONDS = 30, 60  # Maximum waits for a connection and for the next bytes

_CHAIN = "::"  # fsspec would read `zip://a::https://b` as a file system within another


def open_address(url: str, shown: str) -> tuple[RemoteFile, int | None]:
    """Return the file and its size in bytes. The size is None if the file must be read from start to end.

    `shown`: the address without secrets, for messages. Raises InputError: the file cannot be opened.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in SCHEMES or _CHAIN in url:
        known = ", ".join(SCHEMES)
        raise InputError(f"{shown}: addresses begin with one of {known}; or save the file and name it")
    try:
        system, path = url_to_fs(url, **_options(scheme))
        raw = system.open(path, "rb", block_size=0 if scheme in WEB else BLOCK_BYTES)
    except ImportError:
        package = PACKAGES.get(scheme, "fsspec")
        raise InputError(f"{shown}: {scheme}:// needs the package {package}; install it with pip") from None
    except Exception as error:  # a file system may raise anything
        raise InputError(f"{shown}: {_describe(error, scheme)}") from None
    size = None if scheme in WEB else getattr(raw, "size", None)
    return RemoteFile(raw), size if isinstance(size, int) else None


def _describe(error: Exception, scheme: str) -> str:
    """Return the kind of a failure and what to do, without the words of the server."""
    # For any failure of a web server fsspec raises FileNotFoundError; its `__cause__` is the failure itself.
    cause = error.__cause__ or error
    status = getattr(cause, "status", None)
    if status in (404, 410) or isinstance(cause, FileNotFoundError):
        return "no such file; check the address"
    if status in (401, 403) or isinstance(cause, PermissionError):
        return f"no permission to read it; check the address, and your login for {scheme}://"
    return f"cannot be opened ({type(cause).__name__}); check the address and the network"


def _options(scheme: str) -> dict[str, Any]:
    if scheme not in WEB:
        return {}
    # By default aiohttp limits the time for a whole file (`total`), and unpacks answers. dedup unpacks files
    # itself, in small steps, to stop decompression bombs.
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
    client = {"timeout": timeout, "auto_decompress": False, "headers": {"Accept-Encoding": "identity"}}
    return {"client_kwargs": client, "skip_instance_cache": True}


class RemoteFile(io.RawIOBase):
    """File at an address. All failures of its file system become an OSError that names their kind."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._raw.seekable())

    def readinto(self, buffer: Any) -> int:
        found = self._call(self._raw.read, len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def seek(self, place: int, whence: int = 0) -> int:
        return int(self._call(self._raw.seek, place, whence))

    def tell(self) -> int:
        return int(self._call(self._raw.tell))

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._call(self._raw.close)

    @staticmethod
    def _call(work: Any, *arguments: int) -> Any:
        try:
            return work(*arguments)
        except Exception as error:  # a file system may raise anything
            raise OSError(0, f"the server failed ({type(error).__name__})") from None
