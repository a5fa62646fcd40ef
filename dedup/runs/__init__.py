"""Who is at work on a corpus: runs, their heartbeats, workers, and what a monitor asks."""
