"""Commands for the owner of the corpus: init, grant, uninstall; and the journal's switch, for `changes`."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

import dedup
from dedup.base.errors import InputError
from dedup.cli import output, shared
from dedup.cli.progress import progress_bar

MEGABYTE = 1_000_000

_NOUNS = {
    "article": ("article", "articles"),
    "deferred_article": ("article deferred", "articles deferred"),
    "sentence_pin": ("pin of a sentence", "pins of sentences"),
    "pair_pin": ("pin of a pair", "pins of pairs"),
    "setting": ("setting", "settings"),
    "sentence_model": ("trained language", "trained languages"),
    "judgement": ("judgement", "judgements"),
    "review_pair": ("pair to judge", "pairs to judge"),
    "attachment": ("attached table", "attached tables"),
}


def init(
    key: Annotated[
        str | None,
        Option(
            "--hash-key", metavar="random|-", help="Seed all hashes with a new secret, or one from stdin."
        ),
    ] = None,
    sql: Annotated[bool, Option("--sql", help="Print the statements for psql; run nothing.")] = False,
    search: Annotated[
        bool | None,
        Option("--search/--no-search", help="Make or drop the index of words.", show_default=False),
    ] = None,
    json: shared.JsonOption = False,
) -> None:
    """Create, upgrade or mend the schema in the database, before anything else runs there.

    It is safe to run again, and from several places at once. The embedded server needs no `init`. Missing
    parts of the schema are made again, without a change of rows, and named; so are parts that cannot be
    mended.

    `--sql` changes nothing: it prints the statements that upgrade the database of `DEDUP_DATABASE_URL`, or
    without that variable the statements of the whole schema, and needs no database.

    A hash key keeps strangers from crafting words that make unrelated articles duplicates. It is stored with
    the corpus and in its backups. `random` leaves an existing key in place; `-` ends with an error if the
    corpus has another key.

    `--search` makes an index of the words of titles and texts, for searches in any case and with or without
    accents; others can work meanwhile. Afterwards it costs the server about 0.6 ms for a loaded article (0.3
    ms more if the text has accents) and 1.3 ms for one that a backfill marks. A first backfill takes nearly
    three times as long with it: make it after that. Only the titles of attached tables are searched, since
    their texts are not stored here. `--no-search` drops the index.

    **Examples**

        dedup init --hash-key random

        dedup init --search

        dedup init --sql | psql -v ON_ERROR_STOP=1 news

        dedup settings --show-secrets --json | jq -r .hash_key    # for a corpus with equal hashes elsewhere
    """
    from dedup.base.settings import masked

    if key not in (None, "random", "-"):
        raise InputError("--hash-key takes random, or - to read the key from stdin")
    if sql:
        if key or json or search is not None:
            raise InputError("--sql prints statements only: leave out --hash-key, --search and --json")
        if script := dedup.operation.printed_schema():
            output.write_text(script)
        else:
            output.say("nothing to do: the schema is up to date")
        return
    wanted = shared.hash_key(key) if key else None
    shared.say_if_started()
    made = dedup.Deduplicator.initialize()
    with dedup.Deduplicator() as dd:
        # A second run with `random` must not replace the key: all hashes would change.
        new = bool(wanted) and dd.settings.give_hash_key(wanted or "", keep=key == "random")
        present = dd.settings.wanted().hash_key
        found = dd.preview() if new else None
        if new:
            shared.say_pins_left_behind(dd.settings.pins_left_behind())
    done = _search(search) if search is not None else None
    if json:
        output.write_json(
            {
                **{"before": made.before, "after": made.after, "hash_key": masked(present)},
                **{"mended": made.mended, "left": made.left},
            }
        )
        return
    already = made.before == made.after
    has = "has the schema" if already else "now has the schema"
    output.say(f"{made.location} {has} {made.after}{' already' if already else ''}")
    if made.mended:
        output.say(f"mended: {', '.join(made.mended)}")
    for reason in made.left:
        output.say(f"not mended: {reason}")
    if made.before and (not already or made.mended):
        output.say("next: run `dedup grant` again for each role that had rights from it")
    if wanted:
        output.say(f"hash key: {masked(present)}{'' if new else ', as before'}; it is part of every backup")
    if done:
        output.say(done)
    if found and found.adoption:
        output.say(f"next: dedup backfill, which reads every text again ({shared.previewed(found)})")


def _search(wanted: bool) -> str:
    with dedup.operation.Operation() as owner, progress_bar("blocks") as bar:
        done = owner.make_searchable(wanted, progress=bar)
    if wanted:
        return "words can be searched" + ("" if done else ", as before")
    return "the index of words is dropped" if done else "there is no index of words"


def _role(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = Option(name, metavar="ROLE", help=f"{what} May be repeated.")
    return option


def grant(
    worker: Annotated[
        list[str] | None, _role("--worker", "A role that settles: backfill, load, retry, check, verify.")
    ] = None,
    scraper: Annotated[
        list[str] | None, _role("--scraper", "A role that stores new articles: check, load.")
    ] = None,
    analyst: Annotated[
        list[str] | None, _role("--analyst", "A role that reads all views: stories, common, quotes.")
    ] = None,
    counter: Annotated[
        list[str] | None, _role("--counter", "A role that reads views without texts: marks, matches.")
    ] = None,
    reader: Annotated[
        list[str] | None, _role("--reader", "A role that reads everything, texts too: browse.")
    ] = None,
    revoke: Annotated[bool, Option("--revoke", help="Take all their rights in the schema away.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the statements; run nothing.")] = False,
) -> None:
    """Give database roles exactly the rights that they need in the schema, and take away all others.

    Connect as the owner of the schema. The roles must exist; their rights elsewhere do not change. Run it
    again after `dedup init` has upgraded the schema.

    An article of a scraper is stored at once with a provisional verdict: the next backfill marks it.

    An analyst reads every view, and so the texts of originals, sentences and quotes. A counter reads titles,
    bylines, addresses and kept columns, but no word of a text.

    **Example**

        dedup grant --worker night --scraper crawl --analyst ann --counter board --reader web
    """
    given = {
        "worker": worker or (),
        "scraper": scraper or (),
        "analyst": analyst or (),
        "counter": counter or (),
        "reader": reader or (),
    }
    shared.say_if_started()
    with dedup.operation.Operation() as owner:
        done = owner.grant(**given, revoke=revoke, dry_run=dry_run)
    if dry_run:
        for statement in done:
            output.write_text(statement)
        return
    names = {name for listed in given.values() for name in listed}
    roles = shared.counted(len(names), "role has", "roles have")
    output.say(f"{roles} {'no more rights' if revoke else 'exactly these rights'} in the schema")


def uninstall(yes: shared.YesOption = False, json: shared.JsonOption = False) -> None:
    """Remove the schema with all articles, marks, pins and judgements; nothing else in the database changes.

    The command says what it will remove, and asks; without a terminal it needs `--yes`. Only a backup brings
    the corpus back. Attached tables are detached first, without a change of your rows. If a view of yours, or
    anything else outside of the schema, depends on it, the command names it and removes nothing.
    """
    shared.say_if_started()
    with dedup.operation.Operation() as owner:
        found = owner.contents()
        listed = [shared.counted(count, *_NOUNS[table]) for table, count in found.rows.items()]
        size = f"{found.bytes / MEGABYTE:,.0f} MB"
        if found.attached:
            output.say(f"{', '.join(found.attached)}: will be detached; all rows stay there")
        holds = f"with {', '.join(listed) or 'nothing in it'} ({size})"
        shared.agree(f"{owner.location}: the schema {owner.schema} {holds} is removed", yes=yes)
        owner.uninstall()
    if json:
        output.write_json(found.as_dict())
    else:
        output.say("removed")


def switch_journal(*, wanted: bool) -> None:
    """Start or stop the journal of marks, for `changes --start` and `--stop`."""
    shared.say_if_started()
    with dedup.operation.Operation() as owner:
        changed = owner.start_journal() if wanted else owner.stop_journal()
        place = owner.location
    if wanted:
        output.say(f"{place}: the journal of marks is kept{'' if changed else ' already'}")
        output.say("next: dedup changes")
    else:
        output.say(f"{place}: the journal of marks {'is dropped' if changed else 'was off'}")
