"""The work: fingerprinting, counting, settling, and the answers."""
