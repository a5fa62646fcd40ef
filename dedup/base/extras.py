"""Build the command that installs an extra in the running environment; messages quote that command."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from importlib.metadata import Distribution

DISTRIBUTION = "newsdedup"
NOT_IN_SETUP = ("spark",)  # Extras that `scripts/setup dev` does not install


def installing(extra: str) -> str:
    """Return the shell command that installs `extra` in the running environment."""
    from importlib.metadata import PackageNotFoundError, distribution  # The import is slow

    try:
        found = distribution(DISTRIBUTION)
    except PackageNotFoundError:  # dedup is not installed: it runs from a source folder
        return f"{_pip()} {_with_extra(str(Path(__file__).parents[2]), extra)}"
    # PEP 610: pip and uv record the checkout, wheel or address that a distribution came from. A distribution
    # from a package index has no such file.
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    parts = urlsplit(url)
    path = Path(unquote(parts.path)) if parts.scheme == "file" else None
    if not url:
        return f"{_pip()} {_with_extra(DISTRIBUTION, extra)}"
    if path is not None and not path.exists():  # The installed wheel is gone, as in a container image
        return f"{_pip()} {shlex.join(packages_of(found, extra))}"
    if path is not None and "dir_info" in origin:
        if (Path(sys.prefix) / "set-up-for-run").exists() and extra not in NOT_IN_SETUP:
            return shlex.join(["scripts/setup" if path == Path.cwd() else f"{path}/scripts/setup", "dev"])
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"{_pip()} {editable}{_with_extra('.' if path == Path.cwd() else str(path), extra)}"
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if within := origin.get("subdirectory"):
        url += f"#subdirectory={within}"
    return f"{_pip()} {shlex.quote(f'{DISTRIBUTION}[{extra}] @ {url}')}"


@contextmanager
def of_extra(public: str, extra: str) -> Iterator[None]:
    """Turn a failed import of a public module into an ImportError that says how to install its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(f"{public} needs {error.name}: run `{installing(extra)}`") from None


def packages_of(found: Distribution, extra: str) -> list[str]:
    lines = [line.partition(";") for line in found.requires or ()]
    return [name.strip() for name, _, marker in lines if re.search(rf"\bextra == ['\"]{extra}['\"]", marker)]


def _with_extra(what: str, extra: str) -> str:
    return shlex.quote(f"{what}[{extra}]")


def _pip() -> str:
    # Any other `pip` on the PATH would install the extra into an environment that this program does not use.
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {shlex.quote(sys.executable)}"
    found = shutil.which("pip")
    if found and Path(found).parent == Path(sys.executable).parent:
        return "pip install"
    return f"{shlex.quote(sys.executable)} -m pip install"
