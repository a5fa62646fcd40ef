"""Tests of the installed package, without the checkout."""
