"""Commands of the extra: `dedup lab` and `dedup judge pairs`."""

LAB_PACKAGES = ("scipy", "sklearn", "datasketch", "ppdeep", "jinja2")  # Packages of the extra `lab`

# Maximum number of articles for methods that look at every pair, unless such a method is named: with twice as
# many articles the method takes four times as long.
LARGE = 10_000
