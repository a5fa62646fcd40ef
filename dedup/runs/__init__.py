"""Runs and workers of a corpus, the heartbeats of runs, and the state that a monitor reads."""
