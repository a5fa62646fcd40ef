"""`dedup completion`: the script that lets a shell complete commands, options, values and file names.

At Tab it asks the program through environment variables; Typer answers, without a database.
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from typer import Argument

VARIABLE = "_DEDUP_COMPLETE"  # Set by the scripts when a shell asks, to `complete_` and its name

_SCRIPTS = {
    "bash": """\
_dedup_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $(env _DEDUP_COMPLETE=complete_bash COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        "$1") )
}
complete -o default -F _dedup_completion dedup
""",
    "zsh": """\
#compdef dedup
_dedup_completion() {
    eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _DEDUP_COMPLETE=complete_zsh dedup)
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _dedup_completion dedup
""",
    "fish": """\
function _dedup_completion
    env _DEDUP_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \\
        _TYPER_COMPLETE_ARGS=(commandline -cp) dedup
end
complete --command dedup --no-files --arguments "(_dedup_completion get-args)" \\
    --condition "_dedup_completion is-args"
""",
}


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that completes dedup's commands, options and file names at Tab in your shell.

    At Tab it asks this program, which needs no database for the answer.

    **Examples**

        source <(dedup completion bash)    # add this line to ~/.bashrc, or with zsh to ~/.zshrc

        dedup completion fish > ~/.config/fish/completions/dedup.fish
    """
    sys.stdout.write(_SCRIPTS[shell])


def answer(app: typer.Typer) -> int:
    """Answer the shell on stdout; returns the exit code that its script expects."""
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()  # makes the shells known to Typer
    try:
        app([], prog_name="dedup", complete_var=VARIABLE, standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0
