"""The extra `serve`: answers of a `Deduplicator` as JSON over HTTP, for scrapers in other languages."""
