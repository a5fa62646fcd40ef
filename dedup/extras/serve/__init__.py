"""The extra `serve`: a `Deduplicator` behind HTTP, with answers in JSON, for scrapers in other languages."""
