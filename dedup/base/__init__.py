"""What everything stands on: articles, settings, errors, times, numbers. No database."""
