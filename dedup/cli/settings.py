"""Commands for settings, trained sentences, common sentences and pins."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from dedup.base.errors import InputError, SettingError
from dedup.base.machine import MAX_BATCH
from dedup.cli import output, shared
from dedup.cli.progress import progress_bar
from dedup.cli.read import opened
from dedup.cli.shared import JsonOption, YesOption, corpus
from dedup.cli.write import show_dry_run
from dedup.rules.relation import Relation

CHANGES = {"fingerprint": "fingerprints", "rule": "marks", "window": "what is compared"}
"""Names of the data that a setting changes, by the kind of the setting."""

DIFFERENCE_COLUMNS = (
    *("id", "status", "duplicate_of", "reason"),
    *("new_status", "new_duplicate_of", "new_score", "new_reason"),
)
"""Columns of the CSV file of changed marks."""

SentenceLanguageOption = Annotated[
    str | None, Option("--language", help="Language of the sentence, such as `en`.")
]

SentenceScopeOption = Annotated[
    str | None, Option("--within", metavar="SCOPE", help="Scope of the articles with the sentence, if any.")
]

settings_app, common_app = typer.Typer(), typer.Typer()


@settings_app.callback()
def settings(
    context: typer.Context,
    show_secrets: Annotated[
        bool, Option("--show-secrets", help="Show the hash key itself, to copy it.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """List the settings of this corpus with their meanings; set or reset settings.

    The next backfill puts changed settings in force. Until then `--json` shows the new values under
    `waiting`.
    """
    if context.invoked_subcommand:
        return
    from dedup.base.settings import Settings, masked

    with corpus() as dd:
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
    values: Annotated[list[str], Argument(metavar="NAME=VALUE", help="A setting and its new value.")],
    yes: YesOption = False,
) -> None:
    """Change settings of the corpus; the next backfill puts them in force.

    That backfill settles every article again. If the setting changes fingerprints, the backfill also reads
    every text again. Marks stay readable meanwhile.

    `hash_key=random` makes a key, and `hash_key=-` reads a key from stdin. Do not type a key on the command
    line, which all users of the machine can see.

    Two changes cannot be undone: a `keep_window` that archives articles, and a new hash key. The command
    shows how much will be lost, and asks; without a terminal it needs `--yes`.

    **Example**

        dedup settings set text_min_words=8

    Next: `dedup backfill`.
    """
    parsed: dict[str, Any] = _parsed(values)
    if key := parsed.get("hash_key"):
        parsed["hash_key"] = shared.hash_key(key)
    _change(parsed, yes=yes)


def _parsed(values: list[str]) -> dict[str, str]:
    """Return settings by name. Raises SettingError: an argument has no `=`."""
    parsed = {}
    for number, pair in enumerate(values, 1):
        name, separator, value = pair.partition("=")
        # The message does not quote the argument: it may be a secret.
        if not separator:
            raise SettingError(f"argument {number} has no =; write NAME=VALUE, such as bands=16")
        parsed[name] = value
    return parsed


@settings_app.command("try")
def settings_try(
    values: Annotated[list[str], Argument(metavar="NAME=VALUE", help="A setting and the value to try.")],
    memory: Annotated[
        int | None, Option(min=16, metavar="MB", help="RAM limit; default: 1/4 of RAM or cgroup.")
    ] = None,
    csv: Annotated[
        Path | None,
        Option("--csv", metavar="FILE", help=f"New file for the changed marks, at most {MAX_BATCH:,}."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say which marks other settings would change, and change nothing.

    The whole corpus is decided in memory, by the given values, and otherwise by the settings after the next
    backfill. The result has counts of changes, such as "duplicate -> similar", and examples; `--json` has
    1,000 examples.

    A setting that changes fingerprints (see `dedup settings`) takes longer: every text is read, and its new
    fingerprint is held in memory, about 1.6 kB for each article. Failed articles stay failed. A new
    `hash_key` changes no mark and cannot be tried. For `keep_window` use `dedup prune --dry-run`.

    **Examples**

        dedup settings try duplicate_sentence_jaccard=0.8

        dedup settings try text_min_words=8 --csv changed.csv
    """
    if csv and csv.exists():
        raise InputError(f"{csv} exists; give another name")
    with corpus() as dd, progress_bar() as bar:
        tried = dd.dry_run(
            _parsed(values),
            memory=None if memory is None else memory * 1_000_000,
            limit=MAX_BATCH if csv else 1_000,
            progress=bar,
        )
    if csv:
        with opened(csv) as file:
            rows = (one.as_dict() for one in tried.differences)
            count = output.write_csv(rows, DIFFERENCE_COLUMNS, file)
        output.say(f"wrote {shared.counted(count, 'changed mark')} to {csv}")
    show_dry_run(tried, json, f"dedup settings set {shlex.join(values)}")


@settings_app.command("reset")
def settings_reset(
    names: Annotated[list[str], Argument(metavar="NAME", help="A setting; `dedup settings` lists them.")],
    yes: YesOption = False,
) -> None:
    """Reset settings to their defaults; the next backfill puts them in force.

    Articles that `keep_window` archived stay archived.
    """
    _change(dict.fromkeys(names), yes=yes)


def _change(values: dict[str, Any], *, yes: bool) -> None:
    with corpus(make=True) as dd:
        if lost := dd.settings.losses(values):
            shared.agree(str(lost), yes=yes)
        dd.settings.change(values, for_good=True)
        found = dd.preview()
        if "hash_key" in values:
            shared.say_pins_left_behind(dd.settings.pins_left_behind())
    if found.adoption:
        output.say("settings changed; the next backfill puts them in force")
        output.say(f"next: dedup backfill ({shared.previewed(found)})")
    else:
        output.say("settings changed")


def train_sentences(
    language: Annotated[str, Argument(metavar="LANGUAGE", help="ISO 639 code, such as `de`.")],
    files: Annotated[list[str], Argument(metavar="FILE", help="Articles of that language, as for `load`.")],
    map_: shared.MapOption = None,
    format_: shared.FormatOption = None,
) -> None:
    """Learn from your own articles where the sentences of a language end.

    The method (Punkt) needs a few thousand articles, without labels. Articles in other languages are left
    out. The result is stored with the corpus, and the next backfill reads every text of that language again.
    """
    from dedup.api.settings import language_code
    from dedup.base.article import Article
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
        opened = (read_articles(file, fields=mapping, format=format_, lose_dates=True) for file in files)
        # All files are opened before the corpus, because a mistyped name must not start a server.
        readers = [stack.enter_context(reader) for reader in opened]
        dd = stack.enter_context(corpus(make=True))
        bar = stack.enter_context(progress_bar("bytes"))
        trained = dd.settings.train_sentences(code, texts())
    output.say(
        f"{trained.language}: {shared.counted(trained.abbreviations, 'abbreviation')} from"
        f" {shared.counted(trained.articles, 'article')};"
        " next: dedup backfill"
    )


@common_app.callback()
def common(
    context: typer.Context,
    limit: Annotated[int, Option(min=1, help="Maximum number of sentences.")] = 20,
    json: JsonOption = False,
) -> None:
    """List common sentences, which comparisons ignore, and pinned sentences; the most frequent first.

    A sentence is common if it is in many `stories`; the number of `articles` does not matter. 300 copies of
    one report are one story; 300 different articles with the same footer are 300 stories. The number of
    stories is an effective number, which need not be whole if stories have different numbers of copies.
    """
    if context.invoked_subcommand:
        return
    with corpus() as dd:
        found = dd.common_sentences.list(limit)
    output.listed(
        found,
        "common sentences",
        ("articles", "stories", "pin", "ignored", "sentence", "hash"),
        (
            (s.carriers, stories and f"{stories:,.1f}", s.pin, s.common, words[:160], str(s.sentence_hash))
            for s in found
            for stories, words in [(s.effective_stories, s.example or "")]
        ),
        ("articles", "stories", "hash"),
        json=json,
    )


@common_app.command("pin")
def common_pin(
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="Sentence, or its hash.")],
    always: Annotated[bool, Option("--always", help="Always ignore the sentence.")] = False,
    never: Annotated[bool, Option("--never", help="Never ignore the sentence.")] = False,
    language: SentenceLanguageOption = None,
    within: SentenceScopeOption = None,
) -> None:
    """Pin a sentence as always common or never common, from the next backfill on."""
    if always == never:
        raise InputError("add either --always or --never")
    with corpus() as dd:
        dd.common_sentences.pin(_sentence_or_hash(sentence), common=always, language=language, scope=within)
    output.say(f"pinned as {'always' if always else 'never'} common; next: dedup backfill")


@common_app.command("unpin")
def common_unpin(
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="Sentence, or its hash.")],
    language: SentenceLanguageOption = None,
    within: SentenceScopeOption = None,
) -> None:
    """Remove the pin of a sentence, from the next backfill on."""
    with corpus() as dd:
        unpinned = dd.common_sentences.unpin(_sentence_or_hash(sentence), language=language, scope=within)
    if not unpinned:
        output.say("that sentence was not pinned; `dedup common` lists the pins")
        raise typer.Exit(1)
    output.say("unpinned; next: dedup backfill")


def _sentence_or_hash(given: str) -> str | int:
    return int(given) if given.lstrip("-").isdecimal() and given.isascii() else given


pin_app = typer.Typer(
    no_args_is_help=True,
    help="""
Pin the relation of two articles, whatever the scores are: duplicate, similar or unrelated.

A pin is stored with your ids, the person, the time and the reason. The pin stays if you delete an article and
load it again. If you remove the pin, the rules decide again.

    dedup pin set A B unrelated --why "two matches, one report template"
""",
)


@pin_app.command("set")
def pin_set(
    a: shared.FirstArgument,
    b: shared.SecondArgument,
    relation: Annotated[Relation, Argument(metavar="RELATION", help="duplicate, similar or unrelated.")],
    who: Annotated[
        str | None, Option("--as", metavar="NAME", help="Your name; default: the database user.")
    ] = None,
    why: Annotated[str | None, Option(help="The reason, for later readers.")] = None,
) -> None:
    """Pin the relation of two articles; the next backfill settles both articles again."""
    with corpus() as found:
        unknown = found.pins.set(a, b, relation, by=who, reason=why)
    output.say(f"pinned as {relation.value}; next: dedup backfill")
    for name in unknown:
        output.say(f"there is no article {name} yet: the pin waits for that article")


@pin_app.command("remove")
def pin_remove(a: shared.FirstArgument, b: shared.SecondArgument) -> None:
    """Remove the pin of a pair, so that the rules decide again. Exit code 1 if there was no pin."""
    with corpus() as found:
        removed = found.pins.remove(a, b)
    if not removed:
        output.say("that pair is not pinned; `dedup pin list` shows the pins")
        raise typer.Exit(1)
    output.say("the rules decide again; next: dedup backfill")


@pin_app.command("list")
def pin_list(json: JsonOption = False) -> None:
    """List the pinned pairs, the newest first."""
    with corpus() as dd:
        found = dd.pins.list()
    output.listed(
        found,
        "pinned pairs",
        ("a", "b", "relation", "who", "when", "why"),
        ((p.id, p.other_id, p.relation, p.pinned_by, p.pinned_at, p.reason) for p in found),
        ("when",),
        json=json,
    )
