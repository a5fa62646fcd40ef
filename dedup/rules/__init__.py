"""Rules for pairs, common sentences and marks, as pure functions without a database."""
