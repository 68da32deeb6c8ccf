"""sed: the stream editor."""
