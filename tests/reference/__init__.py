"""Specifications in plain Python, to which tests hold what the product does in arrays and on Spark."""
