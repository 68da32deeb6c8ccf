"""jq: its language, and the command."""
