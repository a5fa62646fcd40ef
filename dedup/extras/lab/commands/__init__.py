"""Commands of the extra: `dedup lab` and `dedup judge pairs`."""

LAB_PACKAGES = ("scipy", "sklearn", "datasketch", "ppdeep", "jinja2")  # of the extra `lab`

# In a larger corpus, methods that look at every pair run only if the user names them: twice as many articles
# take such a method four times as long.
LARGE = 10_000
