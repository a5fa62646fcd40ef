"""Running methods, and what their answers are worth."""
