"""Command `dedup watch`: poll feeds, and store and settle entries."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Argument, Option

import dedup
from dedup.base import config, logs
from dedup.base.errors import InputError
from dedup.base.printable import printable
from dedup.cli import output, shared
from dedup.cli.shared import LogFormatOption, LogLevelOption
from dedup.cli.signals import leaving, unfinished
from dedup.cli.systemd import notifying

LEAST_SECONDS = 10.0  # Minimum time between two polls, so that servers are not overloaded


def watch(
    feeds: Annotated[
        list[str] | None,
        Argument(
            metavar="FEED",
            help="Address of an RSS or Atom feed or news sitemap, or `OUTLET=ADDRESS`."
            " Default: the feeds in `dedup.toml`.",
        ),
    ] = None,
    every: Annotated[str, Option(metavar="SPAN", help="Time between two polls: `90s`, `5m`, `1h`.")] = "5m",
    once: Annotated[bool, Option("--once", help="Poll each feed once and end; for cron.")] = False,
    fetch: Annotated[
        bool,
        Option("--fetch", help="Read an entry's page if the feed lacks the full text; needed for sitemaps."),
    ] = False,
    user_agent: Annotated[
        str | None,
        Option(metavar="NAME", help="User-Agent sent to servers, such as `courier-bot/1 (+https://…)`."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print each verdict as a line of JSON.")] = False,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
) -> None:
    """Poll feeds, and store and settle new and changed entries, until stopped.

    Each new or changed entry is submitted, as by `check`, and the verdict is printed as a line on stdout. An
    entry with the same content is not submitted again. The corpus stores which entries were seen, so a
    restart on any machine neither loses nor repeats an entry. A feed changes only articles that came from a
    feed of the same site.

    Requests send ETag and Last-Modified back, so that unchanged feeds are not sent again. Each host gets one
    request at a time, at least a second apart. If a server asks for a pause (429, Retry-After), the feed is
    polled after the pause. After each failure the time between polls doubles, up to six hours. An answer may
    have at most 50 MB, take one minute, and follow five redirects. A FEED may be in your own network; its
    links and redirects may lead only to the host and port of the FEED, or to the internet.

    With `--fetch` pages are read if robots.txt allows it, and articles are extracted as by `load --html`. If
    a page is forbidden or no longer exists, the text in the feed is used.

    Ctrl-C, SIGTERM or SIGHUP ends the command after the current entry, with exit code 0. With `--once` the
    exit code is 1 if no feed could be read. Needs the extra `watch`.

    **Examples**

        dedup watch https://courier.example/feed https://mercury.example/rss

        dedup watch "Courier=https://courier.example/feed" --every 2m --json

        dedup watch https://courier.example/news-sitemap.xml --fetch --once
    """
    seconds = shared.seconds_of(every)
    if seconds < LEAST_SECONDS:
        raise InputError(f"--every {every}: the minimum is {LEAST_SECONDS:g} s")
    shared.needs("dedup watch", "watch", ("lxml", "protego", "trafilatura", "urllib3"))
    configured = config.find(config.FEEDS)
    addresses = feeds or (configured.value if configured else ())
    if not addresses:
        raise InputError(f"name a FEED, or list feeds in {config.FILE_NAME}: `dedup config --help` shows how")
    logs.configure(log_format, log_level)

    def told(verdict: dedup.Verdict, article: dedup.Article) -> None:
        if json:
            output.write_json(verdict.as_dict(), indent=None)
        else:
            output.write_text(printable(_line(verdict, article)))
        sys.stdout.flush()

    with leaving() as leave, notifying(leave) as notifier:
        report = dedup.watch.watch(
            addresses,
            stop=notifier.is_set,
            every=seconds,
            once=once,
            fetch=fetch,
            told=told,
            agent=user_agent,
        )
    if once and leave.is_set():
        unfinished()
    if once and report.problems and not report.polls:
        raise typer.Exit(1)


def _line(verdict: dedup.Verdict, article: dedup.Article) -> str:
    of = f" of {verdict.duplicate_of}" if verdict.duplicate_of else ""
    title = f": {shared.shortened(article.title)}" if article.title else ""
    return f"{verdict.status}{of}  {article.source_id}{title}"
