"""The memory that the program may use, within the limits of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedup.base import machine


def test_memory_is_the_lowest_limit_of_the_groups_around_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slice_, own = tmp_path / "system.slice", tmp_path / "own"
    service = slice_ / "dedup-worker.service"
    service.mkdir(parents=True)
    monkeypatch.setattr(machine, "GROUPS", tmp_path)
    monkeypatch.setattr(machine, "OWN_GROUP", own)
    whole = machine.memory()
    own.write_text("4:memory:/\n0::/system.slice/dedup-worker.service\n")
    assert machine.memory() == whole
    (slice_ / "memory.max").write_text("max\n")
    (service / "memory.max").write_text("64000000\n")
    assert machine.memory() == 64_000_000
    (slice_ / "memory.max").write_text("32000000\n")
    assert machine.memory() == 32_000_000
    own.unlink()  # no control groups, or those of a container, of which only the root can be seen
    assert machine.memory() == whole
    (tmp_path / "memory.max").write_text("16000000\n")
    assert machine.memory() == 16_000_000
