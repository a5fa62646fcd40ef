"""The extra `loads`: list loads and feeds, and remove the articles that a load or a feed brought."""
