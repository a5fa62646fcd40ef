"""The rules of pairs, common sentences and marks. Pure, no database."""
