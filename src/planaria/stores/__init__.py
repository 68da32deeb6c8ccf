"""Places where snapshots are kept by name: memory, a directory, SQLite, Redis."""
