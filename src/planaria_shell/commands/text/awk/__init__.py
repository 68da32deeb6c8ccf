"""awk: the language and the command."""
