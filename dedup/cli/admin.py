"""Commands about the corpus itself: settings, train-sentences, db."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, fields
from typing import Annotated, Any

import typer
from typer import Argument, Option

from dedup.base.errors import SettingError
from dedup.cli import output, shared

CHANGES = {"fingerprint": "fingerprints", "rule": "marks", "window": "what is compared"}
"""What a setting of each kind changes, in words."""

settings_app = typer.Typer()
db_app = typer.Typer(
    no_args_is_help=True,
    help="""
The embedded PostgreSQL server.

It is used without `DEDUP_DATABASE_URL`. It starts by itself, and runs until `dedup db stop`.
""",
)


@settings_app.callback()
def settings(
    context: typer.Context,
    show_secrets: Annotated[
        bool,
        Option("--show-secrets", help="Show the hash key itself, as another machine needs it, not its id."),
    ] = False,
    json: shared.JsonOption = False,
) -> None:
    """List the settings of this corpus and what they mean; set and reset them.

    A changed setting comes into force with the next backfill. Until then `--json` has its new value under
    `waiting`.
    """
    if context.invoked_subcommand:
        return
    from dedup.base.settings import Settings, masked

    with shared.corpus() as dd:
        loaded = dd.settings.in_force(), dd.settings.wanted()
    hidden = {item.name for item in fields(Settings) if item.metadata["secret"] and not show_secrets}
    present, wanted = (
        {name: masked(value) if name in hidden else value for name, value in asdict(found).items()}
        for found in loaded
    )
    if json:
        waiting = {name: wanted[name] for name, value in present.items() if wanted[name] != value}
        output.write_json({**present, "waiting": waiting})
        return
    defaults = asdict(Settings())

    def value(name: str) -> str:
        now, then = present[name], wanted[name]
        star = " *" if now != defaults[name] else ""
        return f"{now}{star}" if now == then else f"{now}{star} → {then}"

    output.table(
        "settings (a * differs from the default, a → comes into force with the next backfill)",
        ("name", "value", "changes", "meaning"),
        (
            (item.name, value(item.name), CHANGES[item.metadata["kind"]], item.metadata["about"])
            for item in fields(Settings)
        ),
        ("value",),
    )


@settings_app.command("set")
def settings_set(
    values: Annotated[
        list[str],
        Argument(metavar="NAME=VALUE", help="A setting and its new value; `dedup settings` lists them."),
    ],
) -> None:
    """Change settings, from the next backfill on; until then everything goes on as before.

    A setting of marks settles everything again without reading texts; one of fingerprints reads every text
    again. Marks stay readable all the while.

    `hash_key=random` makes a key and `hash_key=-` reads one from stdin: what is typed on a command line, all
    users of the machine may see.

    **Example**

        dedup settings set text_min_words=8

    Next: `dedup backfill`.
    """
    parsed: dict[str, Any] = {}
    for number, pair in enumerate(values, 1):
        name, separator, value = pair.partition("=")
        if not separator:  # what it is may be a secret
            raise SettingError(f"argument {number} has no =; write NAME=VALUE, such as bands=16")
        parsed[name] = shared.hash_key(value) if name == "hash_key" and value else value
    _change(parsed)


@settings_app.command("reset")
def settings_reset(
    names: Annotated[list[str], Argument(metavar="NAME", help="A setting; `dedup settings` lists them.")],
) -> None:
    """Go back to the defaults of these settings, from the next backfill on."""
    _change(dict.fromkeys(names))


def _change(values: dict[str, Any]) -> None:
    with shared.corpus() as dd:
        dd.settings.change(values)
        found = dd.preview()
        if "hash_key" in values:
            shared.say_pins_left_behind(dd.settings.pins_left_behind())
    if found.adoption:
        output.say("settings changed, in force from the next backfill on; until then nothing changes")
        output.say(f"next: dedup backfill ({shared.previewed(found)})")
    else:
        output.say("settings changed")


def train_sentences(
    language: Annotated[str, Argument(metavar="LANGUAGE", help="ISO 639 code, such as `de`.")],
    files: Annotated[list[str], Argument(metavar="FILE", help="Articles of that language, as for `load`.")],
    map_: shared.MapOption = None,
    format_: shared.FormatOption = None,
) -> None:
    """Learn where sentences end in a language, from your own articles; stored with the corpus.

    Unsupervised (Punkt): some thousand articles are enough. Articles that name another language are left
    out. Every text of the language is read again by the next backfill.
    """
    from dedup.api.settings import language_code
    from dedup.base.article import Article
    from dedup.files.dates import DateRule
    from dedup.files.readers import read_articles
    from dedup.text.fingerprint import base_language

    code = language_code(language)
    mapping = shared.field_map(map_)

    def texts() -> Iterator[str]:
        for reader in readers:
            bar.start("reading", reader.bytes_total)
            seen = 0
            for item in reader:
                if isinstance(item, Article) and base_language(item.language) in (None, code):
                    yield item.text
                bar.advance(reader.bytes_read - seen)
                seen = reader.bytes_read

    with ExitStack() as stack:
        opened = (
            read_articles(file, fields=mapping, format=format_, dates=DateRule(lose=True)) for file in files
        )
        readers = [stack.enter_context(reader) for reader in opened]  # a typo starts no server
        dd = stack.enter_context(shared.corpus())
        bar = stack.enter_context(output.progress_bar("bytes"))
        trained = dd.settings.train_sentences(code, texts())
    output.say(
        f"{trained.language}: {trained.abbreviations:,} abbreviations from {trained.articles:,} articles;"
        " next: dedup backfill"
    )


@db_app.command("url")
def db_url() -> None:
    """Print the address of the database, for psql and other programs; starts the embedded server.

    Where `DEDUP_DATABASE_URL` is set, its address is not shown, since it may hold a password.

    **Example**

        psql "$(dedup db url)"
    """
    from dedup.api import server

    if other := server.other_database():
        found = server.address()
        if found is None:
            output.say(f"DEDUP_DATABASE_URL is set: {other}; its address holds a password and is not shown")
            raise typer.Exit(1)
        output.console().print(found, soft_wrap=True)
        return
    output.console().print(server.start(), soft_wrap=True)


@db_app.command("start")
def db_start() -> None:
    """Start the embedded server; every command that needs it does so by itself."""
    from dedup.api import server

    server.start()
    state = server.status()
    output.say(f"PostgreSQL {state.version} is running, with its data in {state.data}")


@db_app.command("stop")
def db_stop() -> None:
    """Stop the embedded server; its data stay."""
    from dedup.api import server

    output.say("stopped" if server.stop() else "it was not running")


@db_app.command("status")
def db_status(json: shared.JsonOption = False) -> None:
    """Say whether the embedded server runs, and where its data are."""
    from dedup.api import server

    state = server.status()
    if json:
        output.write_json({**asdict(state), "data": str(state.data)})
    elif state.running:
        output.say(f"running: PostgreSQL {state.version}, process {state.pid}, data in {state.data}")
    else:
        output.say(f"not running; data in {state.data}" if state.version else "not running; no data yet")
