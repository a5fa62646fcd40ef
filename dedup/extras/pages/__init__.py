"""What HTML pages are made of: one environment of templates, and the components that pages share."""
