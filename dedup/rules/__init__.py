"""The rules: what pairs are, which sentences are common, what marks follow. Pure, no database."""
