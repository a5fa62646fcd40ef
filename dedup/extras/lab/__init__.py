"""The lab, the extra `lab`: methods of the field on your own articles, compared with a truth."""
