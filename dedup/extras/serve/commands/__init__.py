"""Commands of the extra: `dedup serve`."""
