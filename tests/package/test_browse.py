"""The extra `browse` installs all that pages and reports need, and nothing of the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package import environments
from tests.package.environments import User


@pytest.mark.long("dedup", "migrations")
def test_a_report_is_written_and_the_pages_can_be_imported(
    own_folder: Path, wheel: Path, newsroom: User
) -> None:
    made = environments.make(
        own_folder / "browse", environments.requirements_of(wheel, "browse", "embedded"), wheel
    )
    newsroom.run("dedup", "report", "--day", "2026-03-11", "-o", "day.html", other=made)
    assert "Tarn Hollow" in (newsroom.folder / "work" / "day.html").read_text("utf-8")
    code = "import dedup.extras.browse.app as app, dedup.extras.serve.server; print(app._static_files())"
    assert "/static/style-" in newsroom.python(code, made).stdout
