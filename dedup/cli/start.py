"""Start the command `dedup`. Its help is a stored file: to make the help takes four times as long."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

LISTING = Path(__file__).with_name("help.txt")  # The file that scripts/command_pages.py makes
WIDTH = 80  # Number of columns of `LISTING`

EXTRA_COMMANDS = [
    *("browse", "coverage", "export", "import", "judge", "lab", "loads", "mcp", "origins", "outlets"),
    *("quotes", "report", "serve", "sources", "spark", "watch"),
]
"""Commands and groups in `LISTING` that extras add."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:] in (["-h"], ["--help"]) and _is_listed():
        # If writing fails, `commands.main` below writes the help again, and reports why that fails.
        with suppress(OSError):
            sys.stdout.write(LISTING.read_text("utf-8"))
            sys.stdout.flush()
            return
    # NumPy's OpenBLAS would start a thread per core, which dedup does not use: a third of NumPy's import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from dedup.cli import main as commands  # The import takes 150 ms

    commands.main()


def _is_listed() -> bool:
    """Return whether `LISTING` fits the terminal, and lists exactly the commands of installed plug-ins."""
    from dedup.base import plugins

    points = plugins.declared("commands")
    extras = Path(__file__).parents[1] / "extras"
    return (
        sys.stdout.encoding.lower() == "utf-8"
        and shutil.get_terminal_size().columns >= WIDTH
        and sorted({name.partition(".")[0] for name in points}) == EXTRA_COMMANDS
        and all(plugins.is_own(one) for one in points.values())
        # A user may have deleted the folder of an extra.
        and all((extras / one.module.split(".")[2]).is_dir() for one in points.values())
    )
