"""curl."""
