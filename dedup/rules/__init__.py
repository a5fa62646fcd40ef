"""The rules of pairs, common sentences and marks. Pure functions, without a database."""
