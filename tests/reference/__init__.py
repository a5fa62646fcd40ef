"""Specifications in plain Python; tests compare the results of arrays and of Spark with them."""
