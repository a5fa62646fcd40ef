"""The extra `browse`: the corpus as HTML pages, with the request checks and limits of the extra `serve`."""
