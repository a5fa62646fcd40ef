"""The extra `loads`: list loads and feeds, and remove the articles that they brought."""
