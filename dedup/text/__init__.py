"""Make fingerprints of texts, and compare texts. Pure functions, without a database."""
