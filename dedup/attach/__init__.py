"""Attached tables of others: mapping, following their changes, writing marks back."""
