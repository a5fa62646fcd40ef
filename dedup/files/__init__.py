"""Read articles from files of any format, without a database."""
