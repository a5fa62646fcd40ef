"""Judgements of people: pairs are drawn (`sampling`) and kept (`storing`), and judgements measure and tune.

`truth` compares the marks with a file of known duplicates.
"""
