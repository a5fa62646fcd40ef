"""Fixtures for the tests of all extras: the command line, and files for it."""

from __future__ import annotations

from tests.cli.conftest import dedup as dedup  # fixtures
from tests.cli.conftest import news as news
from tests.cli.conftest import ring as ring
