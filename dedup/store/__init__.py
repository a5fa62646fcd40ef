"""What a corpus holds: statements, each module with its SQL beside it. It decides nothing."""
