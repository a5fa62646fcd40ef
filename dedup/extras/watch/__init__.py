"""Poll feeds and news sitemaps, and read the pages of their entries; the extra `watch`."""
