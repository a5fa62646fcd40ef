"""Pages for people who would rather look than read: the extra `browse`.

They stand before the library's door, as `dedup serve` does, and share its guard and its limits.
"""
