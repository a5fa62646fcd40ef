"""Attached tables of other owners: map tables, follow their changes, and write marks into them."""
