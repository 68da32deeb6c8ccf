"""find."""
