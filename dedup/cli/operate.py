"""Commands for the owner of the corpus: init, grant, uninstall."""

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
    "outlet": ("outlet", "outlets"),
}


def init(
    key: Annotated[
        str | None,
        Option("--hash-key", metavar="random|-", help="Key of all hashes: random, or read from stdin."),
    ] = None,
    sql: Annotated[bool, Option("--sql", help="Print the statements for psql; run nothing.")] = False,
    search: Annotated[
        bool | None,
        Option("--search/--no-search", help="Make or drop the index of words.", show_default=False),
    ] = None,
    json: shared.JsonOption = False,
) -> None:
    """Create, upgrade or mend the schema in the database; other commands need the schema.

    You may run the command again, also on several machines at once. The embedded server needs no `init`.
    Missing parts of the schema are made again, without a change of rows; the command names these parts, and
    parts that it cannot mend.

    `--sql` changes nothing: it prints the statements that upgrade the configured database. If no address is
    configured, it prints the statements of the whole schema, and needs no database.

    A hash key prevents strangers from crafting words that make unrelated articles duplicates. The key is
    stored in the corpus and in its backups. `random` leaves an existing key in place; `-` ends with an error
    if the corpus has a different key.

    `--search` makes an index of the words of titles and texts, for searches that ignore case and accents.
    Other commands can run meanwhile. Afterwards the index costs the server about 0.6 ms for each loaded
    article (0.3 ms more if the text has accents) and 1.3 ms for each article that a backfill marks. With the
    index, a first backfill takes nearly three times as long, so make the index after that backfill. Of
    attached tables only titles are searched, since the texts are not stored. `--search` also counts the words
    of 20,000 articles, for `dedup sources` and `dedup coverage`; run it again, perhaps monthly, so that new
    words are counted. `--no-search` drops the index and the counts.

    **Examples**

        dedup init --hash-key random

        dedup init --search

        dedup init --sql | psql -v ON_ERROR_STOP=1 news

        dedup settings --show-secrets --json | jq -r .hash_key    # for a second corpus with the same hashes
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
        # A second run with `random` must not replace the key, because all hashes would change.
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
        output.say("next: run `dedup grant` again for each role that has rights in the schema")
    if wanted:
        output.say(f"hash key: {masked(present)}{'' if new else ', as before'}; every backup holds the key")
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
        list[str] | None, _role("--worker", "Role that settles: backfill, load, retry, check, verify.")
    ] = None,
    scraper: Annotated[
        list[str] | None, _role("--scraper", "Role that stores new articles: check, load.")
    ] = None,
    analyst: Annotated[
        list[str] | None, _role("--analyst", "Role that reads all views: stories, common, quotes.")
    ] = None,
    counter: Annotated[
        list[str] | None, _role("--counter", "Role that reads views without texts: marks, matches.")
    ] = None,
    reader: Annotated[
        list[str] | None, _role("--reader", "Role that reads everything, texts too: browse.")
    ] = None,
    revoke: Annotated[bool, Option("--revoke", help="Take all rights in the schema from the roles.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the statements; run nothing.")] = False,
    listing: Annotated[
        bool, Option("--list", help="List the roles that have rights; change nothing.")
    ] = False,
) -> None:
    """Give database roles exactly the rights of their kind in the schema, and take away all other rights.

    Connect as the owner of the schema. The roles must exist; rights outside of the schema do not change. Run
    the command again after `dedup init` has upgraded the schema.

    An article from a scraper is stored with a provisional verdict until the next backfill marks it.

    An analyst reads every view, with the texts of originals, sentences and quotes. A counter reads titles,
    bylines, addresses and kept columns, but no texts; it may run the checks of a monitor.

    `--list` shows each role that may use the schema with its kinds. Superusers count as owners.

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
    if listing:
        if any(given.values()) or revoke or dry_run:
            raise InputError("--list lists all roles: leave out other options")
        with dedup.operation.Operation() as corpus:
            rows = [(name, ", ".join(kinds) or "other rights") for name, kinds in corpus.granted().items()]
        output.table("", ("role", "kind"), rows)
        return
    with dedup.operation.Operation() as owner:
        done = owner.grant(**given, revoke=revoke, dry_run=dry_run)
    if dry_run:
        for statement in done:
            output.write_text(statement)
        return
    names = {name for listed in given.values() for name in listed}
    roles = shared.counted(len(names), "role has", "roles have")
    output.say(f"{roles} {'no more rights' if revoke else 'exactly these rights'} in the schema")


def uninstall(
    yes: shared.YesOption = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be removed; remove nothing.")] = False,
    json: shared.JsonOption = False,
) -> None:
    """Remove the schema with all articles, marks, pins and judgements; nothing else in the database changes.

    The command shows what it will remove, and asks; without a terminal it needs `--yes`. Only a backup can
    restore the corpus. Attached tables are detached first, without a change of your rows. If a view of yours,
    or another object outside of the schema, depends on the schema, the command names that object and removes
    nothing.
    """
    shared.say_if_started()
    with dedup.operation.Operation() as owner:
        found = owner.contents()
        listed = [shared.counted(count, *_NOUNS[table]) for table, count in found.rows.items()]
        size = f"{found.bytes / MEGABYTE:,.0f} MB"
        if found.attached:
            output.say(f"{', '.join(found.attached)}: will be detached; the rows of these tables stay")
        holds = f"with {', '.join(listed) or 'nothing in it'} ({size})"
        what = f"{owner.location}: the schema {owner.schema} {holds}"
        if not dry_run:
            shared.agree(f"{what} will be removed", yes=yes)
            owner.uninstall()
    if json:
        output.write_json(found.as_dict())
    elif dry_run:
        output.say(f"{what} would be removed")
        for name in found.outside:
            output.say(f"{name} depends on the schema: drop it first, or nothing is removed")
    else:
        output.say("removed")


def switch_journal(*, wanted: bool) -> None:
    """Start or stop the journal of marks, for `dedup changes --start` and `--stop`."""
    shared.say_if_started()
    with dedup.operation.Operation() as owner:
        changed = owner.start_journal() if wanted else owner.stop_journal()
        place = owner.location
    if wanted:
        output.say(f"{place}: the journal of marks {'is on' if changed else 'was on already'}")
        output.say("next: dedup changes")
    else:
        output.say(f"{place}: the journal of marks {'is dropped' if changed else 'was off already'}")
