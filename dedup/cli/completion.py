"""Command `completion`: print Typer's script, with which a shell completes commands, options and values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typer import Argument

VARIABLE = "_DEDUP_COMPLETE"  # Variable that the shell's script sets, for example to `complete_bash`


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script for your shell that completes commands, options and file names when you press Tab.

    Completion needs no database. zsh needs `compinit` before the script.

    **Examples**

        source <(dedup completion bash)    # add this line to ~/.bashrc, or with zsh to ~/.zshrc

        dedup completion fish > ~/.config/fish/completions/dedup.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # not in its `__all__`

    print(get_completion_script(prog_name="dedup", complete_var=VARIABLE, shell=shell))


def answer(program: Any) -> int:
    """Print completions on stdout; return the exit code that the shell's script expects."""
    from typer.completion import get_completion_inspect_parameters

    # This call has a side effect: it registers the shells with Typer.
    get_completion_inspect_parameters()
    try:
        program([], prog_name="dedup", complete_var=VARIABLE, standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0
