"""The configuration: environment variables override `dedup.toml`, and files of other users are not read."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dedup.base import config, schema
from dedup.base.errors import InputError
from dedup.base.timeouts import Timeouts
from dedup.db.database import Database
from tests.loops import each

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the user's configuration file; no other configuration file is there."""
    for name in [config.CONFIG_VARIABLE, *config.VARIABLES.values()]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(config, "MACHINE_FOLDER", tmp_path / "etc")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    file = tmp_path / "user" / "dedup" / config.FILE_NAME
    file.parent.mkdir(parents=True)

    def written(text: str) -> Path:
        # Editors replace a file by a new file, with another inode.
        file.unlink(missing_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(0o600)
        return file

    return written


def test_without_a_file_everything_is_the_default(write: Write) -> None:
    assert config.path() is None
    assert config.address() is None
    assert config.timeouts() == Timeouts()
    assert schema.chosen() == schema.DEFAULT
    assert [config.find(key) for key in (*config.VARIABLES, config.FEEDS)] == [None] * 11


def test_a_variable_goes_before_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, variable in config.VARIABLES.items():
        given, other = ("7", "8") if key.startswith("timeouts") else ('"/seven"', "/eight")
        file = write(f"{key} = {given}")
        found = config.find(key)
        assert found
        assert (str(found.value), found.source) == (given.strip('"'), f"{key} in {file}")
        monkeypatch.setenv(variable, other)
        assert config.find(key) == config.Choice(other, variable)
        # An empty variable counts as unset.
        monkeypatch.setenv(variable, "")
        assert config.find(key) == found


def test_a_library_uses_the_file_as_the_command_line_does(write: Write) -> None:
    address = "postgresql+psycopg://ann@db.example/news"
    write(f'database = "{address}"\nschema = "wires"\n[timeouts]\nlock = 7\nhook = 1.5')
    database = Database()
    assert database.location == "database 'news' on db.example (schema wires)"
    assert database.timeouts == Timeouts(lock=7, hook=1.5)
    assert not database.embedded


def test_only_the_first_file_is_read_and_none_in_the_working_directory(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bait = tmp_path / "unpacked"
    for folder in (bait, bait / "~/.config/dedup", bait / ".config/dedup", tmp_path / "etc"):
        folder.mkdir(parents=True)
        (folder / config.FILE_NAME).write_text(f'schema = "{"etc" if folder.name == "etc" else "bait"}"')
    monkeypatch.chdir(bait)
    assert schema.chosen() == "etc"
    write("timeouts.lock = 5")
    assert schema.chosen() == "dedup"
    write("").unlink()
    for relative in (".config", ""):
        for home in ("", ".", "relative"):
            monkeypatch.setenv("XDG_CONFIG_HOME", relative)
            monkeypatch.setenv("HOME", home)
            assert schema.chosen() == "etc"
    named = tmp_path / "named.toml"
    monkeypatch.setenv(config.CONFIG_VARIABLE, str(named))
    with pytest.raises(InputError, match=r"DEDUP_CONFIG names .*named.toml: No such file"):
        schema.chosen()
    named.write_text('schema = "named"')
    assert schema.chosen() == "named"
    monkeypatch.setenv(config.CONFIG_VARIABLE, os.devnull)
    assert schema.chosen() == "dedup"


def test_a_changed_file_is_read_again(write: Write) -> None:
    write('schema = "a"')
    assert schema.chosen() == "a"
    write('schema = "b"')
    assert schema.chosen() == "b"


WRONG = {
    'databse = "x"': r"no key 'databse'; did you mean database\?",
    "[timeouts]\nlok = 5": r"no key 'timeouts.lok'; did you mean timeouts.lock\?",
    "zzz = 1": "no key 'zzz'; the keys are database, database_file, schema, home, extractor, timeouts",
    'timeouts.lock = "60"': "timeouts.lock must be a number of seconds without quotes",
    "timeouts.lock = true": "timeouts.lock must be a number of seconds",
    "timeouts = 5": "timeouts must be a table",
    "timeouts.lock = -1": "timeouts.lock in .* must be a number of seconds above 0",
    "timeouts.lock = nan": "timeouts.lock in .* must be a number of seconds above 0",
    f"timeouts.lock = 1{'0' * 400}": "timeouts.lock in .* must be a number of seconds",
    "schema = 5": "schema must be text on one line",
    'database = ""': "database must be text on one line",
    'database = "a\\u0000b"': "database must be text on one line",
    "feeds = 4": "feeds must be an address, or a list of addresses",
    "feeds.Courier = [4]": "feeds.Courier must be an address",
    "schema = x": "is not TOML: .*line 1",
    "a = " + "[" * 50_000: "is not TOML",
    "#" * (config.MAX_BYTES + 1): "more than 100,000 bytes",
}


@each("text", WRONG)
def test_a_wrong_file_is_an_error_that_names_file_and_key(write: Write, text: str) -> None:
    file = write(text)
    with pytest.raises(InputError, match=WRONG[text]) as caught:
        config.timeouts()
    assert str(file) in str(caught.value)


def test_paths_begin_at_the_folder_of_the_file(write: Write) -> None:
    file = write('home = "corpus"\ndatabase_file = "/run/secrets/news"')
    home, secret = config.find("home"), config.find("database_file")
    assert home
    assert secret
    assert (home.value, secret.value) == (str(file.parent / "corpus"), "/run/secrets/news")


def test_feeds_are_named_as_the_command_takes_them(write: Write) -> None:
    write(
        '[feeds]\nCourier = "https://c.example/feed"\n"The Wire" = ["https://w.example/a", "https://w.example/b"]'
    )
    found = config.find(config.FEEDS)
    assert found
    wire = [f"The Wire=https://w.example/{name}" for name in "ab"]
    assert found.value == ["Courier=https://c.example/feed", *wire]


# Tests of secrets in the configuration.

URL = "postgresql://ann:hunter2@db.example/news"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{URL}\n")
    return path


def test_an_address_may_be_in_a_file_of_its_own(
    write: Write, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(f'database_file = "{secret}"')
    assert config.address() == config.Choice(URL, f"database_file in {file}")
    write('database = "postgresql://other/"')
    monkeypatch.setenv(config.SECRET_VARIABLE, str(secret))
    assert config.address() == config.Choice(URL, config.SECRET_VARIABLE)
    assert Database().location == "database 'news' on db.example"


def test_an_address_and_a_file_with_one_are_refused_together(
    write: Write, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(f'database = "{URL}"\ndatabase_file = "{secret}"')
    with pytest.raises(InputError, match=r"database in .* and database_file in .* are both set"):
        config.address()
    monkeypatch.setenv(config.URL_VARIABLE, URL)
    assert config.address() == config.Choice(URL, config.URL_VARIABLE)
    monkeypatch.setenv(config.SECRET_VARIABLE, str(secret))
    with pytest.raises(InputError, match="DEDUP_DATABASE_URL and DEDUP_DATABASE_URL_FILE are both set"):
        config.address()


@each(
    "content",
    [b"", b" \n", b"one hunter2\ntwo hunter2", b"\xff hunter2", b"\0hunter2", b"hunter2" * 20_000, None],
)
def test_a_bad_secret_is_an_error_that_quotes_nothing(
    write: Write, secret: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setenv(config.SECRET_VARIABLE, str(secret))
    secret.unlink(missing_ok=True)
    if content is not None:
        secret.write_bytes(content)
    with pytest.raises(InputError) as caught:
        config.address()
    assert str(secret) in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_address_that_is_none_is_an_error_with_its_place(write: Write) -> None:
    file = write('database = "mysql://ann:hunter2@x"')
    with pytest.raises(InputError) as caught:
        Database()
    assert str(caught.value).startswith(f"database in {file} is not a Postgres address")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (URL, True),
        ("host=db password = 'x'", True),
        ("postgresql://db/news?user=ann&password=x", True),
        ("postgresql://ann:p@ss:w@db", True),
        ("postgresql://ann:p/w@db", True),
        ("postgresql://db/?sslpassword=x", True),
        ("postgresql://ann@db:5432/news", False),
        ("postgresql://db:5432/news", False),
        ("postgresql://[::1]:5432/news", False),
        ("host=db user=ann", False),
    ],
)
def test_a_password_is_noticed(url: str, found: bool) -> None:
    assert config.has_password(url) is found


@pytest.mark.parametrize(
    ("mode", "url", "warns"), [(0o644, URL, True), (0o640, URL, False), (0o644, "x", False)]
)
def test_a_password_that_every_user_can_read_is_warned_of(
    write: Write, caplog: pytest.LogCaptureFixture, mode: int, url: str, warns: bool
) -> None:
    file = write(f'database = "{url}"')
    file.chmod(mode)
    with caplog.at_level(logging.WARNING, "dedup.config"):
        assert config.address()
        assert config.address()
    found = [f"every user of this machine can read the password in {file}"] if warns else []
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == found
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("mode", "url", "warns"), [(0o644, URL, True), (0o640, URL, False), (0o644, "host=db", False)]
)
def test_a_secret_that_every_user_can_read_is_warned_of_once(
    secret: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    mode: int,
    url: str,
    warns: bool,
) -> None:
    monkeypatch.setenv(config.SECRET_VARIABLE, str(secret))
    secret.write_text(url)
    secret.chmod(mode)
    with caplog.at_level(logging.WARNING, "dedup.config"):
        assert [config.address(), config.address()] == [config.Choice(url, config.SECRET_VARIABLE)] * 2
    words = f"every user of this machine can read the password in {secret}: run `chmod o-r {secret}`"
    assert [record.getMessage() for record in caplog.records] == ([words] if warns else [])


def test_a_file_that_every_user_may_change_is_refused(write: Write) -> None:
    write('schema = "wires"').chmod(0o602)
    with pytest.raises(InputError, match=r"every user of this machine may change .* `chmod o-w"):
        schema.chosen()
