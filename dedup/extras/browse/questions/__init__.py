"""Queries for the pages of `dedup browse`. Each query reads a limited number of rows through indexes."""
