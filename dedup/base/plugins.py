"""Load plug-ins: commands, file formats and more, which extras and other packages add by entry points.

    [project.entry-points."dedup.commands"]
    hello = "hello_dedup:hello"            # `dedup hello`; "export.hello" would be `dedup export hello`

docs/architecture.md lists the groups. The logger `dedup.plugins` warns once of each unusable plug-in.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.base.printable import printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

EXTRAS = "dedup.extras"


@cache
def declared(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name. If several have the same name, dedup's own is used."""
    from importlib.metadata import entry_points  # Imported late: a slow import

    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=f"dedup.{group}"), key=lambda point: not is_own(point)):
        if found.setdefault(point.name, point) is not point:
            refuse(point, f"{_maker(found[point.name])} has a plug-in of the same name")
    return dict(sorted(found.items()))


@cache
def loaded(group: str, name: str) -> Any:
    """Return the plug-in with this name; None if it is missing or cannot be loaded."""
    point = declared(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        # Do not warn if a user deleted the folder of one of dedup's extras: its entry points remain.
        extra = ".".join(point.module.split(".")[:3])
        removed = isinstance(error, ModuleNotFoundError) and error.name in (extra, EXTRAS)
        if not (removed and extra.startswith(EXTRAS)):
            refuse(point, f"{type(error).__name__}: {error}")
        return None


def needed(group: str, name: str, *, extra: str) -> Any:
    """Return a plug-in that belongs to an extra.

    Raises ImportError: dedup lacks the extra's code. Raises InputError: a package that it needs is missing.
    """
    try:
        if point := declared(group).get(name):
            return point.load()
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(EXTRAS):
            raise InputError(f"{name} needs {error.name}: run `{installing(extra)}`") from None
    raise ImportError(f"{name} needs the extra `{extra}`, which is missing: run `{installing(extra)}`")


def every(group: str) -> dict[str, Any]:
    """Return the usable plug-ins of a group by name."""
    found = {name: loaded(group, name) for name in declared(group)}
    return {name: one for name, one in found.items() if one is not None}


def is_own(point: EntryPoint) -> bool:
    # Test the name of the module: reading the name of the distribution would take 3 ms.
    return point.module.startswith("dedup.")


def refuse(point: EntryPoint, why: str) -> None:
    """Log that a plug-in is left out, and why."""
    import logging  # Imported late: seldom needed

    group, name, maker = point.group.removeprefix("dedup."), point.name, _maker(point)
    logging.getLogger("dedup.plugins").warning(
        "dedup: %s of %s is left out (%s): %s", name, maker, group, printable(why)
    )


def _maker(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "?"
