"""The package as someone has it who installs it."""
