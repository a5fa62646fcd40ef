"""Commands of the extra: `dedup browse`, `dedup report` and `dedup quotes`."""
