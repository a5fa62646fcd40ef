"""The database itself: connections, statements, roles, migrations, the embedded server."""
