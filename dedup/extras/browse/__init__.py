"""The extra `browse`: the corpus as HTML pages, with the guard and the limits of `serve`."""
