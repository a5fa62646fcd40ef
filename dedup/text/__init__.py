"""Fingerprints of texts. Pure, no database."""
