"""A revision that has landed never changes: it has made corpora, and no later revision would correct them.

`landed.sha256` has a line for each file of the migrations, as `sha256sum` writes it. The command in `ADD`
adds the lines of a new revision and changes no other line.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from dedup.db import revision

LIST = Path(__file__).parent / "landed.sha256"
ADD = "DEDUP_FREEZE=1 .venv/bin/python -m pytest tests/db/test_frozen.py"
CHANGED = (
    "it has landed and may not change: give the file its old text, and write a new revision (CONTRIBUTING.md)"
)
NEW = (
    f"it is not frozen: `{ADD}` freezes it; until the revision has landed, delete its line and run that again"
)


def _frozen() -> dict[str, str]:
    lines = LIST.read_text("utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _present() -> dict[str, str]:
    folder = revision.folder()
    files = sorted([*folder.glob("versions/[0-9]*.py"), *folder.glob("sql/*.sql")])
    return {f"migrations/{p.relative_to(folder)}": sha256(p.read_bytes()).hexdigest() for p in files}


def test_a_revision_that_has_landed_is_as_it_was_and_a_new_one_is_frozen_too() -> None:
    frozen, present = _frozen(), _present()
    if os.environ.get("DEDUP_FREEZE"):
        frozen = present | frozen
        LIST.write_text("".join(f"{frozen[name]}  {name}\n" for name in sorted(frozen)), "utf-8")
    wrong = {name: CHANGED for name, digest in frozen.items() if present.get(name) != digest}
    wrong |= dict.fromkeys(present.keys() - frozen.keys(), NEW)
    assert not wrong, "\n".join(f"{name}: {reason}" for name, reason in sorted(wrong.items()))
