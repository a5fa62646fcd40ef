"""`dedup completion`: Typer's script that lets a shell complete commands, options, values and file names.

At Tab it asks the program through environment variables; Typer answers, without a database.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer import Argument

VARIABLE = "_DEDUP_COMPLETE"  # Set by the scripts when a shell asks, to `complete_` and its name


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that completes dedup's commands, options and file names at Tab in your shell.

    At Tab it asks this program, which needs no database for the answer. zsh needs `compinit` before it.

    **Examples**

        source <(dedup completion bash)    # add this line to ~/.bashrc, or with zsh to ~/.zshrc

        dedup completion fish > ~/.config/fish/completions/dedup.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # not in its `__all__`

    print(get_completion_script(prog_name="dedup", complete_var=VARIABLE, shell=shell))


def answer(app: typer.Typer) -> int:
    """Answer the shell on stdout; returns the exit code that its script expects."""
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()  # makes the shells known to Typer
    try:
        app([], prog_name="dedup", complete_var=VARIABLE, standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0
