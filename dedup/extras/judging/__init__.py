"""Draw pairs of articles for people to judge, store judgements, and measure and tune the marks by them."""
