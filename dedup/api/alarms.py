"""Figures of a corpus that may alarm, their thresholds, and the exit codes of a check."""

from dedup.runs.alarms import FIGURES, CheckState, Figure, Thresholds

__all__ = ["FIGURES", "CheckState", "Figure", "Thresholds"]
