"""The report: one page about a comparison."""
