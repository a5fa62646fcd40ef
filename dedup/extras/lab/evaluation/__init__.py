"""Methods are run here, and their results measured."""
