"""Commands of the extra `coverage`."""
