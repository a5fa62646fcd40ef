"""Parts of HTML pages: one environment of templates, and the components that pages share."""
