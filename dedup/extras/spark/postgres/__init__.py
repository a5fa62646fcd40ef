"""Corpora in Postgres: what a cluster is given of one, and what comes back."""
