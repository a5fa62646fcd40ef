"""Runs and workers of a corpus, their heartbeats, and the state that a monitor reads."""
