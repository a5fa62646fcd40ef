"""Commands of the extra: `dedup lab` and `dedup judge pairs`."""

LAB_PACKAGES = ("scipy", "sklearn", "datasketch", "ppdeep", "jinja2")  # Packages of the extra `lab`

# Above this number of articles, a method that looks at every pair runs only if the user names it: with twice
# as many articles it takes four times as long.
LARGE = 10_000
