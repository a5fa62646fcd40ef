"""The smallest scraper there is: feeds and sitemaps are polled, and their pages read; the extra `watch`."""
