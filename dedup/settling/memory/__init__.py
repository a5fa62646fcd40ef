"""The memory engine settles a whole corpus in one run, in arrays (docs/semantics.md, sections 3 to 6)."""
