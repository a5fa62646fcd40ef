"""Extras. Each extra is a complete folder and may be removed. The core finds extras by entry points only."""
