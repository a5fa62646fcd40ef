"""Kinds of role that may run each command, for messages about missing rights; see `../db/rights.txt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dedup.api.operation import Role, who_may

_MARKS: tuple[Role, ...] = ("counter", "analyst", "reader", "worker")
_WORDS: tuple[Role, ...] = ("analyst", "reader", "worker")
_TEXTS: tuple[Role, ...] = ("reader", "worker")

MAY: Mapping[str, tuple[Role, ...]] = {
    **dict.fromkeys(("marks", "matches", "stories", "changes", "runs", "pin list", "export stories"), _MARKS),
    **dict.fromkeys(("removable", "credits", "export panel", "export network"), _MARKS),
    **dict.fromkeys(("origins", "outlets", "outlets export", "outlets propose"), _MARKS),
    **dict.fromkeys(("status --check", "metrics"), _MARKS),
    **dict.fromkeys(("common", "quotes", "sources", "coverage"), _WORDS),
    **dict.fromkeys(("show", "explain", "versions", "report", "browse", "mcp"), _TEXTS),
    **dict.fromkeys(("agencies", "corrections"), _TEXTS),
    **dict.fromkeys(("status", "settings", "attachments", "export corpus"), _TEXTS),
    **dict.fromkeys(("check", "watch"), ("scraper", "worker")),
    **dict.fromkeys(("loads", "settings try"), _TEXTS),
    "loads remove": ("worker",),
    "check --dry-run": ("scraper", "reader", "worker"),
    **dict.fromkeys(("backfill", "retry", "delete", "worker", "verify", "sentences"), ("worker",)),
    # A scraper may load new articles, but only a worker may load an article that is stored already.
    "load": ("worker",),
    **dict.fromkeys(("sync", "prune", "import", "serve"), ("worker",)),
    **dict.fromkeys(("judge score", "judge tune"), ("reader",)),
    **dict.fromkeys(("judge pairs", "judge review", "train-sentences", "pin set", "pin remove"), ()),
    **dict.fromkeys(("settings set", "settings reset", "common pin", "common unpin"), ()),
    # The lists are open to readers, but only the owner changes them.
    **dict.fromkeys(("agencies NAME", "corrections PHRASE"), ()),
    **dict.fromkeys(("outlets set", "outlets unset", "outlets import"), ()),
    **dict.fromkeys(("init", "grant", "uninstall", "attach", "remap", "detach"), ()),
    **dict.fromkeys(("changes --start", "changes --stop"), ()),
}
"""Kinds of role by command, the kind with the fewest rights first; empty: only the owner.

A last word in capitals stands for an argument, and a last word with a dash for an option.
"""


def advice(arguments: Sequence[str]) -> str | None:
    """Return the kinds of role that may run a refused command, and how to become one; None if unknown."""
    words: list[str] = []
    given = iter(arguments)
    # Skip options that every command has, which may be anywhere in the line.
    for word in given:
        if word in ("--database", "--schema"):
            next(given, None)
        elif not word.startswith(("--database=", "--schema=", "--debug")):
            words.append(word)

    def fits(task: str) -> bool:
        names = task.split()
        last = names.pop() if names[-1].startswith("-") or names[-1].isupper() else None
        rest = words[len(names) :]
        has_argument = any(not word.startswith("-") for word in rest)
        is_there = last is None or last in rest or (last.isupper() and has_argument)
        return words[: len(names)] == names and is_there

    named = [task for task in MAY if fits(task)]
    if not named:
        return None
    task = max(named, key=len)
    return who_may(f"dedup {task}", MAY[task])
