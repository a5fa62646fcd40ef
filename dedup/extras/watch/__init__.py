"""The extra `watch`: poll feeds and news sitemaps, and read the pages of entries."""
