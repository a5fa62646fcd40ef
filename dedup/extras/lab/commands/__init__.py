"""Commands of the extra: `dedup lab` and `dedup judge pairs`."""

LAB_PACKAGES = ("scipy", "sklearn", "datasketch", "ppdeep", "jinja2")
"""Packages that the extra `lab` brings."""

LARGE = 10_000
"""Articles above which methods that look at every pair run only where they are named: twice as many articles
take four times as long."""
