"""Commands of the extra: `dedup spark`, `dedup export corpus` and `dedup import`."""
