"""Settings of Sphinx, which makes the site from the pages that stage.py and reference.py write."""

from pathlib import Path
from typing import Any

project = "dedup"
root_doc = "README"
extensions = ["myst_parser"]
nitpicky = True
# Names of other packages have no pages here.
nitpick_ignore_regex = [("py:.*", r"(?!dedup\b).*")]
toc_object_entries_show_parents = "hide"

# Headings get anchors like those on the web site of the repository.
myst_heading_anchors = 6
highlight_language = "none"

python_use_unqualified_type_names = True
python_display_short_literal_types = True
python_maximum_signature_line_length = 88

# The theme loads no font, script or image from elsewhere.
html_theme = "furo"
html_title = "dedup"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False


def open_at_home(app: Any, _: Exception | None) -> None:
    """Write an index.html that leads to the page of the README."""
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
    Path(app.outdir, "index.html").write_text(page, "utf-8")


def setup(app: Any) -> None:
    app.connect("build-finished", open_at_home)
