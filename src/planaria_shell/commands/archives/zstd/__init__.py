"""zstd: the format and the command."""
