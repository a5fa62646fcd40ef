"""Commands of the extra: `dedup judge`."""
