"""Answer questions about a corpus over the Model Context Protocol (MCP), read-only."""
