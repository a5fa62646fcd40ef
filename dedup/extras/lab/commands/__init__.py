"""Commands of the extra: `dedup lab` and `dedup judge pairs`."""

LAB_PACKAGES = ("scipy", "sklearn", "datasketch", "ppdeep", "jinja2")  # of the extra `lab`

# Above so many articles, methods that look at every pair run only if they are named: twice as many articles
# take four times as long.
LARGE = 10_000
