"""The sqlite3 command line."""
