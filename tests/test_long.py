"""Long tests are skipped only while their subject is the same as at their last run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import long


def test_a_long_test_is_due_when_something_it_names_or_itself_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("core/one.py", "core/deep/two.py", "tests/helper.py", "tests/test_core.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    test = tmp_path / "tests/test_core.py"
    # `format` hides this marker from the search for long tests.
    test.write_text("@pytest.mark.{}\n".format('long("core", "core/one.py")'))
    monkeypatch.setattr(long, "ROOT", tmp_path)
    monkeypatch.setattr(long, "RECORD", tmp_path / "tests/long.json")

    def due() -> bool:
        long.digest.cache_clear()
        long.recorded.cache_clear()
        return long.is_due(("core", "core/one.py"), test)

    try:
        assert due()
        long.main()
        assert not due()
        for file in (tmp_path / "core/deep/two.py", tmp_path / "tests/helper.py", test):
            kept = file.read_text()
            file.write_text(kept + "# changed\n")
            assert due()
            file.write_text(kept)
            assert not due()
        (tmp_path / "tests/test_other.py").touch()
        assert not due()
        (tmp_path / "core/three.py").touch()
        assert due()
    finally:
        long.digest.cache_clear()
        long.recorded.cache_clear()
