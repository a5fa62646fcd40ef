"""Messages of errors name arguments in a Python program, and options on the command line."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path

import pytest

import dedup
from dedup import Deduplicator
from dedup.api.arguments import in_python, on_command_line
from dedup.api.attachments import Attachments
from dedup.base.errors import InputError
from dedup.files.reading import ReadingOptions
from tests.cli.conftest import Dedup
from tests.cli.conftest import dedup as command

__all__ = ["command"]

PACKAGE = Path(dedup.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")
COMMAND = re.compile(r"`dedup [^`]*`")
TOLD = {
    "a.csv has no column for text; name the right column with --map text=COLUMN": (
        'a.csv has no column for text; name the right column with `fields={"text": "COLUMN"}`'
    ),
    "it is not UTF-8; try --encoding cp1252": 'it is not UTF-8; try `encoding="cp1252"`',
    "with --day-first or --date-format '%d.%m.%Y %H:%M', or continue: --lose-dates": (
        'with `day_first=True` or `date_format="%d.%m.%Y %H:%M"`, or continue: `lose_dates=True`'
    ),
    "--id: name the column; for several columns, --id a --id b": (
        '`keys`: name the column; for several columns, `keys=["a", "b"]`'
    ),
    "write --publication feed_id=TABLE.COLUMN": 'write `columns["publication"]="feed_id=TABLE.COLUMN"`',
    "`--within user id` compares the rows": '`within="user id"` compares the rows',
    "the table is gone: `dedup remap a --table T` continues": (
        "the table is gone: `dedup remap a --table T` continues"
    ),
    "--changed and --every need --no-triggers": "`changed` and `every` need `triggers=False`",
}


@pytest.mark.parametrize("message", TOLD)
def test_options_become_arguments_and_commands_stay(message: str) -> None:
    assert in_python(message) == TOLD[message]
    running = on_command_line.set(True)
    try:
        assert in_python(message) == message
    finally:
        on_command_line.reset(running)


def test_every_option_in_a_message_about_files_or_tables_becomes_an_argument() -> None:
    known = {*ReadingOptions.__annotations__}
    for function in (Deduplicator.load, Attachments.attach, Attachments.remap, Attachments.sync):
        known |= {*signature(function).parameters}
    told = set()
    for room in ("files", "attach"):
        for file in (PACKAGE / room).rglob("*.py"):
            told |= {*OPTION.findall(COMMAND.sub("", file.read_text("utf-8")))}
    assert len(told) > 20
    # Only a `--map` with a value becomes `fields={…}`. `OPTION` finds names without values.
    arguments = {in_python(option).strip("`").partition("=")[0].partition("[")[0] for option in told}
    assert arguments <= known | {"map"}


def test_the_command_line_and_the_library_name_the_way_out_in_their_own_words(
    command: Dedup, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    assert "name the right column with --map source_id=COLUMN" in command("load", str(file), "--dry-run").err
    with pytest.raises(InputError, match=r'name the right column with `fields=\{"source_id": "COLUMN"\}`'):
        Deduplicator.preview_load(file)
