"""Command `dedup`: help, exit codes, and messages about errors."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from difflib import get_close_matches
from signal import SIGINT
from typing import Annotated, Any

import typer
from typer import Option

import dedup
from dedup.api.arguments import on_command_line
from dedup.base import config, plugins
from dedup.base.errors import DedupError, InputError, MissingRightError, SettingError
from dedup.base.schema import DEFAULT, chosen
from dedup.cli import (
    attach,
    changes,
    completion,
    configuration,
    credits,
    load,
    monitor,
    operate,
    output,
    read,
    server,
    settings,
    signals,
    versions,
    worker,
    write,
)

FAILED, WRONG_USAGE = 1, 2
HELP = ["-h", "--help"]  # Names of the option that shows the help
INTERRUPTED = 128 + SIGINT  # Exit code for a KeyboardInterrupt, the same as Typer's

app = typer.Typer(
    name="dedup",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Typer's own options for completion change the start-up files of the shell; `dedup completion` does not.
    add_completion=False,
    context_settings={"help_option_names": HELP},
    rich_markup_mode="markdown",
    help="""
Near-duplicate detection for news, inside your own Postgres.

`load` stores articles from files, `check` stores them one by one, and `backfill` gives each article a mark:
**unique**, **similar** to another article, or **duplicate** of an earlier article. No article is removed. The
marks depend only on the articles in the corpus, never on the order in which they arrived.

A first run:

    dedup load news.jsonl
    dedup backfill
    dedup marks

Put `--database`, `--schema` and `--debug` before or after the name of any command. For more about a command:
`dedup load --help`.

dedup uses the database of `--database`, else of `DEDUP_DATABASE_URL`, else of the file `dedup.toml` (see
`dedup config`), else an embedded PostgreSQL server that starts by itself.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a check found differences; 130, 143 or 129: stopped by Ctrl-C,
SIGTERM or SIGHUP; finished work is kept, and the same command continues. `status --check` ends with 0 to 3,
as plugins of Nagios do.
""",
)
# The help lists the commands in this order.
for command in (
    *(operate.init, load.load, write.backfill, write.retry, write.check, write.delete),
    worker.worker,
    *(read.marks, read.matches, changes.changes, read.show, read.stories, read.explain, read.verify),
    *(
        versions.versions,
        versions.removable,
        versions.sentences,
        monitor.status,
        monitor.runs,
        monitor.metrics,
    ),
    *(settings.train_sentences, operate.grant, operate.uninstall),
    *(credits.credits, credits.agencies, credits.corrections),
    *(attach.attach, attach.attachments, attach.remap, attach.sync, attach.detach, write.prune),
    *(configuration.config_, completion.completion),
):
    app.command(command.__name__.rstrip("_").replace("_", "-"))(command)
app.add_typer(settings.common_app, name="common", invoke_without_command=True)
app.add_typer(settings.settings_app, name="settings", invoke_without_command=True)
app.add_typer(server.db_app, name="db")
app.add_typer(settings.pin_app, name="pin")


ANYWHERE = ("database", "schema", "debug")  # Options that may also follow the name of a command
CHOSEN = (config.URL_VARIABLE, config.SECRET_VARIABLE, config.SCHEMA_VARIABLE)  # Variables that options set


def _choose_database(url: str | None) -> None:
    if url is None:
        return
    # A script may pass a variable that is not set: the articles would then go to the embedded server.
    if not url.strip():
        raise InputError("--database is empty: give an address, or leave the option out")
    os.environ.pop(config.SECRET_VARIABLE, None)
    _choose(config.URL_VARIABLE, url, "--database")


def _choose_schema(name: str | None) -> None:
    if name is not None:
        _choose(config.SCHEMA_VARIABLE, chosen(name), "--schema")


def _choose(variable: str, value: str, option: str) -> None:
    # The environment is changed, so that child processes of a command open the same corpus.
    os.environ[variable] = value
    config.options[variable] = option


def _show_version(wanted: bool) -> None:
    if wanted:
        output.console().print(f"dedup {dedup.__version__}")
        raise typer.Exit


@app.callback()
def options(
    # No parameter is used here: `run` looks for --debug, and callbacks use the others.
    debug: Annotated[bool, Option("--debug", help="Show a traceback if the command fails.")] = False,
    version: Annotated[
        bool, Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
    database: Annotated[
        str | None,
        Option(
            metavar="URL",
            callback=_choose_database,
            help="Address of the database. Other users see a password in it, in the list of processes:"
            f" put such an address in a file, and the path of the file in `{config.SECRET_VARIABLE}`.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        Option(
            metavar="NAME",
            callback=_choose_schema,
            help=f"Schema of the corpus. Default: the configured schema, else `{DEFAULT}`.",
        ),
    ] = None,
) -> None:
    """Declare the options of the program."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    try:
        signals.listen()
        code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # The interrupt came just before or after `run`, which catches interrupts itself.
        code = _interrupted()
    signals.ignore()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    signals.forget()
    if os.environ.get(completion.VARIABLE):
        return completion.answer(command_line())
    # Variables are restored at the end, since a process may run several commands on different corpora.
    before = {name: os.environ.get(name) for name in CHOSEN}
    running = on_command_line.set(True)
    try:
        code = command_line(arguments[:1])(arguments, standalone_mode=False, prog_name="dedup")
        sys.stdout.flush()
    except typer.TyperException as error:
        words = _usage(error)
        if monitor.is_check(arguments):
            return monitor.fail_check(error, words, json="--json" in arguments)
        if words:
            output.say(f"dedup: {words}")
        return WRONG_USAGE
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except (BrokenPipeError, SystemExit):
        # A reader such as `head` closed the output; Typer then raises SystemExit. Without a new stdout Python
        # would fail again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _failed(error, arguments)
    else:
        if code == INTERRUPTED:
            return _interrupted()
        return code if isinstance(code, int) else 0
    finally:
        on_command_line.reset(running)
        config.options.clear()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _failed(error: Exception, arguments: list[str]) -> int:
    """Print why a command failed; return its exit code."""
    if debug := "--debug" in arguments:
        for line in traceback.format_exc().splitlines():
            output.say(line)
    if isinstance(error, OSError):
        # Replace stdout, because on a full disk the flush at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    words = _message(error, arguments)
    if monitor.is_check(arguments):
        return monitor.fail_check(error, words, json="--json" in arguments)
    # With --debug, the traceback above says more about an unexpected error than its message.
    if not debug or isinstance(error, DedupError | ImportError | OSError | MemoryError):
        output.say(f"dedup: {words}")
    if isinstance(error, InputError | SettingError):
        return WRONG_USAGE
    return signals.exit_code() if isinstance(error, DedupError) and signals.asked_to_stop() else FAILED


def command_line(named: Sequence[str] = ()) -> Any:
    """Return the whole command line as an object to call, with the options of `ANYWHERE` in every command."""
    root = typer.main.get_command(program(named))
    inherited = [copy(option) for option in root.params if option.name in ANYWHERE]
    for option in inherited:
        # Only the help of the program shows these options, to keep the help of each command short.
        option.hidden, option.expose_value = True, False  # type: ignore[attr-defined]
        # Rename the option, since a parameter of a command from a plug-in may have the same name.
        option.name = f"dedup_{option.name}"
    _hand_down(inherited, root)
    return root


def _hand_down(options: Sequence[Any], group: Any) -> None:
    for command in getattr(group, "commands", {}).values():
        taken = {name for parameter in command.params for name in parameter.opts}
        command.params += [option for option in options if taken.isdisjoint(option.opts)]
        _hand_down(options, command)


def _message(error: Exception, arguments: list[str]) -> str:
    if isinstance(error, MissingRightError):
        from dedup.cli import rights

        return rights.advice(arguments) or str(error)
    if isinstance(error, DedupError | ImportError):
        # The message of an ImportError names the missing package of an extra or a plug-in.
        return str(error)
    if isinstance(error, OSError):
        return f"the output cannot be written: {error.strerror or type(error).__name__}"
    if isinstance(error, MemoryError):
        return "out of memory; finished work is kept: free some memory, then run it again"
    # The message of an unexpected error may quote an article, and logs must not.
    return f"unexpected {type(error).__name__}; run it again as `dedup --debug …` to see where"


def program(named: Sequence[str] = ()) -> typer.Typer:
    """Return the program with all commands, including plug-ins, or with only the command in `named`."""
    # A call needs only one command, and making all parameters of all commands takes 40 ms.
    made = copy(app)
    made.registered_commands, made.registered_groups = [*app.registered_commands], [*app.registered_groups]
    if not any(command.name in named for command in app.registered_commands):
        names = list(plugins.declared("commands"))
        wanted = [name for name in names if name.partition(".")[0] in named]
        is_group = any(group.name in named for group in app.registered_groups)
        for name in wanted if wanted or is_group else names:
            _add(made, name)
    commands = [command for command in made.registered_commands if command.name in named]
    groups = [group for group in made.registered_groups if group.name in named]
    if commands or groups:
        made.registered_commands, made.registered_groups = commands, groups
    return made


def _add(made: typer.Typer, name: str) -> None:
    """Add a plug-in's command by name, such as "watch", or "export.stories" in the group "export"."""
    if (added := plugins.loaded("commands", name)) is None:
        return
    parent, _, last = name.rpartition(".")
    place, point = _group(made, parent) if parent else made, plugins.declared("commands")[name]
    try:
        commands = {command.name for command in place.registered_commands}
        if last in commands | {group.name for group in place.registered_groups}:
            raise DedupError(f"there is a command {name}")
        # Build a foreign command alone first: if Typer cannot build it, no command of the program would work.
        if not plugins.is_own(point):
            typer.main.get_command(_put(added, last, typer.Typer()))
        _put(added, last, place)
    except Exception as error:
        plugins.refuse(point, f"{type(error).__name__}: {error}")


def _put(added: Any, name: str, place: typer.Typer) -> typer.Typer:
    if isinstance(added, typer.Typer):
        place.add_typer(added, name=name)
    else:
        place.command(name)(added)
    return place


def _group(made: typer.Typer, name: str) -> typer.Typer:
    """Return the group of commands with this name, ready for more commands; make a missing group."""
    # The group is copied, because all programs that are made from `app` share the groups of `app`.
    for at, info in enumerate(made.registered_groups):
        if info.name == name and info.typer_instance:
            made.registered_groups[at] = copy(info)
            made.registered_groups[at].typer_instance = group = copy(info.typer_instance)
            group.registered_commands = [*group.registered_commands]
            return group
    made.add_typer(group := typer.Typer(no_args_is_help=True), name=name)
    return group


def _interrupted() -> int:
    # The terminal may be closed, and writing to it then fails.
    with suppress(OSError):
        output.say("interrupted: finished work is kept; run the same command again to continue")
    return signals.exit_code(SIGINT)


def _usage(error: typer.TyperException) -> str:
    """Return a message of one line about wrong usage: the mistake, similar names, and the help to read."""
    message = error.format_message()
    # The message is empty if Typer has shown the help, because there were no arguments.
    if not message:
        return ""
    message = message.replace(": Value error, ", ": ")
    if options := getattr(error, "possibilities", None):
        # Compare names without dashes: with the dashes, Typer suggests --raw for the misspelt --fromat.
        bare = {option.lstrip("-"): option for option in sorted(options)}
        near = [bare[name] for name in get_close_matches(getattr(error, "option_name", "").lstrip("-"), bare)]
        message = f"{error.message}." + (f" Did you mean {' or '.join(near)}?" if near else "")
    said, meant, names = message.rpartition(" Did you mean '")
    # Remove the quotes that Typer puts around similar commands.
    if meant and names.endswith("'?"):
        near = names.removesuffix("'?").split("', '")
        message = f"{said} Did you mean {' or '.join(near)}?"
    context = getattr(error, "ctx", None)
    message = re.sub(r"\s+", " ", message).rstrip(".")
    if context is not None:
        message += f"{' See' if message.endswith('?') else '; see'} `{context.command_path} --help`"
    return message


if __name__ == "__main__":
    main()
