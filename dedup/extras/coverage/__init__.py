"""The extra `coverage`: outlets with their owners, and the independent origins of any set of articles."""
