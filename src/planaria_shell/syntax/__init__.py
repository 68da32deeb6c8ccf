"""Source text to syntax trees, and back."""
