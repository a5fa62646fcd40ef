"""Articles get their marks: one at once, or all that wait; and marks are explained and verified."""
