"""Reads and writes the corpus; most modules have an SQL file of the same name. It decides no marks."""
