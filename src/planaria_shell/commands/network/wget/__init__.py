"""wget."""
