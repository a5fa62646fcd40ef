"""Statements about the corpus, each module with its SQL beside it. They decide nothing."""
