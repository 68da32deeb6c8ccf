"""The Zstandard format (RFC 8878)."""
