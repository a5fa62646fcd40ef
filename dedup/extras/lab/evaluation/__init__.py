"""Runs of methods, and measures of their results."""
