"""The extra `lab`: run published methods of near-duplicate detection on your articles, and compare them."""
