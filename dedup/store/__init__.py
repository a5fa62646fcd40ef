"""Statements about the corpus; each module has an SQL file beside it. Other rooms decide marks."""
