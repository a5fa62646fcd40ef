"""Algorithms that several methods of the lab use."""
