"""Archives and compression."""
