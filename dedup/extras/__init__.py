"""Extras: each is whole in its folder, and may be removed. The core finds them by entry points only."""
