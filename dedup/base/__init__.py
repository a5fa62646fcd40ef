"""Articles, settings, errors, times and number arrays, which all other packages use. Needs no database."""
