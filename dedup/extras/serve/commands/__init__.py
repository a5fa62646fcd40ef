"""Command of the extra: `dedup serve`."""
