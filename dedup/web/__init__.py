"""The corpus over HTTP: `serve` for programs, `browse` for people, `pages` that both and reports share."""
