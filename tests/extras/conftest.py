"""Fixtures that tests of extras share: the command line under test, and files for it."""

from __future__ import annotations

from tests.cli.conftest import dedup as dedup  # fixtures
from tests.cli.conftest import news as news
from tests.cli.conftest import ring as ring
