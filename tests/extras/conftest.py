"""What tests of extras share: the command line under test."""

from __future__ import annotations

from tests.cli.conftest import dedup as dedup  # a fixture
