"""The command line: the only package of the core that prints text and exits."""
