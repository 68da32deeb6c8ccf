"""Where a workspace is kept: a directory, a SQLite file or a Redis server, one protocol."""
