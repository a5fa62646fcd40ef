"""The command line: arguments in, words out. Nothing else prints or exits."""
