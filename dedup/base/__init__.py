"""Articles, settings, errors, times and numbers, which all other rooms use. No database."""
