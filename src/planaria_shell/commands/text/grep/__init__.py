"""grep and ripgrep."""
