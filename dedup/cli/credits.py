"""Commands `credits`, `agencies` and `corrections`: agency copy by publication, and two lists to edit."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from dedup.base.errors import InputError
from dedup.cli import output
from dedup.cli.shared import JsonOption, corpus

CREDITED = 20  # Default number of publications; a large corpus has hundreds, most of them without a credit


def credits(
    limit: Annotated[int, Option(min=1, help="Maximum number of publications.")] = CREDITED,
    json: JsonOption = False,
) -> None:
    """Show how much of each publication is agency copy, the publications with the most agency copy first.

    An article is agency copy if it credits an agency in its byline, dateline, last line or copyright line, or
    if another article of the same story does. The agency's own article need not be in the corpus. Credits
    for a photo, a contribution ("… contributed to this report") or an item of a column do not make an article
    agency copy. If the publication is an agency itself, its own articles count in the same way. `own` counts
    articles that were the first of their story, and are not the text of another agency. In SQL, the views
    `publication_credit`, `agency_copy` and `article_credit` show the same.
    """
    with corpus() as dd:
        every = dd.credits.publications()
    found = sorted(every, key=lambda one: (-one.agency_copy, -one.articles, one.publication or ""))[:limit]
    output.listed(
        found,
        "agency copy by publication",
        ("publication", "articles", "credited", "agency copy", "share", "own"),
        (
            (one.publication, one.articles, one.credited, one.agency_copy, f"{one.share:.1%}", one.own)
            for one in found
        ),
        ("articles", "credited", "agency copy", "share", "own"),
        json=json,
    )
    if len(every) > len(found):
        output.say(f"{len(every) - len(found):,} more publications: give a larger --limit")


def agencies(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="Agency to add or change.")] = None,
    spellings: Annotated[
        list[str] | None,
        Option("--spelling", metavar="TEXT", help="Spelling in texts. May be repeated. Default: NAME."),
    ] = None,
    places: Annotated[
        list[str] | None,
        Option("--place", metavar="PLACE", help="Part of articles to search. May be repeated. Default: all."),
    ] = None,
    remove: Annotated[bool, Option("--remove", help="Remove the agency from the list.")] = False,
    json: JsonOption = False,
) -> None:
    """List the agencies whose credits are read, or change the list.

    With a NAME, the command adds that agency, or replaces its spellings and places. A place is a part of an
    article: byline, dateline, end, copyright, item, contribution or photo. A spelling of two or three
    characters must match in case. The next backfill, or the worker, then reads the credits of all articles
    again. The list is the table `dedup.agency`, which you may also change in SQL.

        dedup agencies "Vantage Wire" --spelling Vantage --spelling "Vantage Wire" --place dateline

        dedup agencies "Vantage Wire" --remove
    """
    if name is None:
        if spellings or places or remove:
            raise InputError("name the agency: dedup agencies NAME")
        with corpus() as dd:
            found = dd.credits.agencies()
        output.listed(
            found,
            "agencies whose credits are read",
            ("name", "spellings", "places", "articles"),
            ((one.name, ", ".join(one.spellings), ", ".join(one.places), one.articles) for one in found),
            ("articles",),
            json=json,
        )
        return
    with corpus(make=True) as dd:
        if remove:
            dd.credits.remove(name)
        else:
            dd.credits.add(name, spellings or [name], places or ())
    output.say(f"{name} is {'off' if remove else 'on'} the list; next: dedup backfill")


def corrections(
    phrase: Annotated[str | None, Argument(metavar="[PHRASE]", help="Phrase to add.")] = None,
    remove: Annotated[bool, Option("--remove", help="Remove the phrase from the list.")] = False,
    json: JsonOption = False,
) -> None:
    """List the phrases by which articles announce that they are corrections, or change the list.

    A phrase counts at the beginning of a headline, or where a sentence, line or bracket begins in the first
    400 or the last 700 characters of a text, in any letter case. A colon at its end also stands for a dash or
    a closing bracket: "Correction:" finds "CORRECTION - ". In a headline only phrases with a colon count.

    The next backfill, or the worker, then reads all articles again. The list is the table
    `dedup.correction_phrase`, which you may also change in SQL. The view `current_article` shows the text
    that stands: the last correction of each story, else its latest article.

        dedup corrections "This page was amended"

        dedup corrections "Refile:" --remove
    """
    if phrase is None:
        if remove:
            raise InputError("name the phrase: dedup corrections PHRASE --remove")
        with corpus() as dd:
            found = dd.corrections.phrases()
        rows = ((one.phrase, one.articles) for one in found)
        output.listed(found, "phrases of corrections", ("phrase", "articles"), rows, ("articles",), json=json)
        return
    with corpus(make=True) as dd:
        if remove:
            dd.corrections.remove(phrase)
        else:
            dd.corrections.add(phrase)
    output.say(f"{phrase} is {'off' if remove else 'on'} the list; next: dedup backfill")
