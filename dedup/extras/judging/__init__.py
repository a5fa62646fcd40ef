"""Draw pairs of articles for people to judge, store judgements, measure marks, and tune thresholds."""
