"""Command `config`: the configuration in force, and the source of each value."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import dedup
from dedup.base import config, schema
from dedup.cli import output
from dedup.cli.shared import JsonOption, counted

DEFAULTS = {"home": "the user's data folder", "extractor": "trafilatura"}
TIMEOUTS = [f"timeouts.{item.name}" for item in fields(dedup.Timeouts)]


def config_(json: JsonOption = False) -> None:
    """Show the configuration of this program: database, role, schema, timeouts, and where each is set.

    A value comes from an option such as `--database`, else from a variable of the environment, else from a
    key of the file `dedup.toml`, else it is the default. No database is opened, and no password is shown.

    The file is `DEDUP_CONFIG`, else `~/.config/dedup/dedup.toml` (or in `XDG_CONFIG_HOME`), else
    `/etc/dedup/dedup.toml`. A file in the working directory is never read, since strangers may write there.

        database = "postgresql://dedup@db.example/news"
        schema = "wires"
        timeouts.lock = 60
        feeds.Courier = "https://courier.example/feed"

    Instead of `database`, `database_file` names a file with the address. `dedup watch` without arguments
    polls the feeds. Other keys are `home` and `extractor`. The settings of a corpus are in its database:
    `dedup settings`.
    """
    timeouts = asdict(config.timeouts())
    address, file = config.address(), config.path()
    found: dict[str, tuple[Any, config.Choice | None]] = {
        "database": (dedup.server.other_database() or "the embedded server", address),
        "schema": (schema.chosen(), config.find("schema")),
        **{key: _chosen(key, default) for key, default in DEFAULTS.items()},
        **{key: (timeouts[key.partition(".")[2]], config.find(key)) for key in TIMEOUTS},
    }
    # Addresses of feeds are not shown, because some contain a password.
    feeds = config.find(config.FEEDS)
    found[config.FEEDS] = counted(len(feeds.value) if feeds else 0, "feed"), feeds
    role = dedup.server.login()
    rows = [(key, value, choice.source if choice else "default") for key, (value, choice) in found.items()]
    rows.insert(1, ("role", *role))
    if json:
        values = [dict(zip(("key", "value", "source"), row, strict=True)) for row in rows]
        output.write_json({"file": file and str(file), "values": values})
        return
    places = " and ".join(map(str, config.places()))
    output.table(
        f"configuration, with {file}" if file else f"configuration, without a file: {places} are missing",
        ("key", "value", "from"),
        (
            (key, f"{value:g} s" if isinstance(value, float) else value, _short(source, f"{key} in {file}"))
            for key, value, source in rows
        ),
    )


def _short(source: str, in_file: str) -> str:
    return "the file" if source == in_file else source


def _chosen(key: str, default: str) -> tuple[str, config.Choice | None]:
    choice = config.find(key)
    return choice.value if choice else default, choice
