"""Tests of `dedup mcp`."""
