"""Judgements of people about pairs of articles: drawn, stored, and used to measure and tune the marks."""
