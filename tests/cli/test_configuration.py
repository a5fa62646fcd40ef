"""`--database` and `--schema` on every command, and `dedup config`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dedup.base import config
from dedup.cli import main, output, rights
from dedup.db.database import Database
from tests.cli.conftest import Dedup

ABSENT = "postgresql://ann@127.0.0.1:1/absent"
PASSWORD = "hunter2"
SECRET = f"postgresql://ann:{PASSWORD}@127.0.0.1:1/absent"


@pytest.fixture(autouse=True)
def _no_variables(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset dedup's variables except timeouts. Commands without `--database` then mean the embedded server,
    which does not run in these tests."""
    for name in config.VARIABLES.values():
        if not name.startswith("DEDUP_TIMEOUT"):
            monkeypatch.delenv(name, raising=False)


def below(group: Any, path: str = "dedup") -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield f"{path} {name}", command
        yield from below(command, f"{path} {name}")


def test_every_command_takes_the_options_and_only_the_program_shows_them() -> None:
    program = main.command_line()
    names = {f"--{name}" for name in main.ANYWHERE}
    shown = {name: option for option in program.params for name in option.opts}
    assert names <= set(shown)
    assert not any(shown[name].hidden for name in names)
    commands = dict(below(program))
    assert {"dedup status", "dedup pin list"} <= set(commands)
    for path, command in commands.items():
        found = {name: option for option in command.params for name in option.opts if name in names}
        assert set(found) == names, path
        assert all(option.hidden for option in found.values()), path


def test_an_option_of_a_plug_in_is_its_own() -> None:
    program = main.command_line(["status"])
    [(_, status)] = below(program)
    before = len(status.params)
    main._hand_down([option for option in program.params if option.name in main.ANYWHERE], program)
    assert len(status.params) == before


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--database", "{url}", "status"],
        ["status", "--database", "{url}"],
        ["status", "--database={url}", "--schema", "dedup"],
        ["--schema", "absent", "status", "--schema", "dedup", "--json", "--database", "{url}"],
        ["settings", "--database", "{url}"],
        ["pin", "list", "--database", "{url}"],
        ["pin", "--database", "{url}", "list"],
    ],
    ids=" ".join,
)
def test_the_option_goes_before_or_after_the_name(
    dedup: Dedup, corpus_url: str, arguments: list[str]
) -> None:
    before = dict(os.environ)
    assert dedup(*(word.format(url=corpus_url) for word in arguments)).code == 0
    assert dict(os.environ) == before
    assert config.options == {}


def test_the_option_goes_before_variables_and_the_file(
    dedup: Dedup, corpus_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, secret = tmp_path / "dedup.toml", tmp_path / "secret"
    file.write_text(f'database = "{ABSENT}"\nschema = "absent"')
    monkeypatch.setenv(config.CONFIG_VARIABLE, str(file))
    assert dedup("status").code == 1
    assert dedup("status", "--database", corpus_url, "--schema", "dedup").code == 0
    secret.write_text(f"{corpus_url}\n")
    monkeypatch.setenv(config.SECRET_VARIABLE, str(secret))
    monkeypatch.setenv(config.SCHEMA_VARIABLE, "dedup")
    assert dedup("status").code == 0
    assert dedup("status", "--database", ABSENT).code == 1
    monkeypatch.setenv(config.URL_VARIABLE, ABSENT)
    assert "both set" in dedup("status").err
    assert dedup("status", "--database", corpus_url).code == 0
    file.write_text(f'database = "{corpus_url}"\nschema = "dedup"')
    for name in (config.URL_VARIABLE, config.SECRET_VARIABLE, config.SCHEMA_VARIABLE):
        monkeypatch.delenv(name)
    assert dedup("status").code == 0


@pytest.mark.parametrize(
    ("given", "said"), [("", "--database is empty"), ("a", "--database is not a Postgres")]
)
def test_an_address_that_is_none_is_wrong_usage(dedup: Dedup, given: str, said: str) -> None:
    failed = dedup("status", "--database", given)
    assert (failed.code, failed.out) == (2, "")
    assert said in failed.err


def test_commands_in_messages_repeat_the_options(dedup: Dedup, news: Path, database: Database) -> None:
    url = database.url
    assert f"next: dedup --database {url} backfill" in dedup(
        "load", str(news), "--database", url
    ).err.replace("'", "")
    told = dedup("status", "--schema", "absent", "--database", url).err.replace("'", "")
    assert f"run `dedup --database {url} --schema absent init`" in told
    hidden = dedup("status", "--database", SECRET)
    assert "`dedup --database … config` says where it is set" in hidden.err
    assert PASSWORD not in hidden.err


def test_a_command_for_the_owner_has_no_address_of_another_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "options", {config.URL_VARIABLE: "--database"})
    monkeypatch.setenv(config.URL_VARIABLE, "postgresql://crawl@db.example/news")
    said = "have the owner run `dedup grant --worker crawl`, or look: `dedup status`"
    assert output.addressed(said) == (
        "have the owner run `dedup --database … grant --worker crawl`,"
        " or look: `dedup --database postgresql://crawl@db.example/news status`"
    )


def test_config_shows_values_and_their_places_and_no_password(
    dedup: Dedup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = dedup("config")
    assert (shown.code, shown.err) == (0, "")
    assert "the embedded server" in shown.out
    file = tmp_path / "dedup.toml"
    file.write_text(
        f'database = "{SECRET}"\ntimeouts.lock = 7\nfeeds.Courier = "https://ann:{PASSWORD}@courier.example/feed"'
    )
    file.chmod(0o600)
    monkeypatch.setenv(config.CONFIG_VARIABLE, str(file))
    monkeypatch.setenv("DEDUP_EXTRACTOR", "ours")
    found = dedup("config", "--schema", "wires", "--json")
    rows = {row["key"]: (row["value"], row["source"]) for row in json.loads(found.out)["values"]}
    assert rows["database"] == ("database 'absent' on 127.0.0.1:1", f"database in {file}")
    assert rows["role"] == ("ann", f"database in {file}")
    assert rows["schema"] == ("wires", "--schema")
    assert rows["extractor"] == ("ours", "DEDUP_EXTRACTOR")
    assert rows["timeouts.lock"] == (7.0, f"timeouts.lock in {file}")
    assert rows["timeouts.idle"] == (60.0, "default")
    assert rows["feeds"] == ("1 feed", f"feeds in {file}")
    table = dedup("config")
    for said in (found, table):
        assert said.code == 0
        assert PASSWORD not in said.out + said.err
    assert ["timeouts.lock", "7", "s", "the", "file"] in [line.split() for line in table.out.splitlines()]
    for url, variables, expected in (
        ("postgresql://127.0.0.1:1/absent", {"PGUSER": "bob"}, ["bob", "PGUSER"]),
        ("service=news", {}, ["the role of the service", "--database"]),
        (f"postgresql://ann%3A{PASSWORD}%40x@127.0.0.1:1/absent", {}, ["a role", "--database"]),
    ):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            said = dedup("config", "--database", url, "--json")
        listed = {row["key"]: [row["value"], row["source"]] for row in json.loads(said.out)["values"]}
        assert listed["role"] == expected
        assert PASSWORD not in said.out + said.err
    # A wrong entry in the file makes every command fail.
    file.write_text("databse = 1")
    assert dedup("config").code == dedup("status").code == 2


def test_commands_of_the_embedded_server_name_the_place_of_another_address(dedup: Dedup) -> None:
    refused = dedup("db", "psql", "--database", SECRET)
    assert refused.code == 2
    assert "--database names database 'absent' on 127.0.0.1:1, but" in refused.err
    assert dedup("db", "url", "--database", ABSENT).out == f"{ABSENT}\n"
    hidden = dedup("db", "url", "--database", SECRET)
    assert (hidden.code, hidden.out) == (1, "")
    assert "contains a password" in hidden.err
    assert PASSWORD not in hidden.err


@pytest.mark.extra("watch")
def test_watch_polls_the_feeds_of_the_file(
    dedup: Dedup, corpus_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trafilatura")
    pytest.importorskip("protego")
    none = dedup("watch", "--once", "--database", corpus_url)
    assert none.code == 2
    assert "name a FEED, or list feeds in dedup.toml" in none.err
    file = tmp_path / "dedup.toml"
    file.write_text('[feeds]\nCourier = "http://127.0.0.1:1/feed"')
    monkeypatch.setenv(config.CONFIG_VARIABLE, str(file))
    polled = dedup("watch", "--once", "--database", corpus_url)
    assert polled.code == 1
    assert "watching 1 feed" in polled.err
    assert "http://127.0.0.1:1/feed" in polled.err


@pytest.mark.parametrize(
    ("arguments", "task"),
    [
        ("backfill --database x", "backfill"),
        ("--schema a --debug settings --database=x set b=1", "settings set"),
        ("check new.jsonl --schema a --dry-run", "check --dry-run"),
        ("agencies --json --schema a", "agencies"),
        ("agencies --spelling Wire Wire", "agencies NAME"),
        ("corrections --remove Refile:", "corrections PHRASE"),
    ],
)
def test_the_refused_command_is_found_among_the_options(
    monkeypatch: pytest.MonkeyPatch, arguments: str, task: str
) -> None:
    monkeypatch.setattr(rights, "who_may", lambda task, allowed: f"{task}: {allowed}")
    assert rights.advice(arguments.split()) == f"dedup {task}: {rights.MAY[task]}"
