"""Tests of the command `dedup mcp`."""
