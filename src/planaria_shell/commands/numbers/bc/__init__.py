"""bc and dc: arbitrary precision."""
