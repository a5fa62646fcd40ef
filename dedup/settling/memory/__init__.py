"""The memory engine: many articles are settled at once, in arrays (docs/semantics.md, sections 3 to 6)."""
