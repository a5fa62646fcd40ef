"""From a text to its fingerprint. Pure, no database."""
