"""A directory, memory, SQLite, Redis: the same documents and transactions in each."""
