"""Messages about missing packages name a command that works where dedup is installed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from dedup.base import extras
from dedup.base.extras import installing

METADATA = """Metadata-Version: 2.4
Name: newsdedup
Version: 9.9
Requires-Dist: numpy>=2.0
Provides-Extra: html
Requires-Dist: trafilatura>=2; extra == 'html'
Requires-Dist: lxml-html-clean>=0.4; extra == 'html'
Provides-Extra: spark
Requires-Dist: pyspark<5,>=3.5; extra == 'spark'
"""


class Installation:
    """A pretended installation of newsdedup in a separate environment, which Python finds first."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.info = folder / "site-packages" / "newsdedup-9.9.dist-info"
        self.info.mkdir(parents=True)
        (self.info / "METADATA").write_text(METADATA)
        monkeypatch.syspath_prepend(str(self.info.parent))
        monkeypatch.setattr(sys, "prefix", str(folder))
        monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
        monkeypatch.setattr(shutil, "which", lambda name: str(folder / "bin" / name))

    def came_from(self, url: str, **how: Any) -> None:
        (self.info / "direct_url.json").write_text(json.dumps({"url": url, **how}))


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    return Installation(tmp_path, monkeypatch)


def test_from_an_index_the_name_is_enough(installation: Installation) -> None:
    assert installing("html") == "pip install 'newsdedup[html]'"


@pytest.mark.parametrize(("editable", "flag"), [(True, "-e "), (False, "")])
def test_from_a_checkout_it_is_the_folder(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool, flag: str
) -> None:
    checkout = tmp_path / "my checkout"
    checkout.mkdir()
    installation.came_from(checkout.as_uri(), dir_info={"editable": editable})
    assert installing("html") == f"pip install {flag}'{checkout}[html]'"
    monkeypatch.chdir(checkout)
    assert installing("html") == f"pip install {flag}'.[html]'"


def test_in_the_environment_of_scripts_setup_that_script_brings_the_pins(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.came_from(tmp_path.as_uri(), dir_info={"editable": True})
    (tmp_path / "set-up-for-run").touch()
    assert installing("html") == f"{tmp_path}/scripts/setup dev"
    monkeypatch.chdir(tmp_path)
    assert installing("html") == "scripts/setup dev"
    assert installing("spark") == "pip install -e '.[spark]'"


def test_from_a_wheel_it_is_the_wheel(installation: Installation, tmp_path: Path) -> None:
    wheel = tmp_path / "newsdedup-9.9-py3-none-any.whl"
    wheel.touch()
    installation.came_from(wheel.as_uri(), archive_info={})
    assert installing("html") == f"pip install 'newsdedup[html] @ {wheel.as_uri()}'"


def test_of_a_wheel_that_is_gone_the_packages_are_named(installation: Installation, tmp_path: Path) -> None:
    installation.came_from((tmp_path / "gone.whl").as_uri(), archive_info={})
    assert installing("html") == "pip install 'trafilatura>=2' 'lxml-html-clean>=0.4'"


def test_from_a_repository_it_is_the_commit(installation: Installation) -> None:
    installation.came_from("https://example.org/d.git", vcs_info={"vcs": "git", "commit_id": "abc1"})
    assert installing("html") == "pip install 'newsdedup[html] @ git+https://example.org/d.git@abc1'"


def test_of_a_folder_of_sources_it_is_the_folder(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "DISTRIBUTION", "newsdedup-that-is-not-installed")
    assert installing("html") == f"pip install '{Path(extras.__file__).parents[2]}[html]'"


def test_another_pip_in_the_path_is_not_taken(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert installing("html") == f"{tmp_path}/bin/python -m pip install 'newsdedup[html]'"


def test_without_pip_it_is_uv(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert installing("html") == f"uv pip install --python {tmp_path}/bin/python 'newsdedup[html]'"
